from odoo.tests import tagged

from .common import AiHttpCase

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@tagged("post_install", "-at_install")
class TestAssistantFace(AiHttpCase):
    """What a new chat shows of an assistant before the first word."""

    def _listed(self):
        self._sign_in(self.member)
        _status, answer = self._call("GET", "/api/ai/assistants")
        return next(one for one in answer["assistants"] if one["id"] == self.assistant.id)

    def test_questions_are_made_from_the_tools_until_somebody_writes_some(self):
        made = self._listed()["starters"]
        self.assertEqual(made[0], "What can you help me with?")
        self.assertGreater(len(made), 1)
        self.assertLessEqual(len(made), 4)
        self.assistant.action_suggest_starters()
        self.assertEqual(self.assistant.starters.splitlines(), made)
        self.assistant.starters = "  How is the tide?  \n\n" + "Long " * 100
        written = self._listed()["starters"]
        self.assertEqual(written[0], "How is the tide?")
        self.assertEqual([len(line) <= 200 for line in written], [True, True])

    def test_a_service_has_questions_of_its_own(self):
        self._sign_in(self.member)
        self.assertIn("n8n", self.service.with_user(self.member)._starters()[0])
        self.service.starters = "Which flow ran last?"
        _status, answer = self._call("GET", "/api/ai/cloud-services")
        self.assertEqual(answer["cloud_services"][0]["starters"], ["Which flow ran last?"])

    def test_the_image_is_shown_to_those_who_may_chat_and_in_discuss(self):
        self.assertIsNone(self._listed()["image_url"])
        self.assistant.image = PIXEL
        self.assertTrue(self.assistant.partner_id.image_1920)
        url = self._listed()["image_url"]
        image = self.url_open(url)
        self.assertEqual((image.status_code, image.headers["Content-Type"]), (200, "image/png"))
        chat = self._conversation(self.member)
        _status, page = self._call("GET", f"/api/ai/conversations/{chat.id}")
        self.assertEqual(page["assistant"]["image_url"], url)
        self.assistant.image = False
        self.assertFalse(self.assistant.partner_id.image_1920)
