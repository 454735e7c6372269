from odoo.exceptions import AccessError
from odoo.tests import tagged
from odoo.tools.misc import file_open

from .common import AiCase


@tagged("post_install", "-at_install")
class TestSecrets(AiCase):
    def test_nobody_reads_a_secret_back(self):
        self.user_server.with_user(self.owner).api_key = "s3cret-key"
        self.user_server.with_user(self.owner).headers_json = '{"X-Team": "s3cret-header"}'
        for user in (self.admin, self.owner):
            server = self.user_server.with_user(user)
            self.env.invalidate_all()
            fields = [name for name in server.fields_get() if server._fields[name].store or True]
            values = str(server.read(fields))
            self.assertNotIn("s3cret", values)
            self.assertTrue(server.has_api_key)
            self.assertEqual(server.header_names, "X-Team")
            with self.assertRaises(AccessError):
                server.read(["api_key_encrypted"])

    def test_stored_encrypted(self):
        self.env.flush_all()
        self.env.cr.execute(
            "SELECT api_key_encrypted FROM ai_config WHERE id = %s", [self.provider.id]
        )
        (stored,) = self.env.cr.fetchone()
        self.assertNotIn("sk-provider-secret", stored)
        self.assertEqual(self.provider._read_secret("api_key"), "sk-provider-secret")

    def test_empty_input_keeps_the_secret(self):
        self.provider.write({"api_key": "", "name": "Renamed"})
        self.assertEqual(self.provider._read_secret("api_key"), "sk-provider-secret")

    def test_a_copy_has_no_secret(self):
        self.assertFalse(self.provider.copy().has_api_key)

    def test_neutralize_clears_secrets_and_switches_off(self):
        self.server.api_key = "s3cret-key"
        self.env.flush_all()
        with file_open("woow_paas_platform/data/neutralize.sql") as file:
            self.env.cr.execute(file.read())
        self.env.invalidate_all()
        self.assertFalse(self.provider.has_api_key)
        self.assertFalse(self.server.has_api_key)
        self.assertFalse(self.server.active)

    def test_the_engine_gets_it_and_its_repr_hides_it(self):
        self.server.api_key = "s3cret-key"
        spec = self.server._server_spec()
        self.assertEqual(spec.api_key, "s3cret-key")
        self.assertNotIn("s3cret", repr(spec))
        self.assertNotIn("sk-provider", repr(self.provider._llm_spec()))
