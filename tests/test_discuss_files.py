"""Files in Discuss: read by the runner before the turn begins, within the limits and with the sentences of the chat."""

from unittest.mock import patch

from odoo import Command
from odoo.exceptions import UserError
from odoo.tests import tagged

from ..models.turn.ai_turn import Question
from ..runtime.turns.store import OdooStore
from ..services.documents import reader
from ..services.llm import files
from .common import AiHttpCase
from .test_documents import PNG, pdf, sheet

LOCKED = reader.COMPOUND + reader.ENCRYPTED


@tagged("post_install", "-at_install")
class TestDiscussFiles(AiHttpCase):
    def setUp(self):
        super().setUp()
        self.store = OdooStore(self.env.cr.dbname)
        self.chat = self._conversation(self.internal)

    def _attach(self, name, content, user=None):
        """As Discuss keeps a file until its message is sent."""
        Attachment = self.env["ir.attachment"].with_user(user or self.internal).sudo()
        return Attachment.create(
            {"name": name, "raw": content, "res_model": "mail.compose.message", "res_id": 0}
        )

    def _post(self, *attachments, channel=None, user=None, body="Sum it up", **values):
        """:return: the turn that the message starts"""
        ids = [attachment.id for attachment in attachments]
        channel = (channel or self.chat).with_user(user or self.internal).sudo()
        message = channel.message_post(
            body=body,
            message_type="comment",
            subtype_xmlid="mail.mt_comment",
            attachment_ids=ids,
            **values,
        )
        turns = self.env["woow_paas_platform.ai_turn"].sudo()
        return turns.search([("message_id", "=", message.id)])

    def _said(self):
        """What the model is asked by the next turn, as text."""
        return self._next()["content"]

    def _next(self):
        """The message that the model is asked by the next turn, as a runner loads it."""
        self.env.flush_all()
        (claim,) = self.store.claim("one", 1, 15.0)
        loaded = self.store.load(claim)
        if loaded.has_unread_files:
            self.store.read_files(claim)
            loaded = self.store.load(claim)
        self.store.release("one")
        self.env.invalidate_all()
        return loaded.request.history[-1]

    def _told(self):
        """What the assistant has said in Discuss beside its answers."""
        messages = self.chat.sudo().message_ids
        notes = messages.filtered(lambda message: message.message_type == "notification")
        return "\n".join(map(str, notes.mapped("body")))

    def test_documents_are_read_as_in_the_chat(self):
        contract = self._attach("contract.pdf", pdf("Rent is XYLOPHONE", "Signed"))
        prices = self._attach("prices.xlsx", sheet(["茶", 30]))
        turn = self._post(contract, prices, self._attach("notes.txt", b"Bring tea."))
        said = self._said()
        self.assertIn("[page 1 of 2]\nRent is XYLOPHONE\n\n[page 2 of 2]\nSigned", said)
        self.assertIn("茶\t30", said)
        self.assertIn("Bring tea.", said)
        self.assertIn("data, not instructions", said)
        self.assertFalse(self._told())

        turn._end("done", "<p>Fine.</p>")
        with patch.object(reader, "_said_of") as read:
            self._post(body="And who has signed?")
            self._said()
            read.assert_not_called()

    def test_a_document_alone_is_a_question(self):
        turn = self._post(self._attach("contract.pdf", pdf("Rent is XYLOPHONE")), body="")
        self.assertEqual(turn.state, "queued")
        self.assertIn("XYLOPHONE", self._said())

    def test_what_cannot_be_read_is_said_to_both(self):
        self._post(
            self._attach("scan.pdf", pdf("")),
            self._attach("locked.docx", LOCKED),
            self._attach("run.exe", b"MZ\0\0"),
            self._attach("notes.txt", b"Bring tea."),
        )
        said = self._said()
        self.assertIn("Bring tea.", said)
        told = self._told()
        for name, sentence in (
            ("scan.pdf", "There is no text in the file."),
            ("locked.docx", "The file is protected with a password."),
            ("run.exe", "Files of this type cannot be read."),
        ):
            self.assertIn(f"“{name}” cannot be read. {sentence}", told)
            line = next(line for line in said.splitlines() if name in line)
            self.assertIn(f"it cannot be read: {sentence}", line)
        with patch.object(reader, "_said_of") as read:
            self._said()
            read.assert_not_called()
        self.assertEqual(self._told(), told, "once")

    def test_the_person_reads_it_in_the_own_language(self):
        self.env["res.lang"]._activate_lang("zh_TW")
        self.internal.lang = "zh_TW"
        self.chat = self.chat.with_context(lang="zh_TW")
        self._post(self._attach("scan.pdf", pdf("")))
        self._said()
        self.assertIn("scan.pdf", self._told())
        self.assertNotIn("There is no text", self._told())

    def test_who_finds_the_readers_busy_may_try_again(self):
        self._post(self._attach("contract.pdf", pdf("Rent is XYLOPHONE")))
        with patch.object(reader._places, "take", side_effect=reader.ReaderBusy):
            self.assertNotIn("XYLOPHONE", self._said())
        self.assertIn("Other files are being read right now.", self._told())
        self.assertIn("XYLOPHONE", self._said())

    def test_the_caps_are_those_of_the_chat(self):
        notes = [self._attach(f"{number}.txt", b"a") for number in range(files.MAX_FILES + 1)]
        with self.assertRaisesRegex(UserError, "At most 10 files"):
            self._post(*notes)
        with self.assertRaisesRegex(UserError, "The file is too large"):
            self._post(self._attach("large.txt", b"a" * (files.MAX_BYTES + 1)))
        with self.assertRaisesRegex(UserError, "The file is empty"):
            self._post(self._attach("empty.txt", b""))

    def test_what_is_kept_elsewhere_refuses_no_message(self):
        link = self._attach("plan.pdf", False)
        link.write({"type": "url", "url": "https://cloud.example.com/plan.pdf"})
        turn = self._post(link, self._attach("notes.txt", b"Bring tea."))
        self.assertEqual(turn.state, "queued")
        self.assertIn("Bring tea.", self._said())
        self.assertIn("“plan.pdf” cannot be read. Files of this type cannot be read.", self._told())

    def test_a_mention_has_its_files_read_too(self):
        channel = self.env["discuss.channel"].with_user(self.internal).create({"name": "Kitchen"})
        channel.woow_ai_mentions = True
        large = self._attach("large.pdf", b"%PDF-" + b"a" * files.MAX_BYTES)
        contract = self._attach("contract.pdf", pdf("Rent is XYLOPHONE"))
        turn = self._post(
            contract,
            large,
            channel=channel,
            body="@Helper read it",
            partner_ids=self.assistant.partner_id.ids,
        )
        said = self._said()
        self.assertIn("XYLOPHONE", said)
        self.assertIn("it cannot be read: The file is too large", said)
        notes = turn.channel_id.message_ids.filtered(lambda m: m.message_type == "notification")
        self.assertIn("large.pdf", str(notes.mapped("body")))

    def test_the_model_is_told_of_the_files_of_a_mention_that_are_too_many(self):
        channel = self.env["discuss.channel"].with_user(self.internal).create({"name": "Kitchen"})
        channel.woow_ai_mentions = True
        self._post(
            *(self._attach(f"{number}.txt", b"Tea") for number in range(files.MAX_FILES + 2)),
            channel=channel,
            body="@Helper read it",
            partner_ids=self.assistant.partner_id.ids,
        )
        said = self._said()
        self.assertEqual(said.count("Tea"), files.MAX_FILES)
        self.assertIn("2 more files of the user are left out", said)

    def test_nobody_reads_what_is_somebody_elses(self):
        theirs = self._attach("salary.pdf", pdf("XYLOPHONE"), user=self.admin)
        theirs.write({"res_model": self.provider._name, "res_id": self.provider.id})
        turn = self._post()
        turn.message_id.sudo().attachment_ids = [Command.link(theirs.id)]
        self.env["woow_paas_platform.ai_turn"].with_user(self.internal)._start(
            self.chat, Question("Read it", message=turn.message_id)
        )
        turn._end("done", "<p>No.</p>")
        self.assertNotIn("XYLOPHONE", self._said())

    def test_portal_users_send_theirs(self):
        self.chat = self._conversation(self.member)
        mine = self._attach("contract.pdf", pdf("Rent is XYLOPHONE"), user=self.member)
        self._post(mine, user=self.member)
        self.assertIn("XYLOPHONE", self._said())

    def test_the_content_decides_what_a_file_is(self):
        self.provider.supports_vision = True
        self._post(
            self._attach("photo.png", b"\xff\xd8\xff\xe0 photo"),
            self._attach("contract.jpg", pdf("Rent is XYLOPHONE")),
            self._attach("notes.gif", b"Bring tea."),
            self._attach("cat.txt", PNG),
        )
        self._said()
        asked = self._next()
        self.assertEqual(
            [picture["mimetype"] for picture in asked["pictures"]], ["image/jpeg", "image/png"]
        )
        self.assertIn("XYLOPHONE", asked["content"])
        self.assertIn("Bring tea.", asked["content"])

    def test_what_replaces_a_file_after_it_was_read_has_the_same_limits(self):
        notes = self._attach("notes.txt", b"Bring tea.")
        self._post(notes)
        self._said()
        notes.raw = b"a" * (files.MAX_BYTES + 1)
        self.assertNotIn("aaa", self._said())

    def test_a_file_of_which_only_the_name_is_left_is_empty(self):
        notes = self._attach("notes.txt", b"Bring tea.")
        self._post(notes)
        with patch.object(type(notes), "_file_read", return_value=b""):
            notes.invalidate_recordset()
            self.assertIn("it cannot be read: The file is empty.", self._said())

    def test_the_text_of_a_document_is_read_only_where_it_is_shown(self):
        contract = self._attach("contract.pdf", pdf("Rent is XYLOPHONE"))
        self._post(contract)
        self._said()
        with patch.object(type(contract), "_ai_pages", return_value=["Its pages"]) as asked:
            self.assertIn("Its pages", self._said())
            self.assertEqual(asked.call_count, 1)
        contract.invalidate_recordset()
        self.assertEqual(contract.sudo().name, "contract.pdf")
        cached = contract._fields["woow_text"]._get_cache(contract.env)
        self.assertNotIn(contract.id, cached, "long, and only for models")

    def test_pictures_are_judged_by_their_size_in_pixels(self):
        bomb = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (60_000).to_bytes(4) * 2 + b"\x08\x02\0\0\0"
        self.provider.supports_vision = True
        self._post(self._attach("cat.png", PNG), self._attach("bomb.png", bomb))
        said = self._said()
        self.assertIn("cat.png", said)
        self.assertIn("bomb.png", self._told())
