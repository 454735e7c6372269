"""Values that are written: lists that are added to, lines, texts that keep what is there, and which records."""

from odoo.tests import tagged

from .records_data import PARTNER, WritesCase


@tagged("post_install", "-at_install")
class TestRecordsValues(WritesCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.assistant.record_access_ids.write({"can_create": True, "can_update": True})
        cls.retail = cls.env["res.partner.category"].create({"name": "Retail"})
        cls.azure.category_id = cls.tag
        cls.lena, cls.omar = cls.env["res.partner"].create(
            [
                {"name": "Lena", "parent_id": cls.azure.id, "function": "Buyer"},
                {"name": "Omar", "parent_id": cls.azure.id},
            ]
        )
        cls.env.flush_all()

    def _update(self, **values):
        return self._write("update_records", ids=[self.azure.id], values=values, **PARTNER)

    def _not_updated(self, **values):
        return self._refuses("update_records", ids=[self.azure.id], values=values, **PARTNER)

    # ------------------------------------------------------------ many to many

    def test_what_is_added_stands_beside_what_is_there(self):
        result = self._update(category_id={"add": ["Retail"]})
        self.assertEqual(self.azure.category_id, self.tag | self.retail)
        self.assertIn(f"category_id “Wholesale ({self.tag.id})”", result.text)
        self._update(category_id={"remove": [self.tag.id]})
        self.assertEqual(self.azure.category_id, self.retail)
        self._update(category_id={"add": [self.tag.id], "remove": ["Retail"]})
        self.assertEqual(self.azure.category_id, self.tag)
        self._update(category_id={"set": ["Retail"]})
        self.assertEqual(self.azure.category_id, self.retail)
        self._update(category_id={"set": []})
        self.assertFalse(self.azure.category_id)

    def test_a_bare_list_replaces_nothing_that_is_there(self):
        for value in (
            ["Retail"],
            [],
            None,
            [[4, self.retail.id]],
            {"append": ["Retail"]},
            "Retail",
        ):
            with self.subTest(value=value):
                self.assertIn('{"add": […]}', self._not_updated(category_id=value))
        self.assertIn("nothing is added", self._not_updated(category_id={"add": []}))
        self.assertIn("does not hold", self._not_updated(category_id={"remove": ["Retail"]}))
        self.assertEqual(self.azure.category_id, self.tag)

    def test_a_new_record_takes_a_list(self):
        for value in (["Retail"], {"add": ["Retail"]}, {"set": ["Retail"]}):
            result = self._write(
                "create_record", values={"name": "N", "category_id": value}, **PARTNER
            )
            record = self.env["res.partner"].browse(result.display["records"]["rows"][0]["id"])
            self.assertEqual(record.category_id, self.retail)
        nothing = {"name": "N", "category_id": {"remove": ["Retail"]}}
        self.assertIn("hold", self._refuses("create_record", values=nothing, **PARTNER))

    # ------------------------------------------------------------ lines

    def test_a_line_with_an_id_is_changed_and_one_without_is_added(self):
        result = self._update(
            child_ids=[{"id": self.lena.id, "function": "Head"}, {"name": "Nora"}]
        )
        self.assertEqual(self.lena.function, "Head")
        self.assertEqual(self.azure.child_ids.mapped("name"), ["Lena", "Nora", "Omar"])
        self.assertIn(f"res.partner {self.lena.id}: function “Buyer”", result.text)
        self._update(child_ids={"remove": [self.lena.id]})
        self.assertEqual(self.azure.child_ids.mapped("name"), ["Nora", "Omar"])
        self.assertTrue(self.lena.exists(), "a contact is no part of its company")

    def test_lines_are_neither_doubled_nor_passed_over(self):
        other = self.env["res.partner"].create({"name": "Somebody"})
        before = self.azure.child_ids
        self.assertIn("changes nothing", self._not_updated(child_ids=[]))
        self.assertIn("changes nothing", self._not_updated(child_ids={"remove": []}))
        self.assertIn("has no line", self._not_updated(child_ids=[{"id": other.id, "name": "x"}]))
        self.assertIn("has no line", self._not_updated(child_ids={"remove": [other.id]}))
        self.assertIn("1 to 100", self._not_updated(child_ids=[{"id": self.lena.id}]))
        self.assertIn("takes objects", self._not_updated(child_ids=[[0, 0, {"name": "x"}]]))
        self._not_updated(child_ids=[{"name": "x", "parent_id": 1}])
        said = self._refuses(
            "update_records",
            ids=[self.azure.id, other.id],
            values={"child_ids": [{"id": self.lena.id, "name": "x"}]},
            **PARTNER,
        )
        self.assertIn("of one record", said)
        said = self._refuses(
            "create_record", values={"name": "N", "child_ids": [{"id": 1, "name": "x"}]}, **PARTNER
        )
        self.assertIn("of one record", said)
        self.assertEqual(self.azure.child_ids, before)

    def test_a_line_needs_what_its_own_model_allows(self):
        self.line.can_create = False
        self.assertIn("may not create", self._not_updated(child_ids=[{"name": "New"}]))
        self._update(child_ids=[{"id": self.lena.id, "function": "Head"}])
        self.assertEqual(self.lena.function, "Head")

    # ------------------------------------------------------------ texts

    def test_rich_text_is_written_and_read_as_markdown(self):
        said = "## Plan\n\n- **Monday**\n- [site](https://azure.example)\n\nOne\ntwo"
        self._update(comment=said)
        self.assertIn("<li><strong>Monday</strong></li>", self.azure.comment)
        read, _data = self._read(
            self.internal, "read_records", ids=[self.azure.id], fields=["comment"], **PARTNER
        )
        self.assertIn(said, read)

    def test_what_is_appended_leaves_what_is_there(self):
        picture = '<p>Look: <img src="/web/image/1" alt="door"></p>'
        self.azure.comment = picture
        self._update(comment={"append": "And *this*"})
        self.assertIn("<img", self.azure.comment)
        self.assertIn("<em>this</em>", self.azure.comment)

    def test_a_new_text_loses_no_picture_unawares(self):
        self.azure.comment = '<p>Look: <img src="/web/image/1"></p><p style="color: red">Red</p>'
        said = self._not_updated(comment="New")
        self.assertIn("pictures and formatting", said)
        self.assertIn("<img", self.azure.comment)
        result = self._update(comment={"set": "New"})
        self.assertEqual(self.azure.comment, "<p>New</p>")
        self.assertIn("[picture]", result.text)
        self._update(comment="Newer")
        self.assertEqual(self.azure.comment, "<p>Newer</p>")

    def test_what_was_replaced_can_be_written_back(self):
        self.azure.comment = "<p>A <strong>b</strong></p>"
        done = self._update(
            city="Oslo",
            comment="New",
            category_id={"set": ["Retail"]},
            child_ids={"remove": [self.lena.id]},
        )
        (before,) = done.display["records"]["before"]
        self.assertEqual(before["id"], self.azure.id)
        values = before["values"]
        self.assertEqual(
            [one["id"] for one in values.pop("child_ids")], (self.lena | self.omar).ids
        )
        self._update(**{**values, "category_id": {"set": values["category_id"]}})
        self.assertEqual((self.azure.city, self.azure.category_id), ("Fremont", self.tag))
        self.assertEqual(self.azure.comment, "<p>A <strong>b</strong></p>")

    # ------------------------------------------------------------ which records

    def _by(self, *filters, tool="update_records", **more):
        return {"filters": [{"field": f, "operator": o, "value": v} for f, o, v in filters], **more}

    def test_found_and_changed_in_one_call(self):
        only = self._by(("name", "=", "Azurite Interior"), values={"city": "Oslo"})
        result = self._write("update_records", **only, **PARTNER)
        self.assertEqual(self.azure.city, "Oslo")
        self.assertIn("city “Fremont”", result.text)
        self.assertEqual(
            result.display["records"]["before"],
            [{"model": "res.partner", "id": self.azure.id, "values": {"city": "Fremont"}}],
        )
        archive = self._by(("name", "=", "Azurite Interior"))
        self._write("archive_records", **archive, **PARTNER)
        self.assertFalse(self.azure.active)
        self._write("archive_records", restore=True, **archive, **PARTNER)
        self.assertTrue(self.azure.active)

    def test_filters_that_match_others_change_nothing_and_tell_which(self):
        family = self._by(("parent_id", "=", self.azure.id), values={"city": "Oslo"})
        said = self._refuses("update_records", **family, **PARTNER)
        self.assertIn(f"Lena ({self.lena.id})", said)
        self.assertIn(f"Omar ({self.omar.id})", said)
        self.assertFalse(self.lena.city == "Oslo")
        self._refuses("update_records", count=3, **family, **PARTNER)
        self._write("update_records", count=2, **family, **PARTNER)
        self.assertEqual((self.lena | self.omar).mapped("city"), ["Oslo", "Oslo"])
        nobody = self._by(("name", "=", "Nobody At All"), values={"city": "Oslo"})
        self.assertIn("match no records", self._refuses("update_records", **nobody, **PARTNER))
        both = {**family, "ids": [self.lena.id]}
        self.assertIn("not by both", self._refuses("update_records", **both, **PARTNER))
        self.assertIn("ids", self._refuses("update_records", values={"city": "x"}, **PARTNER))

    def test_a_record_is_changed_by_its_name_if_it_alone_has_it(self):
        by_name = {"ids": ["azurite interior"], "values": {"city": "Oslo"}}
        self._write("update_records", **by_name, **PARTNER)
        self.assertEqual(self.azure.city, "Oslo")
        in_part = {**by_name, "ids": ["Azurite"]}
        self.assertIn("Azurite Interior", self._refuses("update_records", **in_part, **PARTNER))
        self.azure.copy({"name": "Azurite Interior", "email": False})
        self.env.flush_all()
        said = self._refuses("update_records", **by_name, **PARTNER)
        self.assertIn(f"Azurite Interior ({self.azure.id})", said)
        note = {"id": "Azurite Interior", "body": "Hello", "is_note": True}
        self.assertIn("several", self._refuses("post_message", **note, **PARTNER))

    def test_many_are_changed_by_their_filters(self):
        self.env["res.partner"].create([{"name": f"Row {n}", "ref": "bulk"} for n in range(501)])
        bulk = self._by(("ref", "=", "bulk"), values={"city": "Oslo"})
        said = self._refuses("update_records", count=501, **bulk, **PARTNER)
        self.assertIn("more than 500", said)
        self.env["res.partner"].search([("ref", "=", "bulk")], limit=1).ref = False
        self._write("update_records", count=500, **bulk, **PARTNER)
        self.assertEqual(
            self.env["res.partner"].search_count([("ref", "=", "bulk"), ("city", "=", "Oslo")]), 500
        )

    def test_a_sentence_says_how_many_records_it_leaves_out(self):
        many = self.env["res.partner"].create([{"name": f"Many {n:02}"} for n in range(22)])
        self.env.flush_all()
        said = self._write("update_records", **PARTNER, ids=many.ids, values={"city": "Oslo"}).text
        done, before = said.split("\nBefore: ")
        self.assertIn("Many 19", done)
        self.assertNotIn("Many 20", done)
        self.assertTrue(done.endswith("and 2 more."), done)
        self.assertTrue(before.endswith("; and 2 more."), before)
