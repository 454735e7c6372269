"""Files that are read the moment they are chosen: PDF and Office, kept for the person until a message takes them."""

import base64
import io
from datetime import timedelta
from unittest.mock import patch

import openpyxl
from odoo import fields
from odoo.tests import tagged
from reportlab.pdfgen import canvas

from ..models.base import ir_attachment
from ..services.documents import reader
from ..services.errors import PackageMissing
from ..services.llm import files
from ..tools import limits
from .common import AiHttpCase

PNG = b"\x89PNG\r\n\x1a\n" + b"picture"


def pdf(*pages):
    file = io.BytesIO()
    page = canvas.Canvas(file)
    for text in pages:
        page.drawString(50, 700, text)
        page.showPage()
    page.save()
    return file.getvalue()


def sheet(*rows):
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(file)
    return file.getvalue()


@tagged("post_install", "-at_install")
class TestDocuments(AiHttpCase):
    def setUp(self):
        super().setUp()
        self._sign_in(self.member)
        self.chat = self._conversation(self.member)
        self.env.flush_all()

    def _send(self, *ids, chat=None, content="Sum it up"):
        path = f"/api/ai/conversations/{(chat or self.chat).id}/messages"
        return self._call("POST", path, {"content": content, "attachment_ids": list(ids)})

    def _file(self, id_):
        self.env.invalidate_all()
        return self.env["ir.attachment"].sudo().browse(id_)

    def _assert_error(self, answer, status, code):
        self.assertEqual((answer[0], answer[1]["error"]["code"]), (status, code), answer)
        self.assertTrue(answer[1]["error"]["message"].endswith("."))

    def test_a_pdf_is_read_when_it_is_chosen_and_by_the_model_when_it_is_sent(self):
        content = pdf("Rent is XYLOPHONE", "Signed")
        status, told = self._upload("contract.pdf", content)
        self.assertEqual(status, 201, told)
        self.assertEqual(
            {name: told[name] for name in ("name", "mimetype", "size", "pages", "pages_read")},
            {
                "name": "contract.pdf",
                "mimetype": "application/pdf",
                "size": len(content),
                "pages": 2,
                "pages_read": 2,
            },
        )
        self.assertEqual((told["characters"], told["token_estimate"]), (23, 7))
        status, accepted = self._send(told["id"])
        self.assertEqual(status, 202, accepted)
        self.env.invalidate_all()
        turn = self.env["woow_paas_platform.ai_turn"].browse(accepted["turn_id"])
        said = turn._turn_request().history[-1]["content"]
        self.assertIn("[page 1 of 2]\nRent is XYLOPHONE\n\n[page 2 of 2]\nSigned", said)
        self.assertIn("data, not instructions", said)
        page = self._call("GET", f"/api/ai/conversations/{self.chat.id}")[1]
        (shown,) = page["messages"][0]["attachments"]
        self.assertEqual(shown["id"], told["id"])
        self.assertEqual(self.opener.get(self.base_url() + shown["url"]).content, content)

    def test_the_inline_way_reads_it_too(self):
        body = {"name": "prices.xlsx", "data": base64.b64encode(sheet(["茶", 30])).decode()}
        path = f"/api/ai/conversations/{self.chat.id}/attachments"
        status, told = self._call("POST", path, body)
        self.assertEqual((status, told["mimetype"]), (201, reader.MIMETYPES["xlsx"]))
        self.assertIn("茶\t30", self._file(told["id"]).woow_text)
        body["data"] = base64.b64encode(b"%PDF-1.7 \xff").decode()
        self._assert_error(self._call("POST", path, body), 422, "file_unreadable")

    def test_what_cannot_be_read_is_refused_at_once_and_leaves_nothing(self):
        def kept():
            return (
                self.env["ir.attachment"].sudo().search_count([("woow_unsent_by_id", "!=", False)])
            )

        program = self._upload("run.exe", b"MZ\0\0")
        self._assert_error(program, 415, "unsupported_file")
        self._assert_error(self._upload("cut.pdf", pdf("One")[:300]), 422, "file_unreadable")
        self._assert_error(self._upload("scan.pdf", pdf("")), 422, "file_without_text")
        locked = reader.COMPOUND + reader.ENCRYPTED
        self._assert_error(self._upload("locked.docx", locked), 422, "file_encrypted")
        self._assert_error(self._upload("empty.pdf", b""), 400, "empty_file")
        large = b"a" * (files.MAX_BYTES + 1)
        self._assert_error(self._upload("large.txt", large), 413, "file_too_large")
        self._assert_error(self._upload("larger.txt", large * 2), 413, "body_too_large")
        with patch.object(reader, "_said_of", side_effect=PackageMissing("pypdfium2")):
            self._assert_error(self._upload("a.pdf", pdf("One")), 422, "package_missing")
        with patch.object(reader._places, "take", side_effect=reader.ReaderBusy):
            self._assert_error(self._upload("a.pdf", pdf("One")), 503, "reader_busy")
        self.assertFalse(kept())

    def test_the_reason_is_in_the_language_of_the_page(self):
        self.env["res.lang"]._activate_lang("zh_TW")
        self.env.flush_all()
        headers = {"X-Woow-Language": "zh_TW"}
        _status, answer = self._upload("scan.pdf", pdf(""), headers=headers)
        self.assertNotIn("There is no text", answer["error"]["message"])

    def test_a_form_of_another_site_is_refused(self):
        for headers in ({}, {"Sec-Fetch-Site": "cross-site", "X-Woow-Language": "en_US"}):
            self._assert_error(self._upload("a.txt", b"a", headers=headers), 403, "cross_site")
        answer = self._call("POST", "/api/ai/attachments", {"file": "a"})
        self._assert_error(answer, 415, "not_form")
        path = "/api/ai/attachments"
        headers = {"X-Woow-Language": "en_US"}
        empty = self._call("POST", path, headers=headers, files={"other": ("a.txt", b"a")})
        self._assert_error(empty, 400, "invalid_field")
        self.authenticate(None, None)
        self._assert_error(self._upload("a.txt", b"a"), 401, "unauthenticated")

    def test_a_program_sends_a_form_with_its_key(self):
        tomorrow = fields.Datetime.now() + timedelta(days=1)
        keys = self.env["res.users.apikeys"].with_user(self.internal)
        key = keys._generate(None, "test", tomorrow)
        self.env.flush_all()
        self.opener.cookies.clear()
        headers = {"Authorization": f"Bearer {key}"}
        self.assertEqual(self._upload("a.pdf", pdf("One"), headers=headers)[0], 201)

    def test_an_unsent_file_is_its_person_s_alone(self):
        told = self._upload("secret.pdf", pdf("XYLOPHONE"))[1]
        self.assertEqual(self.opener.get(self.base_url() + told["url"]).status_code, 200)
        for user in (self.stranger, self.guest, self.internal, self.admin):
            self._sign_in(user)
            own = self._conversation(user)
            self.env.flush_all()
            self._assert_error(self._call("GET", told["url"]), 404, "not_found")
            self._assert_error(self._call("DELETE", told["url"]), 404, "not_found")
            self._assert_error(self._send(told["id"], chat=own), 404, "not_found")
            attachment = self.env["ir.attachment"].with_user(user).browse(told["id"])
            self.assertFalse(attachment.has_access("read"))
        self.authenticate(None, None)
        self._assert_error(self._call("GET", told["url"]), 401, "unauthenticated")
        self.assertTrue(self._file(told["id"]).exists())

    def test_nobody_reads_the_text_over_rpc(self):
        told = self._upload("secret.pdf", pdf("XYLOPHONE"))[1]
        attachments = self.env["ir.attachment"].with_user(self.env.ref("base.user_admin"))
        for name in ("woow_text", "woow_reading", "woow_unsent_by_id"):
            self.assertNotIn(name, attachments.fields_get())
        self.assertNotIn("XYLOPHONE", str(attachments.browse(told["id"]).read()))

    def test_a_file_that_was_sent_is_not_discarded(self):
        first, second = (self._upload(f"{name}.txt", b"a")[1] for name in "ab")
        self.assertEqual(self._send(first["id"])[0], 202)
        self._assert_error(self._call("DELETE", first["url"]), 404, "not_found")
        self.assertEqual(self._call("DELETE", second["url"])[0], 204)
        self.assertFalse(self._file(second["id"]).exists())
        self.assertEqual(self._file(first["id"]).res_id, self.chat.id)

    def test_a_message_that_is_refused_leaves_the_file(self):
        told = self._upload("a.txt", b"a")[1]
        self.assertEqual(self._send(content="First")[0], 202)
        self._assert_error(self._send(told["id"]), 409, "turn_running")
        self.assertEqual(self._call("DELETE", told["url"])[0], 204)

    def test_an_administrator_says_how_much_a_model_reads(self):
        name = f"{limits.PREFIX}file_characters_per_message"
        self.env["ir.config_parameter"].sudo().set_param(name, 270)
        self.env.flush_all()
        told = self._upload("long.pdf", pdf("A" * 60, "B" * 60, "C" * 60))[1]
        self.assertEqual((told["pages"], told["pages_read"]), (3, 2))
        turn = self._send(told["id"])[1]["turn_id"]
        self.env.invalidate_all()
        turn = self.env["woow_paas_platform.ai_turn"].browse(turn)
        said = turn._turn_request().history[-1]["content"]
        self.assertIn("B" * 60, said)
        self.assertNotIn("CC", said)
        self.assertIn("The text from page 3 on is left out", said)

    def test_the_quota_counts_what_is_not_sent(self):
        self.env["ir.config_parameter"].sudo().set_param(f"{limits.PREFIX}max_files_per_person", 2)
        self.env.flush_all()
        for name in "ab":
            self.assertEqual(self._upload(f"{name}.txt", b"a")[0], 201)
        with patch.object(reader, "_said_of") as read:
            self._assert_error(self._upload("c.pdf", pdf("One")), 422, "storage_full")
            read.assert_not_called()

    def test_files_that_are_never_sent_go_after_a_day(self):
        old, new, sent = (self._upload(f"{name}.txt", b"a")[1]["id"] for name in "abc")
        self.assertEqual(self._send(sent)[0], 202)
        long_ago = fields.Datetime.now() - timedelta(hours=25)
        self.env.cr.execute(
            "UPDATE ir_attachment SET create_date = %s WHERE id IN %s", [long_ago, (old, sent)]
        )
        self.env.invalidate_all()
        with patch.object(ir_attachment, "MAX_SWEPT", 1):
            swept = [self.env["ir.attachment"]._gc_woow_unsent() for _ in range(2)]
        self.assertEqual(swept, [(1, True), (0, False)], "Odoo comes back while there may be more")
        self.assertFalse(self._file(old).exists())
        self.assertTrue(self._file(new).exists() and self._file(sent).exists())

    def test_a_picture_is_shown_before_it_is_sent(self):
        told = self._upload("cat.png", PNG)[1]
        self.assertEqual((told["mimetype"], told["pages"], told["characters"]), ("image/png", 0, 0))
        response = self.opener.get(self.base_url() + told["url"])
        self.assertEqual(response.headers["Content-Type"], "image/png")
        self.assertNotIn("attachment", response.headers.get("Content-Disposition", ""))
