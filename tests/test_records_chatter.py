"""Chatter of records through an assistant: messages, files and activities, with the person's rights."""

import base64
import io
import re
from unittest.mock import patch

from odoo.tests import new_test_user, tagged
from PIL import Image
from reportlab.pdfgen import canvas

from ..runtime.records import chatter
from ..services.records import render
from ..services.records.errors import RehearsalDiffers
from .records_data import ALL, PARTNER, RehearsalCase, WritesCase

FILE = {"res_model": "res.partner", "mimetype": "text/plain"}


def said_in(text):
    return base64.b64encode(text.encode())


@tagged("post_install", "-at_install")
class TestRecordsChatter(WritesCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.azure.with_user(cls.internal).message_post(
            body="Please call us", message_type="comment", subtype_xmlid="mail.mt_comment"
        )
        cls.azure.with_user(cls.internal).message_post(
            body="They pay late", message_type="comment", subtype_xmlid="mail.mt_note"
        )
        cls.file = cls.env["ir.attachment"].create(
            {
                **FILE,
                "name": "terms.txt",
                "res_id": cls.azure.id,
                "datas": said_in("Pay in 30 days"),
            }
        )
        cls.other = cls.env["res.partner"].create({"name": "Other"})
        cls.foreign = cls.env["ir.attachment"].create(
            {**FILE, "name": "foreign.txt", "res_id": cls.other.id, "datas": said_in("Foreign")}
        )
        cls.env.flush_all()

    def _chatter(self, person=None, **more):
        return self._read(
            person or self.internal, "read_chatter", id=self.azure.id, **more, **PARTNER
        )

    # ------------------------------------------------------------ read

    def test_what_was_said_on_a_record_is_read(self):
        self.azure.activity_schedule(
            "mail.mail_activity_data_todo", summary="Ring them", user_id=self.internal.id
        )
        said, data = self._chatter()
        self.assertIn("message] Please call us", said)
        self.assertIn("note] They pay late", said)
        self.assertIn(f"File: terms.txt ({self.file.id})", said)
        self.assertIn("Ring them", said)
        self.assertNotIn("foreign", said)
        self.assertEqual(data["rows"][0]["values"]["body"], "They pay late")
        said, _data = self._chatter(limit=1)
        self.assertIn("[1 of ", said)
        self.assertNotIn("Please call us", said)

    def test_older_messages_are_reached_one_page_after_another(self):
        for number in range(5):
            self.azure.message_post(
                body=f"<p>Said {number} {'long ' * 200}</p>", message_type="comment"
            )
        self.env.flush_all()
        whole, _data = self._chatter()
        seen, offset = [], 0
        for limit, cap in ((2, render.CAP), (100, 3_000), (100, render.CAP)):
            with self.subTest(limit=limit, cap=cap), patch.object(render, "CAP", cap):
                said, data = self._chatter(limit=limit, offset=offset)
                seen += [row["id"] for row in data["rows"]]
                self.assertEqual("File: terms.txt" in said, not offset)
                self.assertLessEqual(len(said), cap)
                if more := re.search(r"older ones: offset (\d+)", said):
                    offset = int(more[1])
        self.assertFalse(more)
        ids = self.azure.message_ids.filtered("body").ids
        self.assertEqual(seen, sorted(ids, reverse=True))
        self.assertNotIn("older ones", whole)

    def test_files_and_activities_that_are_left_out_are_counted(self):
        self.patch(chatter, "MAX_TOLD", 1)
        self.file.copy()
        for summary in ("Ring them", "Write to them"):
            self.azure.activity_schedule(
                "mail.mail_activity_data_todo", summary=summary, user_id=self.internal.id
            )
        self.env.flush_all()
        said, _data = self._chatter()
        self.assertIn("[1 of 2 activities]", said)
        self.assertIn("[1 of 2 files]", said)
        self.assertEqual(said.count("File: "), 1)

    def test_notes_are_for_whom_odoo_shows_them(self):
        self.azure.message_subscribe(self.member.partner_id.ids)
        self.member.partner_id.parent_id = self.azure
        self.env.flush_all()
        said, _data = self._chatter(self.member)
        self.assertIn(f"{self.internal.name}, message] Please call us", said)
        self.assertNotIn("They pay late", said)
        self.assertNotIn("terms.txt", said)
        self.assertNotIn(self.internal.email_normalized or "@", said)

    def test_what_may_not_be_read_has_no_chatter(self):
        self.env["ir.rule"].create(
            {
                "name": "Not Azurite",
                "model_id": self.env["ir.model"]._get_id("res.partner"),
                "domain_force": f"[('id', '!=', {self.azure.id})]",
            }
        )
        self.assertIn("no record", self._error(self._chatter))
        said = self._refused(
            self.internal, "read_chatter", id=self.azure.id, file="terms.txt", **PARTNER
        )
        self.assertIn("no record", said)

    def test_noted_changes_of_hidden_fields_are_left_out(self):
        message = self.azure.message_post(body="Seen", message_type="comment")
        fields = self.env["ir.model.fields"]
        for name, new in (("city", "Oslo"), ("ref", "R-9")):
            self.env["mail.tracking.value"].create(
                {
                    "mail_message_id": message.id,
                    "field_id": fields._get("res.partner", name).id,
                    "old_value_char": "Before",
                    "new_value_char": new,
                }
            )
        self.line.hidden_fields = "ref"
        self.env.flush_all()
        said, _data = self._chatter()
        self.assertIn("City: Before → Oslo", said)
        self.assertNotIn("R-9", said)

    def test_noted_changes_tell_no_hidden_names(self):
        message = self.azure.message_post(body="Seen", message_type="comment")
        self.env["mail.tracking.value"].create(
            {
                "mail_message_id": message.id,
                "field_id": self.env["ir.model.fields"]._get("res.partner", "parent_id").id,
                "old_value_char": "Old Holding",
                "new_value_char": "New Holding",
            }
        )
        self.env.flush_all()
        self.line.hidden_fields = "ref"
        self.env.flush_all()
        self.assertIn("Old Holding → New Holding", self._chatter()[0])
        self.line.hidden_fields = "name"
        self.env.flush_all()
        said, _data = self._chatter()
        self.assertIn("Seen", said)
        self.assertNotIn("Holding", said)

    def test_the_text_of_a_file_is_read(self):
        for wanted in ("terms.txt", str(self.file.id), f"terms.txt ({self.file.id})", "terms"):
            said, _data = self._read(
                self.internal, "read_chatter", id=self.azure.id, file=wanted, **PARTNER
            )
            self.assertIn("Pay in 30 days", said)
        for wanted in ("foreign.txt", str(self.foreign.id)):
            said = self._refused(
                self.internal, "read_chatter", id=self.azure.id, file=wanted, **PARTNER
            )
            self.assertIn("terms.txt", said)
        self.file.raw = b"\x89PNG\r\n\x1a\n" + bytes(50)
        self.env.flush_all()
        self._refused(self.internal, "read_chatter", id=self.azure.id, file="terms", **PARTNER)

    def test_the_text_of_a_pdf_is_read(self):
        content = io.BytesIO()
        page = canvas.Canvas(content)
        page.drawString(50, 700, "Pay within 45 days")
        page.save()
        self.env["ir.attachment"].create(
            {
                "name": "contract.pdf",
                "raw": content.getvalue(),
                "res_model": "res.partner",
                "res_id": self.azure.id,
            }
        )
        self.env.flush_all()
        self.assertIn("contract.pdf", self._chatter()[0])
        said, _data = self._chatter(file="contract.pdf")
        self.assertIn("Pay within 45 days", said)

    def test_a_report_of_odoo_is_not_read_where_fields_are_hidden(self):
        """It may show them, and so may what Odoo itself writes, or what is sent with a report."""
        for name, creator in (("report.pdf", "wkhtmltopdf 0.12.6"), ("contract.pdf", "Word")):
            content = io.BytesIO()
            page = canvas.Canvas(content)
            page.setCreator(creator)
            page.drawString(50, 700, "Ref R-9")
            page.save()
            report = self.azure.message_post(
                body=f"Sent {name}",
                message_type="comment",
                attachments=[(name, content.getvalue())],
            ).attachment_ids
            self.assertEqual(report.res_id, self.azure.id)
        self.azure.message_post(body="Odoo says R-9")
        self.azure.activity_schedule("mail.mail_activity_data_todo", user_id=self.internal.id)
        self.azure.activity_ids.action_feedback(feedback="Spoke with them")
        self.env.flush_all()
        said, _data = self._chatter()
        for one in ("Odoo says R-9", "Sent report.pdf", "Sent contract.pdf", "Spoke with them"):
            self.assertIn(one, said)
        for name in ("report.pdf", "contract.pdf"):
            self.assertIn("R-9", self._chatter(file=name)[0])
        self.line.hidden_fields = "ref"
        self.env.flush_all()
        said, _data = self._chatter()
        for one in ("Sent contract.pdf", "Spoke with them"):
            self.assertIn(one, said)
        self.assertNotIn("R-9", said)
        self.assertNotIn("Sent report.pdf", said)
        self.assertIn("not told", said)
        self.assertIn("R-9", self._chatter(file="contract.pdf")[0])
        self.assertIn("report of Odoo", self._error(self._chatter, file="report.pdf"))

    # ------------------------------------------------------------ messages

    def test_a_message_reaches_who_is_named(self):
        lena = self.env["res.partner"].create({"name": "Lena Lund", "email": "lena@example.com"})
        self.env.flush_all()
        self._write(
            "post_message", id=self.azure.id, body="Hi **you**", to=["lena@example.com"], **PARTNER
        )
        message = self.azure.message_ids[:1]
        self.assertEqual(message.partner_ids, lena)
        self.assertIn("<strong>you</strong>", message.body)
        self.assertNotIn(lena, self.azure.message_partner_ids)
        said = self._refuses(
            "post_message", id=self.azure.id, body="Hi", to=["Nobody At All"], **PARTNER
        )
        self.assertIn("There is no res.partner", said)
        said = self._refuses("post_message", id=self.azure.id, body="Hi", to=["Other"], **PARTNER)
        self.assertIn("no email address", said)

    def test_a_file_of_the_conversation_is_attached(self):
        turn = self._turn(self.internal)
        self.env["ir.attachment"].with_user(self.internal).sudo().create(
            {
                "name": "offer.txt",
                "res_model": "discuss.channel",
                "res_id": turn.channel_id.id,
                "datas": said_in("Our offer"),
            }
        )
        self._write("post_message", id=self.azure.id, body="", files=["offer.txt"], **PARTNER)
        attached = self.azure.message_ids[:1].attachment_ids
        self.assertEqual((attached.name, attached.raw), ("offer.txt", b"Our offer"))
        self.assertEqual((attached.res_model, attached.res_id), ("res.partner", self.azure.id))
        self.assertIn("offer.txt", self._chatter()[0])
        said = self._refuses(
            "post_message", id=self.azure.id, body="", files=["foreign.txt"], **PARTNER
        )
        self.assertIn("offer.txt", said)
        self.assertIn(
            "body or files", self._refuses("post_message", id=self.azure.id, body="", **PARTNER)
        )

    # ------------------------------------------------------------ activities

    def _activity(self, summary):
        return self.azure.activity_schedule(
            "mail.mail_activity_data_todo", summary=summary, user_id=self.internal.id
        )

    def _change_activity(self, do, **more):
        return self._write("change_activity", id=self.azure.id, do=do, **more, **PARTNER)

    def test_activities_are_done_moved_and_cancelled(self):
        call, visit = self._activity("Call"), self._activity("Visit")
        self.env.flush_all()
        said = self._refuses("change_activity", id=self.azure.id, do="done", **PARTNER)
        self.assertIn(f"({visit.id})", said)
        self._change_activity("move", activity="Call", date="2030-05-01", user="ai_admin")
        self.assertEqual((str(call.date_deadline), call.user_id), ("2030-05-01", self.admin))
        self._change_activity("done", activity=str(call.id), note="They agreed")
        self.assertFalse(call.exists().active)
        self.assertIn("They agreed", self.azure.message_ids[:1].body)
        result = self._change_activity("cancel")
        self.assertFalse(visit.exists())
        self.assertIn("Visit", result.text)
        self._refuses("change_activity", id=self.azure.id, do="done", **PARTNER)

    def test_somebody_elses_record_keeps_its_activities(self):
        activity = self._activity("Call")
        stranger = new_test_user(self.env, "chatter_stranger", groups="base.group_portal")
        self.env.flush_all()
        said = self._refuses(
            "change_activity", person=stranger, id=self.azure.id, do="cancel", **PARTNER
        )
        self.assertTrue(said and activity.exists())


@tagged("post_install", "-at_install")
class TestRecordsChatterRehearsed(RehearsalCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.internal.group_ids += cls.env.ref("base.group_partner_manager")
        cls.line.write(dict.fromkeys(ALL, True))
        cls.azure = cls.env["res.partner"].create({"name": "Azurite Interior"})
        cls.lena = cls.env["res.partner"].create({"name": "Lena", "email": "lena@example.com"})
        cls.env.flush_all()

    def test_the_question_tells_who_gets_a_message(self):
        shown = self._rehearse("post_message", id=self.azure.id, body="Hi", to=["Lena"])
        (message,) = shown["messages"]
        self.assertIn("Lena", str(message["recipients"]))
        self.assertFalse(self.lena in self.azure.message_ids.partner_ids)
        self._allow()
        self.assertIn(self.lena, self.azure.message_ids.partner_ids)

    def test_the_question_tells_which_files_are_attached(self):
        self._file_of_conversation("offer.txt", b"Our offer")
        shown = self._rehearse("post_message", id=self.azure.id, body="", files=["offer.txt"])
        self.assertEqual([one["files"] for one in shown["messages"]], [["offer.txt"]])
        self._allow()
        self.assertEqual(self.azure.message_ids[:1].attachment_ids.name, "offer.txt")

    # ------------------------------------------------------------ pictures

    def _file_of_conversation(self, name, content):
        channel = self._turn(self.internal).channel_id
        return (
            self.env["ir.attachment"]
            .with_user(self.internal)
            .sudo()
            .create(
                {
                    "name": name,
                    "raw": content,
                    "res_model": channel._name,
                    "res_id": channel.id,
                }
            )
        )

    def _picture(self, color, size=8):
        content = io.BytesIO()
        Image.new("RGB", (size, size), color).save(content, "PNG")
        return content.getvalue()

    def _pixel(self):
        picture = Image.open(io.BytesIO(base64.b64decode(self.azure.image_1920)))
        return picture.convert("RGB").getpixel((0, 0))

    def test_a_picture_that_was_attached_becomes_the_contacts(self):
        self._file_of_conversation("logo.png", self._picture("red"))
        said, _data = self._read(self.internal, "describe_model", query="image", **PARTNER)
        self.assertIn("image_1920+: binary, the name of a file of this conversation", said)
        self.assertNotIn("image_128", said)
        shown = self._rehearse(
            "update_records", ids=self.azure.ids, values={"image_1920": "logo.png", "city": "Oslo"}
        )
        (change,) = shown["changes"]
        told = self._field(change, "image_1920")
        self.assertEqual((told["type"], told["old"]), ("binary", None))
        self.assertIn("image/png", told["new"])
        self.assertFalse([one for one in shown["others"] if one["model"] == "ir.attachment"])
        self.assertFalse(self.azure.image_1920)
        self.assertEqual(self._allow().outcome, "ok")
        self.assertEqual((self._pixel(), self.azure.city), ((255, 0, 0), "Oslo"))
        self.assertTrue(self.azure.image_128)
        self._file_of_conversation("new.png", self._picture("blue", 16))
        shown = self._rehearse(
            "update_records", ids=self.azure.ids, values={"image_1920": "new.png"}
        )
        (change,) = shown["changes"]
        told = self._field(change, "image_1920")
        self.assertIn("image/png", told["old"])
        self.assertEqual(self._pixel(), (255, 0, 0))
        self._allow()
        self.assertEqual(self._pixel(), (0, 0, 255))

    def test_another_picture_of_the_same_name_is_shown_again(self):
        file = self._file_of_conversation("logo.png", self._picture("red"))
        self._rehearse("update_records", ids=self.azure.ids, values={"image_1920": "logo.png"})
        file.raw = self._picture("blue")
        self.env.flush_all()
        with self.assertRaises(RehearsalDiffers):
            self._allow()

    def test_what_is_no_picture_of_the_conversation_is_refused(self):
        self._file_of_conversation("notes.txt", b"No picture")
        self._file_of_conversation("logo.png", self._picture("red"))
        self.env["ir.attachment"].create({"name": "foreign.png", "raw": self._picture("red")})
        self.env.flush_all()

        def refused(**values):
            call, _verdict = self._begin(
                self.internal,
                "update_records",
                {"ids": self.azure.ids, "values": values, **PARTNER},
            )
            return self._error(self.store.rehearse_call, self.claims[self.internal], call.id)

        self.assertIn("no picture", refused(image_1920="notes.txt"))
        self.assertIn("logo.png", refused(image_1920="foreign.png"))
        self.assertIn("takes the name", refused(image_1920=False))
        self.assertIn("takes the name", refused(image_1920={"id": 1}))
        self.assertIn("no field", refused(image_128="logo.png"))
        self.line.hidden_fields = "image_1920"
        self.env.flush_all()
        self.assertIn("no field", refused(image_1920="logo.png"))

    def test_a_new_contact_has_its_picture_at_once(self):
        self._file_of_conversation("logo.png", self._picture("red"))
        shown = self._rehearse("create_record", values={"name": "Lux", "image_1920": "logo.png"})
        (created,) = (one for one in shown["created"] if one["model"] == "res.partner")
        self.assertIn("image/png", self._field(created, "image_1920")["new"])
        self._allow()
        made = self.env["res.partner"].search([("name", "=", "Lux")])
        self.assertTrue(made.image_1920)

    # ------------------------------------------------------------ other changes

    def test_an_activity_is_done_as_it_was_shown(self):
        activity = self.azure.activity_schedule(
            "mail.mail_activity_data_todo", summary="Call", user_id=self.internal.id
        )
        self.env.flush_all()
        self._rehearse("change_activity", id=self.azure.id, do="done", note="Yes")
        self.assertTrue(activity.active)
        self.assertEqual(self._allow().outcome, "ok")
        self.assertFalse(activity.exists().active)

    def test_an_activity_is_moved_and_cancelled_as_it_was_shown(self):
        activity = self.azure.activity_schedule(
            "mail.mail_activity_data_todo", summary="Call", user_id=self.internal.id
        )
        self.env.flush_all()
        shown = self._rehearse("change_activity", id=self.azure.id, do="move", date="2030-05-01")
        change = next(one for one in shown["changes"] if one["model"] == "mail.activity")
        self.assertEqual(self._field(change, "date_deadline")["new"], "2030-05-01")
        self.assertEqual(self._allow().outcome, "ok")
        self.assertEqual(str(activity.date_deadline), "2030-05-01")
        shown = self._rehearse("change_activity", id=self.azure.id, do="cancel")
        self.assertEqual([one["model"] for one in shown["deleted"]], ["mail.activity"])
        self._allow()
        self.assertFalse(activity.exists())

    def test_what_was_there_before_is_written_back_as_it_was_shown(self):
        self.azure.city = "Fremont"
        self.env.flush_all()
        self._rehearse("update_records", ids=self.azure.ids, values={"city": "Oslo"})
        (before,) = self._allow().display["records"]["before"]
        self.assertEqual(self.azure.city, "Oslo")
        shown = self._rehearse("update_records", ids=[before["id"]], values=before["values"])
        told = self._field(shown["changes"][0], "city")
        self.assertEqual((told["old"], told["new"]), ("Oslo", "Fremont"))
        self._allow()
        self.assertEqual(self.azure.city, "Fremont")

    def test_five_hundred_are_shown_and_counted_before_they_change(self):
        rows = self.env["res.partner"].create(
            [{"name": f"Row {n}", "ref": "bulk"} for n in range(500)]
        )
        self.env.flush_all()
        bulk = [{"field": "ref", "operator": "=", "value": "bulk"}]
        shown = self._rehearse("update_records", filters=bulk, count=500, values={"city": "Oslo"})
        others = [one for one in shown["others"] if one["model"] == "res.partner"]
        self.assertEqual([one["kind"] for one in others], ["changed"])
        self.assertEqual(len(shown["changes"]) + others[0]["count"], 500)
        self.assertEqual(set(rows.mapped("city")), {False})
        self._allow()
        self.assertEqual(set(rows.mapped("city")), {"Oslo"})

    def test_lists_and_texts_are_shown_before_they_change(self):
        tags = self.env["res.partner.category"].create([{"name": "One"}, {"name": "Two"}])
        self.azure.category_id = tags[0]
        self.env.flush_all()
        shown = self._rehearse(
            "update_records",
            filters=[{"field": "name", "operator": "=", "value": "Azurite Interior"}],
            values={"category_id": {"add": ["Two"]}, "comment": {"append": "- **late**"}},
        )
        (change,) = shown["changes"]
        told = self._field(change, "category_id")
        self.assertEqual((told["old"], told["new"]), ("One", "One, Two"))
        self._allow()
        self.assertEqual(self.azure.category_id, tags)
        self.assertIn("<strong>late</strong>", self.azure.comment)
