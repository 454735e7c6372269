"""What a person reads by an assistant is what that person may read."""

from unittest.mock import patch

from odoo import Command
from odoo.tests import new_test_user, tagged

from ..models.turn.ai_turn import Question
from .records_data import PartnersCase


@tagged("post_install", "-at_install")
class TestRecordsRights(PartnersCase):
    def test_rules_hold_in_every_way_to_read(self):
        everything = {"model": "res.partner", "limit": 200}
        hidden = [["name", "=", "Secret Partner"]]
        self.assertEqual(self._names(self.internal, domain=hidden, **everything), [])
        refused = self._refused(
            self.internal, "read_records", model="res.partner", ids=[self.secret.id]
        )
        unknown = self._refused(self.internal, "read_records", model="res.partner", ids=[10**8])
        self.assertEqual(
            refused.replace(str(self.secret.id), "N"), unknown.replace(str(10**8), "N")
        )
        for domain in (
            [["parent_id", "=", "Secret Partner"]],
            [["parent_id", "=", self.secret.id]],
            [["parent_id.name", "ilike", "secret"]],
            [["parent_id.city", "=", "Hidden City"]],
            [["parent_id", "child_of", self.secret.id]],
            [["id", "child_of", self.secret.id]],
            [["id", "parent_of", [self.secret.id]]],
        ):
            with self.subTest(domain=domain):
                self.assertEqual(self._names(self.internal, domain=domain, **everything), [])
        said, data = self._read(
            self.internal,
            "search_records",
            model="res.partner",
            domain=[["id", "=", self.child_of_secret.id]],
            fields=["parent_id"],
        )
        self.assertEqual(data["rows"][0]["values"]["parent_id"], {"name": "(no access)"})
        self.assertNotIn("Hidden", said)
        _said, data = self._read(
            self.internal,
            "aggregate_records",
            model="res.partner",
            domain=[["id", "=", self.child_of_secret.id]],
            group_by=["parent_id"],
        )
        self.assertEqual(data["groups"][0]["parent_id"], {"name": "(no access)"})

    def test_a_field_of_another_group_is_nowhere(self):
        field = self.env["res.partner"]._fields["ref"]
        with patch.object(field, "groups", "base.group_system"):
            self._assert_nowhere("ref", "G-77")

    def test_a_hidden_field_is_nowhere(self):
        self.line.hidden_fields = "ref"
        self._assert_nowhere("ref", "G-77")

    def test_what_is_computed_from_a_hidden_field_is_nowhere(self):
        self.line.hidden_fields = "email"
        self.azure.phone = self.gemini.phone = "+32 470 12 34 56"
        self.gemini.email = "gemini@example.com"
        for name, value in (
            ("email", "gemini@example.com"),
            ("email_normalized", "gemini@example.com"),
            ("email_formatted", "gemini@example.com"),
        ):
            self._assert_nowhere(name, value)
        said, _data = self._read(self.internal, "describe_model", model="res.users")
        self.assertNotIn("\nemail", said.replace("email_domain_placeholder", ""))
        said, _data = self._read(
            self.internal, "read_records", model="res.partner", ids=self.gemini.ids
        )
        self.assertIn("+32 470", said)

    def test_what_code_reads_of_a_hidden_field_without_declaring_it_is_nowhere(self):
        self.assertNotIn(
            "commercial_company_name",
            self.env.registry.field_depends[self.env["res.partner"]._fields["contact_address"]],
        )
        self.line.hidden_fields = "commercial_company_name"
        said, _data = self._read(self.internal, "describe_model", model="res.partner")
        self.assertNotIn("\ncontact_address", said)

    def test_what_tells_the_name_of_any_record_tells_no_hidden_one(self):
        self.assistant.record_access_ids = [Command.create({"model": "mail.activity"})]
        activity = self.gemini.activity_schedule(
            "mail.mail_activity_data_todo", user_id=self.internal.id
        )
        self.env.flush_all()
        about = [["id", "=", activity.id]]
        search = {"model": "mail.activity", "domain": about, "fields": ["res_name"]}
        self.assertIn("Gemini Furniture", self._read(self.internal, "search_records", **search)[0])
        self.line.hidden_fields = "name"
        self.assertIn("no field", self._refused(self.internal, "search_records", **search))
        self.line.hidden_fields = "ref"
        self.assertIn("Gemini Furniture", self._read(self.internal, "search_records", **search)[0])

    def test_what_depends_on_a_field_of_another_group_is_nowhere(self):
        field = self.env["res.partner"]._fields["email"]
        self.gemini.email = "gemini@example.com"
        self.env.registry.clear_cache()
        with patch.object(field, "groups", "base.group_system"):
            self._assert_nowhere("email_normalized", "gemini@example.com")
        self.env.registry.clear_cache()

    def test_a_name_is_told_without_what_is_hidden(self):
        wide, within = self.env["res.partner.category"].create([{"name": "Wide"}, {"name": "Near"}])
        within.parent_id = wide
        self.gemini.category_id = within
        line = self.assistant.record_access_ids.filtered(
            lambda one: one.model == "res.partner.category"
        )
        self.env.flush_all()
        search = {"model": "res.partner.category", "filters": [{"field": "id", "value": within.id}]}
        read = {"model": "res.partner", "ids": self.gemini.ids, "fields": ["category_id"]}
        for hidden, name in (("", "Wide / Near"), ("parent_id", "Near"), ("name", f"#{within.id}")):
            line.hidden_fields = hidden
            self.assertEqual(self._names(self.internal, **search), [name])
            said, _data = self._read(self.internal, "read_records", **read)
            self.assertIn(f"category_id: {name} ({within.id})", said)
        line.hidden_fields = "parent_id"
        for domain in ([["id", "child_of", wide.id]], [["id", "parent_of", within.id]]):
            said = self._refused(self.internal, "search_records", **{**search, "domain": domain})
            self.assertIn("not above or below", said)
        domain = [["category_id", "child_of", wide.id]]
        said = self._refused(self.internal, "search_records", model="res.partner", domain=domain)
        self.assertIn("not above or below", said)

    def test_an_order_tells_nothing_of_what_is_hidden(self):
        tags = self.env["res.partner.category"].create([{"name": "Z"}, {"name": "A"}])
        self.gemini.category_id = tags
        self.env.flush_all()
        line = self.assistant.record_access_ids.filtered(
            lambda one: one.model == "res.partner.category"
        )
        search = {"model": "res.partner.category", "domain": [["id", "in", tags.ids]]}
        read = {"model": "res.partner", "ids": self.gemini.ids, "fields": ["category_id"]}
        self.assertEqual(self._names(self.internal, **search), ["A", "Z"])
        line.hidden_fields = "name"
        named = [f"#{one.id}" for one in tags]
        self.assertEqual(self._names(self.internal, **search), named)
        _said, data = self._read(self.internal, "read_records", **read)
        shown = data["rows"][0]["values"]["category_id"]
        self.assertEqual([one["name"] for one in shown], named)
        partners = {"model": "res.partner", "domain": self.mine}
        self._read(self.internal, "search_records", order="country_id desc", **partners)
        countries = self.assistant.record_access_ids.filtered(
            lambda one: one.model == "res.country"
        )
        countries.hidden_fields = "name"
        said = self._refused(self.internal, "search_records", order="country_id", **partners)
        self.assertIn("cannot be sorted", said)
        said = self._refused(
            self.internal,
            "aggregate_records",
            group_by=["country_id"],
            order="country_id",
            **partners,
        )
        self.assertIn("cannot be sorted", said)
        self._read(self.internal, "aggregate_records", group_by=["country_id"], **partners)

    def test_an_administrator_sees_what_else_is_hidden(self):
        self.line.hidden_fields = "email"
        self.assertIn("Hides also: email_formatted, email_normalized", self.line.also_hidden)
        for name in ("res.company.email", "res.company.email_formatted", "res.users.email"):
            self.assertIn(f" {name},", self.line.also_hidden)
        self.line.hidden_fields = "zip"
        self.assertIn("Hides also: ", self.line.also_hidden)
        self.line.hidden_fields = "function"
        self.line.hidden_fields = ""
        self.assertFalse(self.line.also_hidden)
        self.line.hidden_fields = "name"
        self.assertIn("Stay visible: res.country.name", self.line.also_hidden)

    def _assert_nowhere(self, name, value):
        model = {"model": "res.partner"}
        said, _data = self._read(self.internal, "describe_model", **model)
        self.assertNotIn(f"\n{name}:", said)
        said, _data = self._read(self.internal, "read_records", ids=[self.gemini.id], **model)
        self.assertNotIn(value, said)
        for tool, more in (
            ("search_records", {"domain": [[name, "=", value]]}),
            ("search_records", {"filters": [{"field": name, "value": value}]}),
            ("search_records", {"filters": [{"field": f"parent_id.{name}", "value": value}]}),
            (
                "search_records",
                {"filters": [{"field": f"child_ids.parent_id.{name}", "value": value}]},
            ),
            ("search_records", {"order": name}),
            ("search_records", {"fields": [name]}),
            ("read_records", {"fields": [name], "ids": [self.gemini.id]}),
            ("aggregate_records", {"group_by": [name]}),
            ("aggregate_records", {"measures": [f"{name}:count_distinct"]}),
            ("open_view", {"view": "list", "domain": [[name, "=", value]]}),
            ("open_view", {"view": "list", "group_by": [name]}),
        ):
            with self.subTest(tool=tool, more=more):
                self.assertIn("no field", self._refused(self.internal, tool, **model, **more))
        by_name = [["display_name", "ilike", value]]
        self.assertEqual(self._names(self.internal, domain=by_name, **model), [])

    def test_secrets_and_binary_contents_are_nowhere_even_for_an_administrator(self):
        self.admin.group_ids += self.env.ref("base.group_system")
        for model, name in (
            ("res.partner", "image_1920"),
            ("res.partner", "signup_token"),
            ("res.users", "password"),
            ("res.users", "group_ids"),
            ("res.users", "api_key_ids"),
        ):
            with self.subTest(model=model, name=name):
                self.assertIn(
                    "no field",
                    self._refused(self.admin, "search_records", model=model, fields=[name]),
                )

    def test_a_path_goes_only_through_models_that_are_chosen(self):
        self.assistant.record_access_ids.filtered(lambda one: one.model == "res.country").unlink()
        domain = [["country_id.code", "=", "TW"]]
        said = self._refused(self.internal, "search_records", model="res.partner", domain=domain)
        self.assertIn("res.country", said)

    def test_a_portal_user_gets_what_portal_rules_give(self):
        names = self._names(self.member, model="res.partner", limit=200)
        own = self.env["res.partner"].with_user(self.member).search([])
        self.assertEqual(sorted(names), sorted(own.mapped("display_name")))
        self.assertNotIn("Azurite Interior", names)

    def test_companies_are_those_of_the_question_checked_again(self):
        mine, other, foreign = self.env["res.company"].create(
            [{"name": n} for n in ("Mine", "Other", "Foreign")]
        )
        person = new_test_user(
            self.env,
            "ai_two_companies",
            groups="base.group_user",
            company_id=mine.id,
            company_ids=[Command.set((mine | other).ids)],
        )
        self.env["res.partner"].create(
            [{"name": f"Of {c.name}", "company_id": c.id} for c in (mine, other, foreign)]
        )
        search = {"model": "res.partner", "domain": [["name", "=like", "Of %"]], "order": "name"}
        channel = self._conversation(person)
        asked = [other.id, foreign.id]
        turn = channel._ask(Question("Who?", companies=asked)).sudo()
        self.env.flush_all()
        (self.claims[person],) = self.store.claim("one", 1, 15.0)
        self.turns[person] = turn
        self.assertEqual(self._names(person, **search), ["Of Other"])
        turn.companies = False
        self.assertEqual(self._names(person, **search), ["Of Mine", "Of Other"])
        person.company_ids = mine
        turn.companies = asked
        self.assertEqual(self._names(person, **search), ["Of Mine"])
