import asyncio
import json
from datetime import timedelta
from unittest.mock import patch

from odoo import Command, fields
from odoo.exceptions import AccessError, ValidationError
from odoo.tests import tagged
from odoo.tools import file_open, mute_logger

from ..runtime import process
from ..runtime.servers.tokens import AWAY, OdooTokens
from ..services.errors import ServerError
from ..services.turn.ports import StoreGone
from ..tools import db
from .common import AiCase

SIGN_IN = "woow_paas_platform.mcp_sign_in"


@tagged("post_install", "-at_install")
class TestSignInAccess(AiCase):
    """What becomes of tokens; who sees that there are any: test_permissions."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        SignIn = cls.env[SIGN_IN]
        cls.server.authorization = "oauth_user"
        address = cls.server._address_digest()
        cls.own = SignIn._of(cls.server.id, cls.member.id, address, make=True)
        cls.shared = SignIn._of(cls.user_server.id, 0, "a", make=True)
        for sign_in in cls.own | cls.shared:
            sign_in._keep({"access_token": "t0ken", "issuer": "https://login.example.com"})

    def test_the_admin_ends_one_on_the_form_of_the_server(self):
        server = self.server.with_user(self.admin)
        self.assertEqual(server.sign_in_ids.user_id, self.member)
        server.write({"sign_in_ids": [Command.delete(self.own.id)]})
        self.assertFalse(self.own.exists())
        self.assertTrue(self.shared.exists())

    def test_whoever_ends_a_sign_in_its_tokens_are_given_back(self):
        ends = {
            "the person": self.own.with_user(self.member).unlink,
            "another client": lambda: self.server.write({"oauth_scope": "more"}),
            "no server": self.server.unlink,
            "no person": self.member.unlink,
        }
        for way, end in ends.items():
            with (
                self.subTest(way=way),
                patch.object(process, "revoke_later") as revoke,
                self.env.cr.savepoint() as savepoint,
            ):
                end()
                self.assertFalse(self.own.exists())
                revoke.assert_not_called()  # the transaction may fail yet
                self.env.cr.postcommit.run()
                (((token_set,),), _) = revoke.call_args
                self.assertEqual(token_set["access_token"], "t0ken")
                savepoint.rollback()
                self.env.invalidate_all()

    def test_who_signs_out_while_a_token_is_renewed_stays_signed_out(self):
        async def write(_transaction, _dbname, work):
            return work(self.env(su=True))

        async def renew():
            store, key = (
                OdooTokens(write),
                self.server._credential_key(self.member.id, self.member.id),
            )
            async with store.lock(key):
                self.own.with_user(self.member).unlink()
                await store.save(key, {"access_token": "renewed"})

        with patch.object(process, "revoke_later") as revoke:
            asyncio.run(renew())
            self.env.cr.postcommit.run()
        mine = [("server_id", "=", self.server.id), ("user_id", "=", self.member.id)]
        self.assertFalse(self.env[SIGN_IN].search(mine))
        given_back = [
            token_set["access_token"] for call in revoke.call_args_list for token_set in call[0][0]
        ]
        self.assertEqual(given_back, ["t0ken", "renewed"])

    def test_who_renews_for_too_long_overwrites_nothing(self):
        async def write(_transaction, _dbname, work):
            return work(self.env(su=True))

        async def renew(token, meanwhile):
            store, key = (
                OdooTokens(write),
                self.server._credential_key(self.member.id, self.member.id),
            )
            async with store.lock(key):
                await meanwhile()
                await store.save(key, {"access_token": token})

        async def nothing():
            pass

        async def another_one():
            self.own.renewed_until = fields.Datetime.now() - timedelta(hours=1)
            self.env.flush_all()
            await asyncio.create_task(renew("newer", nothing))

        asyncio.run(renew("older", another_one))
        self.own.invalidate_recordset()
        self.assertEqual(self.own._token_set()["access_token"], "newer")

    def test_a_database_that_is_away_is_told_as_that(self):
        for away in (db.DatabaseGone("no route"), StoreGone("dropped")):

            async def write(*_work, away=away):
                raise away

            with self.subTest(away=away), self.assertRaises(ServerError) as caught:
                asyncio.run(OdooTokens(write).load("db/1/0/1/address"))
            self.assertEqual(str(caught.exception), AWAY)

    def test_a_damaged_sign_in_can_be_ended(self):
        self.own.grant_encrypted = "damaged"
        self.own.with_user(self.member).unlink()
        self.assertFalse(self.own.exists())

    @mute_logger("odoo.sql_db")
    def test_a_copy_of_the_database_keeps_none(self):
        self.server.oauth_client_secret = "cl1ent-secret"
        self.env.flush_all()
        with file_open("woow_paas_platform/data/neutralize.sql") as script:
            self.env.cr.execute(script.read())
        self.env.invalidate_all()
        self.assertFalse(self.env[SIGN_IN].search([]))
        self.assertFalse(self.server.sudo()._read_secret("oauth_client_secret"))

    def test_the_secret_is_write_only_and_bound_to_its_issuer(self):
        with self.assertRaises(ValidationError):
            self.server.oauth_client_id = "odoo"
        with self.assertRaises(ValidationError):
            self.server.authorization = "oauth_client"
        self.server.write(
            {
                "oauth_client_id": "odoo",
                "oauth_issuer": "https://login.example.com",
                "oauth_client_secret": "cl1ent-secret",
            }
        )
        self.env.invalidate_all()
        self.assertEqual(self.server.oauth_client_secret, "")
        with self.assertRaises(AccessError):
            self.server.with_user(self.admin).read(["oauth_client_secret_encrypted"])
        spec = self.server.with_user(self.member).sudo()._server_spec()
        self.assertEqual(spec.oauth.client_secret, "cl1ent-secret")
        self.assertNotIn("cl1ent-secret", json.dumps(repr(spec)))
