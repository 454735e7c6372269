"""A database is copied, renamed, moved and restored: whose turns are whose, and what becomes of its secrets."""

import io
from dataclasses import replace
from unittest.mock import patch

from cryptography.fernet import Fernet
from odoo.tests import tagged
from odoo.tools import mute_logger

from ..services.errors import LeaseLost, SecretUnreadable
from ..tools import copies, settings, vault
from .common import AiCase, AiHttpCase, OdooStore

SIGN_IN = "woow_paas_platform.mcp_sign_in"
GRANT = {"access_token": "t", "refresh_token": "r", "issuer": "https://login.example.com"}


@tagged("post_install", "-at_install")
class TestCopies(AiCase):
    def setUp(self):
        super().setUp()
        self.enterContext(self.enter_registry_test_mode())
        self.store = OdooStore(self.env.cr.dbname)
        self.turn = self._ask(self.member).sudo()
        self.sign_in = self.env[SIGN_IN]._of(self.server.id, self.member.id, "address", make=True)
        self.sign_in._keep(GRANT)

    def _claimed_by(self, last):
        """Whether a turn is run here, in a database whose turns ran there last."""
        self.env["ir.config_parameter"].set_param(copies.KEY, last)
        self.env.flush_all()
        return self._claimed()

    def _claimed(self):
        self.living = OdooStore(self.env.cr.dbname)
        self.claims = self.living.claim("one", 8, 15.0)
        self.env.invalidate_all()
        return self.turn.id in [claim.turn_id for claim in self.claims]

    def _name_of(self, database):
        self.env.cr.execute(
            "SELECT system_identifier || ':' || oid FROM pg_control_system(), pg_database WHERE datname = %s",
            [database],
        )
        return self.env.cr.fetchone()[0]

    def test_a_copy_runs_no_turn_of_its_original(self):
        self.assertFalse(self._claimed_by(self._name_of("postgres")))
        self.assertEqual(self.turn.state, "stopped")
        self.assertFalse(self.sign_in.exists(), "one of two databases would lose the token")
        self.assertEqual(self.provider._llm_spec().api_key, "sk-provider-secret")
        self.turn = self._ask(self.member).sudo()
        here = self.env["ir.config_parameter"].get_param(copies.KEY)
        self.assertEqual(here, self._name_of(self.env.cr.dbname))
        self.assertTrue(self._claimed_by(here))

    def test_what_is_asked_in_a_copy_before_anything_ran_there_is_answered(self):
        copied = self.turn
        self.env["ir.config_parameter"].set_param(copies.KEY, self._name_of("postgres"))
        self.turn = self._ask(self.member).sudo()
        self.assertEqual((copied.state, self.turn.state), ("stopped", "queued"))
        self.assertTrue(
            self._claimed_by(self.env["ir.config_parameter"].get_param(copies.KEY)),
        )

    def test_what_was_under_way_ends_however_long_that_takes(self):
        slow = io.StringIO(f"{copies.ONLY_IN_THE_ORIGINAL}SELECT pg_sleep(0.2)")
        self.env.cr.execute("SET LOCAL statement_timeout = 50")
        with patch.object(copies, "file_open", return_value=slow):
            copies.end_what_is_under_way(self.env.cr)

    def test_a_renamed_database_goes_on(self):
        self.assertTrue(self._claimed_by(self._name_of(self.env.cr.dbname)))
        self.assertTrue(self.sign_in.exists())

    def test_without_the_clusters_identifier_the_name_counts_too(self):
        """Kept before it was looked at, or by a server that does not tell it; the first oids of clusters are alike."""
        dbname = self.env.cr.dbname
        oid = self._name_of(dbname).partition(":")[2]
        for key in (f"{oid}/{dbname}", f":{oid}/{dbname}"):
            self.assertTrue(self._claimed_by(key))
            self.store.release("one")
        with patch.object(copies, "_cluster", return_value=""):
            self.assertTrue(self._claimed_by(f":{oid}/{dbname}"))
            self.store.release("one")
        self.assertTrue(self.sign_in.exists())
        for key, cluster in ((f"{oid}/other", "1"), (f":{oid}/other", ""), (f"1:{oid}", "")):
            with (
                self.subTest(key),
                patch.object(copies, "_cluster", return_value=cluster),
                self.assertLogs(copies.__name__, "WARNING"),
            ):
                self.assertFalse(self._claimed_by(key))
                self.assertEqual(self.turn.state, "stopped")
                self.turn = self._ask(self.member).sudo()

    def test_a_copy_that_takes_the_name_under_a_living_server_is_one(self):
        """Between two looks the original was renamed: the connections lead elsewhere, and the leases seem to hold."""
        self.assertTrue(self._claimed_by(self._name_of(self.env.cr.dbname)))
        (claim,) = [one for one in self.claims if one.turn_id == self.turn.id]
        self.assertTrue(self.living.load(claim))
        here = copies.oid(self.env.cr)
        self.env["ir.config_parameter"].set_param(copies.KEY, self._name_of("postgres"))
        self.env.flush_all()
        self.living._oid = 1  # as the original's was
        self.assertRaises(LeaseLost, self.living.load, claim)
        self.assertEqual(self.living.claim("one", 8, 15.0), [])
        self.env.invalidate_all()
        self.assertEqual((self.turn.state, self.living._oid), ("stopped", here))

    def test_a_database_whose_original_is_gone_goes_on(self):
        cluster = self._name_of("postgres").partition(":")[0]
        self.assertTrue(self._claimed_by(f"{cluster}:99999999"))

    def test_from_another_server_nothing_goes_on_by_itself(self):
        here = self._name_of(self.env.cr.dbname)
        with self.assertLogs(copies.__name__, "WARNING") as said:
            self.assertFalse(self._claimed_by(f"1{here}"), "whose original may live on")
        self.assertIn("ai_moved", said.output[0])
        self.assertEqual(self.turn.state, "stopped")

    def test_who_has_moved_it_says_so(self):
        self.env["ir.config_parameter"].set_param(copies.KEY, "1:1")
        self.env.flush_all()
        copies.moved(self.env.cr)
        self.assertTrue(self._claimed())
        self.assertTrue(self.sign_in.exists())

    def test_who_has_restored_a_backup_of_it_says_so(self):
        self.assertTrue(self._claimed_by(self._name_of(self.env.cr.dbname)))
        self.store.release("one")
        copies.restored(self.env.cr)
        self.env.invalidate_all()
        self.assertEqual(self.turn.state, "stopped")
        self.turn = self._ask(self.member).sudo()
        self.assertTrue(self._claimed())

    def test_the_first_one_goes_on(self):
        self.assertTrue(self._claimed_by(False))

    def test_odoo_is_told_that_it_is_a_copy(self):
        self.env["ir.config_parameter"].init()
        self.assertEqual(self.turn.state, "queued")
        self.env["ir.config_parameter"].init(force=True)
        self.assertEqual(self.turn.state, "stopped")
        self.assertFalse(self.sign_in.exists())
        self.assertEqual(self.provider._llm_spec().api_key, "sk-provider-secret")


@tagged("post_install", "-at_install")
class TestOtherKey(AiHttpCase):
    """The folder that held the key is lost, or a dump comes to an Odoo with another one."""

    def setUp(self):
        super().setUp()
        self.server.api_key = "s3cret-weather"
        self.toolbox = self.env["woow_paas_platform.toolbox"].create(
            {"name": "orders", "base_url": "https://orders.example.com", "credential": "s3cret-box"}
        )
        self.env.flush_all()
        self.now = settings.get()
        self.enterContext(patch.object(settings, "get", lambda: self.now))
        self.enterContext(mute_logger("odoo.addons.woow_paas_platform.models.mixins.secret_mixin"))
        self.former = self.now.secret_key
        self._use(Fernet.generate_key().decode())

    def _use(self, *keys):
        self.now = replace(self.now, secret_key=keys)
        self.env.invalidate_all()

    def _unreadable(self):
        status, health = self._call("GET", "/api/ai/health")
        self.assertEqual(status, 200)
        count = health["unreadable_secrets"]
        self.assertEqual(health["status"], "secret_unreadable" if count else "ok")
        self.assertTrue(health["servers"])
        return count

    def test_forms_and_health_say_so(self):
        for record in (self.provider, self.server, self.toolbox):
            with self.subTest(record=record):
                said = record.with_user(self.admin).secret_problem
                self.assertIn("Enter them again", said)
                self.assertNotIn("s3cret", said)
        self.assertIn("API Key", self.provider.secret_problem)
        with self.assertRaises(SecretUnreadable):
            self.provider._llm_spec()
        self.assertGreaterEqual(self._unreadable(), 3)

    def test_entering_a_secret_again_mends_it_and_touches_no_other(self):
        kept = self.provider.sudo().api_key_encrypted
        before = self._unreadable()
        self.server.with_user(self.admin).api_key = "s3cret-new"
        self.assertFalse(self.server.secret_problem)
        self.assertEqual(self.server._server_spec().api_key, "s3cret-new")
        self.assertEqual(self._unreadable(), before - 1)
        self.assertEqual(self.provider.sudo().api_key_encrypted, kept)
        self.assertTrue(self.provider.has_api_key)

    def test_nothing_is_lost_once_the_former_key_is_back(self):
        self.server.api_key = "s3cret-new"
        new = self.now.secret_key[0]
        self._use(new, *self.former)
        self.assertEqual(self.provider._llm_spec().api_key, "sk-provider-secret")
        self.assertEqual(self.server._server_spec().api_key, "s3cret-new")
        self.assertFalse(self.provider.secret_problem)
        self.assertEqual(self._unreadable(), 0)
        _done, failed = self.env["woow_paas_platform.secret.mixin"]._rotate_secrets()
        self.assertFalse(failed)
        self._use(new)
        self.assertEqual(vault.decrypt(self.toolbox.sudo().credential_encrypted), "s3cret-box")
