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

    def test_an_assistant_that_does_not_offer_the_tool(self):
        action = self.assistant.action_preview()
        opened = {name.removeprefix("default_"): value for name, value in action["context"].items()}
        self.assertNotIn("not offered", self._preview(**opened).result)
        self.assistant.mcp_tool_disabled_ids = self.forecast
        self.assertIn("not offered", self._preview(**opened).result)

    def test_each_way_of_an_assistant_to_ask(self):
        self.server.trust_level = "full"
        self.forecast.write({"approval_policy": "default", "annotations": ADDS})
        for mode, words in (
            ("effects", "with an effect: ask first"),
            ("policy", "It deletes and overwrites nothing: run."),
            ("auto", "trusted servers: run"),
        ):
            self.assistant.approval_mode = mode
            self.assertIn(words, self._preview(assistant_id=self.assistant.id).result)
        self.server.trust_level = "none"
        self.assertIn(
            "not trusted: ask first", self._preview(assistant_id=self.assistant.id).result
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
