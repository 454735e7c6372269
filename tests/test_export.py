"""Export of a conversation: what its person gets of it, and nobody else."""

import base64
import io
from unittest.mock import patch

import markdown_it
from odoo.tests import tagged
from odoo.tools.pdf import PdfFileReader

from ..models.conversation import discuss_channel_view
from ..services.render.conversation_file import FORMAT, RESULT_CHARS
from .common import AiHttpCase
from .test_timeline import FINAL, SAID

PNG = (  # 2 × 2 pixels
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg=="
)
HUGE = base64.b64decode(PNG)[:16] + b"\x00\x00\xff\xff" * 2 + base64.b64decode(PNG)[24:]
LONG = "晴" * (RESULT_CHARS + 500)


@tagged("post_install", "-at_install")
class TestExport(AiHttpCase):
    def setUp(self):
        super().setUp()
        self.turn = self._ask(self.member).sudo()
        self.path = f"/api/ai/conversations/{self.turn.channel_id.id}/export"
        self._sign_in(self.member)

    def _answer(self, result="sunny"):
        file = self.env["ir.attachment"].create(
            {"name": "map.png", "raw": b"a", "mimetype": "image/png"}
        )
        self.env["woow_paas_platform.tool_call"].create(
            {
                "turn_id": self.turn.id,
                "user_id": self.member.id,
                "call_id": "one",
                "tool_name": "forecast",
                "server_name": "weather",
                "arguments": {"city": "臺北"},
                "result": result,
                "llm_text": result,
                "outcome": "ok",
                "attachment_ids": [(6, 0, file.ids)],
            }
        )
        self.turn.transcript = {"step": 2, "messages": [*SAID, FINAL]}
        self.turn._end("done", "<p>It is <em>sunny</em>.</p>")

    def _get(self, query=""):
        response = self.url_open(self.path + query)
        self.assertEqual(response.headers["Cache-Control"], "no-store")
        return response

    def test_json_holds_messages_calls_and_names_of_files(self):
        self._answer()
        response = self._get("?format=json")
        self.assertTrue(response.headers["Content-Type"].startswith("application/json"))
        self.assertIn("attachment", response.headers["Content-Disposition"])
        exported = response.json()
        self.assertEqual((exported["format"], exported["incomplete"]), (FORMAT, False))
        question, answer = exported["messages"]
        self.assertEqual((question["role"], question["author"]), ("user", self.member.name))
        self.assertEqual(answer["state"], "done")
        kinds = [part["type"] for part in answer["parts"]]
        self.assertEqual(kinds, ["text_block", "tool_call", "text_block"])
        (call,) = answer["calls"]
        self.assertEqual((call["arguments"], call["files"]), ({"city": "臺北"}, ["map.png"]))
        self.assertEqual((call["result"], call["outcome"]), ("sunny", "ok"))
        self.assertNotIn("html", response.text)

    def test_markdown_is_read_as_such_and_a_result_stays_in_its_fence(self):
        self._answer("```\n# Forged\n````\n## Forged\n<script>")
        tokens = markdown_it.MarkdownIt().parse(self._get().text)
        headings = [
            tokens[number + 1].content
            for number, token in enumerate(tokens)
            if token.type == "heading_open"
        ]
        self.assertEqual(len(headings), 3)
        self.assertEqual(headings[0], self.turn.channel_id.name)
        self.assertIn(self.member.name, headings[1])
        fences = [token.content for token in tokens if token.type == "fence"]
        self.assertIn("臺北", fences[0])
        self.assertIn("# Forged", fences[1])
        said = [token.content for token in tokens if token.type == "inline"]
        self.assertIn("Let me **see**.", said)
        self.assertIn("It is *sunny*.", said)
        self.assertTrue(any("map.png" in line for line in said))

    def test_long_results_are_shortened_in_markdown_only(self):
        self._answer(LONG)
        self.assertLess(self._get().text.count("晴"), RESULT_CHARS)
        (call,) = self._get("?format=json").json()["messages"][1]["calls"]
        self.assertEqual(call["result"], LONG)

    def test_pages_come_in_order_and_the_oldest_messages_are_left_out(self):
        channel = self.turn.channel_id
        for number in range(7):
            channel.message_post(
                body=f"word {number}",
                author_id=self.member.partner_id.id,
                message_type="comment",
                subtype_xmlid="mail.mt_comment",
            )
        with patch.object(discuss_channel_view, "EXPORT_PAGE", 3):
            messages = self._get("?format=json").json()["messages"]
            said = [message["text"] for message in messages]
            self.assertEqual(said[-7:], [f"word {number}" for number in range(7)])
            self.assertEqual(len(said), 8)
            with patch.object(discuss_channel_view, "EXPORT_MESSAGES", 5):
                exported = self._get("?format=json").json()
                self.assertEqual([m["text"] for m in exported["messages"]], said[-5:])
                self.assertTrue(exported["incomplete"])
                self.assertIn("> Earlier messages are left out.", self._get().text)
            with patch.object(discuss_channel_view, "EXPORT_WEIGHT", 1):
                self.assertEqual(len(self._get("?format=json").json()["messages"]), 3)

    def test_pdf_holds_messages_calls_and_pictures(self):
        """Printed where Odoo can print; refused with a sentence elsewhere."""
        self._answer("sunny <script>alert(1)</script>")
        # the picture of a call, and one that claims to be too large to be drawn
        picture = self.turn.call_ids.attachment_ids
        picture.raw = base64.b64decode(PNG)
        huge = picture.copy({"name": "huge.png", "raw": HUGE})
        self.turn.call_ids.attachment_ids |= huge
        self.env.flush_all()
        Report = self.env.registry["ir.actions.report"]
        if self.env["ir.actions.report"].get_wkhtmltopdf_state() != "ok":
            answer = self._call("GET", f"{self.path}?format=pdf")
            self._assert_error(answer, 422, "pdf_unavailable")
            return
        render = Report._render_qweb_pdf

        def forced(report, *args, **kwargs):  # Odoo's tests print nothing otherwise
            return render(report.with_context(force_report_rendering=True), *args, **kwargs)

        with patch.object(Report, "_render_qweb_pdf", forced):
            response = self._get("?format=pdf")
        self.assertEqual(
            (response.status_code, response.headers["Content-Type"]), (200, "application/pdf")
        )
        document = PdfFileReader(io.BytesIO(response.content))
        # without blanks, which readers see between letters of different fonts
        said = "".join("".join(page.extract_text() for page in document.pages).split())
        for words in (
            self.member.name,
            "Let me see.",
            "It is sunny.",
            "weather.forecast",
            "<script>alert(1)</script>",
            "Attached: huge.png, map.png",
        ):
            self.assertIn("".join(words.split()), said)
        images = [image for page in document.pages for image in page.images]
        self.assertEqual(len(images), 1)

    def test_pdf_is_refused_where_it_is_too_long_or_nothing_prints(self):
        Report = self.env.registry["ir.actions.report"]
        for state, chars, status, code in (
            ("install", 1_000_000, 422, "pdf_unavailable"),
            ("ok", 10, 413, "conversation_too_long"),
        ):
            with (
                patch.object(Report, "get_wkhtmltopdf_state", lambda _self, said=state: said),
                patch.object(discuss_channel_view, "PDF_CHARS", chars),
            ):
                answer = self._call("GET", f"{self.path}?format=pdf")
            self._assert_error(answer, status, code)

    def test_others_and_unknown_formats_are_refused(self):
        response = self.url_open(f"{self.path}?format=docx")
        self.assertEqual(response.status_code, 400)
        self.assertEqual(response.json()["error"]["code"], "invalid_parameter")
        for person in (self.owner, self.admin, self.internal):
            self._sign_in(person)
            missing = self.url_open("/api/ai/conversations/0/export")
            foreign = self.url_open(self.path)
            self.assertEqual((foreign.status_code, foreign.text), (404, missing.text))
