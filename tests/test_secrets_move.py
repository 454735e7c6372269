from odoo.tests import tagged

from .common import AiCase, AiHttpCase

SIGN_IN = "woow_paas_platform.mcp_sign_in"
SECRETS = ("api_key", "headers_json", "oauth_client_secret")


class WithSecrets:
    """The service's server, with all that can be stored for it."""

    def _fill(self, server):
        server.write(
            {
                "oauth_client_id": "client",
                "oauth_issuer": "https://login.example.com",
                "api_key": "s3cret-key",
                "headers_json": '{"X-Team": "s3cret-header"}',
                "oauth_client_secret": "s3cret-client",
            }
        )
        sign_in = self.env[SIGN_IN]._of(server.id, 0, server._address_digest(), make=True)
        sign_in._keep({"access_token": "", "issuer": "https://login.example.com"})
        sign_in.is_active = True  # without a token nothing has to be given back
        # as before a server stopped to want them
        self.env["woow_paas_platform.server_credential"]._keep(server, self.member, "s3cret-own")

    def _held(self, server):
        self.env.flush_all()
        self.env.invalidate_all()
        return server._held_secrets()


@tagged("post_install", "-at_install")
class TestSecretsMove(WithSecrets, AiCase):
    """What was entered for one owner is not taken along to another."""

    def setUp(self):
        super().setUp()
        self.other_service = self.env["woow_paas_platform.cloud_service"].create(
            {"name": "odoo", "workspace_id": self.other_workspace.id, "state": "running"}
        )
        self.second_service = self.service.copy({"name": "second"})
        self._fill(self.user_server)
        self.all = {*SECRETS, "sign_ins", "own_keys"}
        self.assertEqual(self._held(self.user_server), self.all)

    def test_a_workspace_admin_who_takes_the_server_gets_none_of_them(self):
        server = self.user_server.with_user(self.owner)
        server.write({"cloud_service_id": False, "owner_user_id": self.owner.id})
        self.assertEqual(self._held(server), set())
        self.assertFalse(server.has_api_key)
        self.assertFalse(server.header_names)
        self.assertEqual(server.state, "draft")

    def test_each_way_to_another_owner(self):
        mine = {"cloud_service_id": False, "owner_user_id": self.member.id}
        everybody = {"scope": "system", "cloud_service_id": False, "owner_user_id": False}
        services = {
            "service": lambda: self.second_service.write(
                {"user_mcp_server_ids": [(4, self.user_server.id)]}
            ),
            "workspace": lambda: self.service.write({"workspace_id": self.other_workspace.id}),
            "off": lambda: (
                self.user_server.write({"active": False}),
                self.service.write({"workspace_id": self.other_workspace.id}),
            ),
            "person": lambda: self.user_server.write(mine),
            "system": lambda: self.user_server.write(everybody),
        }
        for name, move in services.items():
            with self.subTest(move=name), self.env.cr.savepoint() as savepoint:
                move()
                self.assertEqual(self._held(self.user_server), set())
                savepoint.rollback()
                self.env.invalidate_all()

    def test_a_system_servers_key_is_not_given_to_a_service(self):
        self._fill(self.server)
        self.server.write({"scope": "user", "cloud_service_id": self.service.id})
        self.assertEqual(self._held(self.server), set())

    def test_what_comes_with_the_move_counts(self):
        self.user_server.write(
            {"cloud_service_id": self.second_service.id, "api_key": "s3cret-new"}
        )
        self.assertEqual(self._held(self.user_server), {"api_key"})
        self.assertEqual(self.user_server._read_secret("api_key"), "s3cret-new")

    def test_who_stays_keeps_them(self):
        self.user_server.write(
            {"cloud_service_id": self.service.id, "scope": "user", "name": "renamed"}
        )
        self.service.write({"workspace_id": self.workspace.id, "name": "renamed"})
        self.assertEqual(self._held(self.user_server), self.all)

    def test_a_form_tells_of_it(self):
        record = self.user_server
        for values, is_told in (
            ({"cloud_service_id": self.second_service.id}, True),
            ({"scope": "system"}, True),
            ({"owner_user_id": self.member.id}, True),
            ({"cloud_service_id": self.service.id}, False),
        ):
            with self.subTest(values=values):
                self.env.invalidate_all()  # what is new of a record is cached with it
                told = record.onchange(values, list(values), {n: {} for n in values})
                self.assertEqual("not carried over" in str(told.get("warning")), is_told)

    def test_a_toolboxes_credential_goes_to_no_other_host(self):
        box = self.env["woow_paas_platform.toolbox"].create(
            {"name": "box", "credential_type": "bearer", "credential": "s3cret"}
        )
        box.base_url = "https://one.example.com/v1"
        self.assertTrue(box.has_credential, "it was entered for the address of the document")
        box.base_url = "https://one.example.com/v2"
        self.assertTrue(box.has_credential)
        box.base_url = "https://two.example.com/v2"
        self.assertFalse(box.has_credential)


@tagged("post_install", "-at_install")
class TestSecretsMoveApi(WithSecrets, AiHttpCase):
    def test_the_api_tells_of_it(self):
        self._fill(self.user_server)
        self._sign_in(self.owner)
        path = f"/api/mcp/servers/{self.user_server.id}"
        status, kept = self._call("PUT", path, {"name": "renamed"})
        self.assertEqual((status, kept["forgotten"]), (200, []))
        status, moved = self._call("PUT", path, {"url": "https://two.example.com/mcp"})
        self.assertEqual(status, 200)
        self.assertEqual(moved["forgotten"], ["api_key", "headers", "own_keys", "sign_ins"])
