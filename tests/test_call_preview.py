from odoo.exceptions import AccessError
from odoo.tests import tagged

from .common import ADDS, AiHttpCase

MODEL = "woow_paas_platform.call_preview"


@tagged("post_install", "-at_install")
class TestCallPreview(AiHttpCase):
    """The dialog *What Would Happen* tells what `decide` would say, and calls nothing."""

    def _preview(self, **values):
        admin = self.env.ref("base.user_admin")
        return (
            self.env[MODEL]
            .with_user(admin)
            .create({"tool_id": self.forecast.id, "user_id": self.member.id, **values})
        )

    def test_it_tells_each_check(self):
        self.server.trust_level = "full"
        self.forecast.write({"approval_policy": "auto", "annotations": ADDS})
        self.assertIn("Always run.", self._preview().result)
        tainted = self._preview(is_tainted=True).result
        self.assertIn("may have an effect: ask first", tainted)
        self.assertNotIn("Always run.", tainted)
        self.forecast.is_exempt = True
        self.assertIn("Always run.", self._preview(is_tainted=True).result)
        self.assertIn(
            "not offered", self._preview(user_id=self.env.ref("base.public_user").id).result
        )

    def test_conditions_see_the_arguments(self):
        self.env["woow_paas_platform.approval_rule"].create(
            {"tool_id": self.forecast.id, "condition": "city == 'Rome'", "policy": "never"}
        )
        self.assertIn("by a rule", self._preview(arguments='{"city": "Rome"}').result)
        self.assertNotIn("by a rule", self._preview(arguments='{"city": "Bonn"}').result)

    def test_arguments_that_cannot_be_read(self):
        for text in ("{", "[]", "[" * 100_000):
            self.assertTrue(self._preview(arguments=text).problem)

    def test_only_administrators_have_it(self):
        for user in (self.member, self.internal, self.env.ref("base.public_user")):
            with self.assertRaises(AccessError):
                self.env[MODEL].with_user(user).create({"tool_id": self.forecast.id})
