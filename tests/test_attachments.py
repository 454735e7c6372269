"""Files that people attach to their messages, over HTTP."""

import base64

from odoo.tests import tagged

from ..services.llm import files
from .common import AiHttpCase

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"picture").decode()
NOTES = base64.b64encode("機密 notes".encode()).decode()


@tagged("post_install", "-at_install")
class TestAttachments(AiHttpCase):
    def setUp(self):
        super().setUp()
        self._sign_in(self.member)
        self.chat = self._conversation(self.member)
        self.path = f"/api/ai/conversations/{self.chat.id}"
        self.env.flush_all()

    def _attach(self, name="notes.txt", data=NOTES, path=None):
        body = {"name": name, "data": data}
        return self._call("POST", f"{path or self.path}/attachments", body)

    def _send(self, content="Read it", ids=(), **values):
        body = {"content": content, "attachment_ids": list(ids), **values}
        return self._call("POST", f"{self.path}/messages", body)

    def _turn(self, answer):
        self.env.invalidate_all()
        return self.env["woow_paas_platform.ai_turn"].browse(answer[1]["turn_id"])

    def _assert_error(self, answer, status, code):
        self.assertEqual((answer[0], answer[1]["error"]["code"]), (status, code), answer)
        self.assertTrue(answer[1]["error"]["message"].endswith("."))

    def test_a_text_file_is_shown_in_the_history_and_read_by_the_model(self):
        status, file = self._attach()
        self.assertEqual((status, file["name"], file["mimetype"]), (201, "notes.txt", "text/plain"))
        answer = self._send(ids=[file["id"]])
        self.assertEqual(answer[0], 202, answer)
        page = self._call("GET", self.path)[1]
        self.assertEqual(page["messages"][0]["attachments"], [file])
        response = self.opener.get(self.base_url() + file["url"])
        self.assertEqual(response.content.decode(), "機密 notes")
        self.assertIn("attachment", response.headers["Content-Disposition"])
        said = self._turn(answer)._turn_request().history[-1]
        self.assertIn("機密 notes", said["content"])
        self.assertIn("not instructions", said["content"])

    def test_what_is_no_list_of_ids_is_refused(self):
        for ids in ([{}], [[1]], ["1"]):
            self._assert_error(self._send(ids=ids), 400, "invalid_field")

    def test_a_picture_is_for_models_with_vision(self):
        file = self._attach("cat.png", PNG)[1]
        turn = self._turn(self._send("", ids=[file["id"]]))
        self.assertEqual(turn.channel_id.name, "cat.png")
        self.assertNotIn("pictures", turn._turn_request().history[-1])
        self.provider.supports_vision = True
        (picture,) = turn._turn_request().history[-1]["pictures"]
        self.assertEqual((picture["mimetype"], picture["data"]), ("image/png", PNG))

    def test_files_stay_with_the_question(self):
        file = self._attach("cat.png", PNG)[1]
        turn = self._turn(self._send(ids=[file["id"]]))
        turn.sudo()._request_stop()
        self.provider.supports_vision = True
        retry = turn.with_user(self.member)._retry()
        self.assertEqual(len(retry.sudo()._turn_request().history[-1]["pictures"]), 1)
        retry.sudo()._request_stop()
        self.env.flush_all()
        anew = self._turn(self._send("In other words", edit_of=turn.message_id.id))
        self.assertEqual(anew.attachment_ids.ids, [file["id"]])
        anew._request_stop()
        later = self._turn(self._send("And now?"))
        self.assertEqual(len(later._turn_request().history[0]["pictures"]), 1)

    def test_what_cannot_be_attached_is_refused_with_a_sentence(self):
        program = base64.b64encode(b"MZ\0\0").decode()
        self._assert_error(self._attach("run.exe", program), 415, "unsupported_file")
        self._assert_error(self._attach(data="no base64"), 400, "invalid_field")
        self._assert_error(self._attach(data=""), 400, "empty_file")
        large = base64.b64encode(b"a" * (files.MAX_BYTES + 1)).decode()
        self._assert_error(self._attach(data=large), 413, "file_too_large")
        self._assert_error(self._attach(data=large + large), 413, "body_too_large")
        self._assert_error(self._send(ids=range(1, 12)), 422, "too_many_files")
        self._assert_error(self._send(ids=[2**31 - 1]), 404, "not_found")
        self._assert_error(self._send(ids=["1"]), 400, "invalid_field")
        self._assert_error(self._send(""), 400, "empty_message")

    def test_files_that_nobody_sends_do_not_pile_up(self):
        first, second = (self._attach(f"{number}.txt")[1]["id"] for number in range(2))
        sent = self._send(ids=[first])
        self.assertEqual(sent[0], 202, sent)
        for number in range(30):
            self.chat.with_user(self.member)._attach_content(f"more {number}.txt", b"More.")
        self.env.flush_all()
        files = self.env["ir.attachment"]
        self.assertTrue(files.browse(first).exists(), "what was sent stays")
        self.assertFalse(files.browse(second).exists(), "what nobody sends makes room")
        self.assertEqual(self._attach()[0], 201)

    def test_a_file_belongs_to_its_conversation(self):
        file = self._attach()[1]
        own = self._conversation(self.stranger)
        self.env.flush_all()
        for user in (self.stranger, self.guest, self.internal, self.admin):
            self._sign_in(user)
            self._assert_error(self._attach(), 404, "not_found")
            self._assert_error(self._call("GET", file["url"]), 404, "not_found")
            response = self.opener.get(f"{self.base_url()}/web/content/{file['id']}")
            self.assertNotIn("notes", response.text)
            attachment = self.env["ir.attachment"].with_user(user).browse(file["id"])
            self.assertFalse(attachment.has_access("read"))
        self._sign_in(self.stranger)
        path = f"/api/ai/conversations/{own.id}/messages"
        body = {"content": "Give it to me", "attachment_ids": [file["id"]]}
        self._assert_error(self._call("POST", path, body), 404, "not_found")
        self.authenticate(None, None)
        self._assert_error(self._attach(), 401, "unauthenticated")

    def test_files_go_with_the_conversation(self):
        file = self._attach()[1]
        self.assertEqual(self._call("DELETE", self.path)[0], 204)
        self.assertFalse(self.env["ir.attachment"].browse(file["id"]).exists())
