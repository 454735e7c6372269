"""What a person reads by an assistant is what that person may read."""

from unittest.mock import patch

from odoo import Command
from odoo.tests import new_test_user, tagged

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
        turn = channel.with_context(woow_ai_companies=asked)._ask("Who?").sudo()
        self.env.flush_all()
        (self.claims[person],) = self.store.claim("one", 1, 15.0)
        self.turns[person] = turn
        self.assertEqual(self._names(person, **search), ["Of Other"])
        turn.companies = False
        self.assertEqual(self._names(person, **search), ["Of Mine", "Of Other"])
        person.company_ids = mine
        turn.companies = asked
        self.assertEqual(self._names(person, **search), ["Of Mine"])
