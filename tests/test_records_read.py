from unittest.mock import patch

import psycopg2
from odoo import Command
from odoo.exceptions import ValidationError
from odoo.tests import new_test_user, tagged

from ..runtime.records import aggregate, executor
from .records_data import RecordsCase


@tagged("post_install", "-at_install")
class TestRecordsRead(RecordsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        Partner = cls.env["res.partner"]
        cls.tag = cls.env["res.partner.category"].create({"name": "Wholesale"})
        cls.azure, cls.gemini, cls.secret = Partner.create(
            [
                {
                    "name": "Azurite Interior",
                    "city": "Fremont",
                    "email": "azurite@example.com",
                    "category_id": [Command.link(cls.tag.id)],
                },
                {"name": "Gemini Furniture", "city": "Fairfield", "ref": "G-77"},
                {"name": "Secret Partner", "city": "Hidden City", "ref": "hidden"},
            ]
        )
        cls.child = Partner.create({"name": "Brandon", "parent_id": cls.azure.id})
        cls.child_of_secret = Partner.create({"name": "Child", "parent_id": cls.secret.id})
        cls.mine = [("id", "in", (cls.azure | cls.gemini | cls.secret | cls.child).ids)]
        cls.env["ir.rule"].create(
            {
                "name": "Not the secret one",
                "model_id": cls.env["ir.model"]._get_id("res.partner"),
                "domain_force": f"[('id', '!=', {cls.secret.id})]",
            }
        )
        cls.env.flush_all()

    # ------------------------------------------------------------ what is offered

    def test_nothing_is_offered_by_default(self):
        self.assistant.record_access_ids.unlink()
        turn = self._turn(self.internal)
        self.assertFalse(turn._own_tool_specs())
        self.assertNotIn("find_models", turn._system_prompt())

    def test_only_reading_is_offered_until_more_is_chosen(self):
        turn = self._turn(self.internal)
        self.assertEqual({tool.operation for tool in turn._record_tools()}, {"read"})
        self.line.can_update = True
        names = {tool.name for tool in turn._record_tools()}
        self.assertIn("update_records", names)
        self.assertNotIn("delete_records", names)

    def test_in_a_thread_that_others_read_nothing_is_offered(self):
        turn = self._turn(self.internal)
        with patch.object(type(turn), "_is_private", lambda self: False):
            self.assertFalse(turn._own_tool_specs())

    def test_this_customer_is_the_record_of_the_conversation(self):
        Channel = self.env["discuss.channel"].with_user(self.internal)
        channel = Channel._create_ai_conversation(
            self.assistant.with_user(self.internal), record=self.azure.with_user(self.internal)
        )
        turn = channel._ask("What does this customer owe us?").sudo()
        said = f"about is res.partner with the id {self.azure.id}."
        self.assertIn(said, turn._system_prompt())
        self.line.unlink()
        self.assertNotIn(said, turn._system_prompt())

    def test_a_switch_counts_at_once(self):
        call, verdict = self._begin(self.internal, "search_records", {"model": "res.partner"})
        self.assertEqual(verdict.kind, "run")
        self.assistant.record_access_ids.unlink()
        self.env.flush_all()
        verdict = self.store.begin_call(self.claims[self.internal], call)
        self.assertEqual(verdict.kind, "deny")

    def test_presets_name_what_is_installed_only(self):
        offered = dict(self.env["ai.assistant"]._selection_record_preset())
        self.assertIn("contacts", offered)
        self.assertEqual("crm" in offered, "crm.lead" in self.env)
        assistant = self.env["ai.assistant"].new({"record_preset": "contacts"})
        assistant._onchange_record_preset()
        self.assertIn("res.partner", assistant.record_access_ids.mapped("model"))

    def test_code_rights_credentials_and_our_own_tables_cannot_be_chosen(self):
        options = dict(self.env["woow_paas_platform.record_access"]._selection_model())
        self.assertIn("res.partner", options)
        for model in (
            *("ir.rule", "ir.actions.server", "ir.config_parameter", "ir.attachment"),
            *("res.groups", "res.users.apikeys", "mail.mail", "discuss.channel"),
            *("ai.config", "woow_paas_platform.mcp_server", "woow_paas_platform.tool_call"),
        ):
            self.assertNotIn(model, options)
            with self.assertRaises(ValidationError):
                self.line.model = model
            self.env.invalidate_all()

    def test_what_cannot_be_chosen_is_not_reached_even_if_it_is_in_the_table(self):
        self.env.cr.execute(
            "UPDATE woow_paas_platform_record_access SET model = 'ir.config_parameter' WHERE id = %s",
            [self.line.id],
        )
        self.env.invalidate_all()
        self.assertIn(
            "no model",
            self._refused(self.admin, "read_records", model="ir.config_parameter", ids=[1]),
        )

    # ------------------------------------------------------------ reading

    def test_find_and_describe(self):
        said, data = self._read(self.internal, "find_models", query="contact")
        self.assertIn("res.partner", said)
        self.assertIn("res.partner", [one["model"] for one in data["models"]])
        said, data = self._read(self.internal, "describe_model", model="res.partner", query="city")
        self.assertIn("city: char", said)
        said, _data = self._read(self.internal, "describe_model", model="res.partner")
        self.assertLess(len(said), 24_000)
        self.assertIn("category_id: many2many -> res.partner.category", said)

    def test_search_by_filters_with_names_for_relations(self):
        filters = [{"field": "parent_id", "operator": "=", "value": "azurite"}]
        self.assertEqual(
            self._names(self.internal, model="res.partner", filters=filters),
            [self.child.display_name],
        )
        filters = [{"field": "category_id", "value": "Wholesale"}]
        self.assertEqual(
            self._names(self.internal, model="res.partner", filters=filters), ["Azurite Interior"]
        )

    def test_search_by_a_domain_with_a_path(self):
        domain = ["&", ["parent_id.city", "ilike", "fremont"], ["id", "in", self.mine[0][2]]]
        self.assertEqual(
            self._names(self.internal, model="res.partner", domain=domain),
            [self.child.display_name],
        )

    def test_order_limit_and_the_number_of_all(self):
        said, data = self._read(
            self.internal,
            "search_records",
            model="res.partner",
            domain=self.mine,
            order="name desc",
            limit=1,
            fields=["city", "category_id"],
        )
        self.assertEqual((data["rows"][0]["name"], data["total"]), ("Gemini Furniture", 3))
        self.assertIn("1 of 3 records", said)
        self.assertEqual(data["rows"][0]["url"], f"/odoo/res.partner/{self.gemini.id}")

    def test_read_and_aggregate(self):
        said, _data = self._read(
            self.internal,
            "read_records",
            model="res.partner",
            ids=[self.azure.id],
            fields=["city"],
        )
        self.assertIn("city: Fremont", said)
        said, data = self._read(
            self.internal,
            "aggregate_records",
            model="res.partner",
            domain=self.mine,
            group_by=["city"],
            measures=["__count"],
        )
        self.assertEqual(
            {(g["city"] or "", g["__count"]) for g in data["groups"]},
            {("Fremont", 2), ("Fairfield", 1)},
        )
        self.assertNotIn("Hidden", said)

    def test_sums_can_be_opened_as_a_pivot_of_the_same_records(self):
        sums = {"model": "res.partner", "group_by": ["city"], "measures": ["color:sum"]}
        _said, data = self._read(self.internal, "aggregate_records", domain=self.mine, **sums)
        action = data["action"]
        self.assertEqual((action["res_model"], action["view_mode"]), ("res.partner", "pivot"))
        self.assertEqual(
            action["context"], {"pivot_row_groupby": ["city"], "pivot_measures": ["color"]}
        )
        ((name, operator, ids),) = action["domain"]
        self.assertEqual((name, operator, len(ids)), ("id", "in", 3))
        _said, data = self._read(self.internal, "aggregate_records", **sums)
        self.assertEqual(data["action"]["domain"], [])
        with patch.object(aggregate, "MAX_PIVOT", 2):
            _said, data = self._read(self.internal, "aggregate_records", domain=self.mine, **sums)
        self.assertIsNone(data["action"])
        _said, data = self._read(self.member, "aggregate_records", **sums)
        self.assertIsNone(data["action"])

    def test_a_record_has_a_picture_unless_it_is_hidden(self):
        call = {"model": "res.partner", "ids": [self.azure.id]}
        (row,) = self._read(self.internal, "read_records", **call)[1]["rows"]
        self.assertEqual(row["image"], f"/web/image/res.partner/{self.azure.id}/avatar_128")
        self.line.hidden_fields = "avatar_128, image_128"
        (row,) = self._read(self.internal, "read_records", **call)[1]["rows"]
        self.assertIsNone(row["image"])

    def test_a_view_is_a_description_of_an_action(self):
        _said, data = self._read(
            self.internal,
            "open_view",
            model="res.partner",
            view="list",
            filters=[{"field": "city", "value": "Fremont"}],
        )
        self.assertEqual(data["action"]["res_model"], "res.partner")
        self.assertIn(self.azure.id, data["action"]["domain"][0][2])

    # ------------------------------------------------------------ sentences

    def test_what_is_unknown_is_answered_with_the_nearest_names(self):
        self.assertIn(
            "res.partner", self._refused(self.internal, "search_records", model="res.partnr")
        )
        filters = [{"field": "emial", "value": "a"}]
        self.assertIn(
            "email",
            self._refused(self.internal, "search_records", model="res.partner", filters=filters),
        )
        filters = [{"field": "email", "operator": "ilke", "value": "a"}]
        self.assertIn(
            "ilike",
            self._refused(self.internal, "search_records", model="res.partner", filters=filters),
        )

    def test_domains_are_data(self):
        for domain in (
            [["name", "any!", [["id", "=", 1]]]],
            [["name", "inselect", "SELECT 1"]],
            [["name", "=", {"a": 1}]],
            ["name"],
            ["|", ["name", "=", "a"]],
            [["a.b.c.d.e", "=", 1]],
            "__import__('os')",
            [["name", "in", ["x"] * 300]],
        ):
            with self.subTest(domain=domain):
                self._refused(self.internal, "search_records", model="res.partner", domain=domain)

    # ------------------------------------------------------------ whose rights

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

    # ------------------------------------------------------------ limits

    def test_nothing_is_written_while_reading(self):
        def writes(reach, given):
            reach.env.cr.execute("UPDATE res_partner SET city = 'x' WHERE id = %s", [self.azure.id])

        with patch.dict(executor.READS, search_records=writes):
            self._refused(self.internal, "search_records", model="res.partner")
        self.assertEqual(self.azure.city, "Fremont")

    def test_a_slow_query_is_ended(self):
        def sleeps(reach, given):
            reach.env.cr.execute("SELECT current_setting('lock_timeout')")
            self.assertEqual(reach.env.cr.fetchone()[0], "2s")
            reach.env.cr.execute("SELECT pg_sleep(5)")

        with (
            patch.dict(executor.READS, search_records=sleeps),
            patch.object(executor, "STATEMENT_TIMEOUT", 50),
        ):
            said = self._refused(self.internal, "search_records", model="res.partner")
        self.assertIn("was ended", said)
        self.assertEqual(executor.LOCK_TIMEOUT, 2_000)

    def test_a_lost_connection_is_not_the_calls_fault(self):
        def breaks(reach, given):
            raise psycopg2.InterfaceError("connection already closed")

        with (
            patch.dict(executor.READS, search_records=breaks),
            self.assertRaises(ConnectionError),
        ):
            self._read(self.internal, "search_records", model="res.partner")

    def test_a_result_is_never_longer_than_the_cap(self):
        self.env["res.partner"].create(
            [{"name": f"Many {i} " + "x" * 150, "city": "y" * 150} for i in range(210)]
        )
        self.env.flush_all()
        said, data = self._read(
            self.internal,
            "search_records",
            model="res.partner",
            limit=5000,
            fields=["name", "city", "email"],
        )
        self.assertEqual(len(data["rows"]), 200)
        self.assertLessEqual(len(said), 24_000)
        self.assertIn("more rows do not fit", said)

    def test_hidden_fields_must_exist(self):
        with self.assertRaises(ValidationError) as caught, self.env.cr.savepoint():
            self.line.hidden_fields = "emial"
        self.assertIn("email", str(caught.exception))

    # ------------------------------------------------------------ rows

    def test_a_row_tells_whose_tool_it_was_and_what_it_read_taints(self):
        call, _verdict = self._begin(self.internal, "search_records", {"model": "res.partner"})
        result = self.store.read_records(self.claims[self.internal], call.id)
        self.store.end_call(self.claims[self.internal], call.id, result, [])
        row = self.env["woow_paas_platform.tool_call"].search([("call_id", "=", call.id)])
        self.assertEqual((row.records, row.server_name, row.outcome), ("read", "Odoo", "ok"))
        self.assertEqual(
            (row._call_event()["records"], row._api_format()["records"]), ("read",) * 2
        )
        self.assertTrue(row._may_be_a_strangers())
        call, _verdict = self._begin(self.internal, "find_models", {})
        row = self.env["woow_paas_platform.tool_call"].search([("call_id", "=", call.id)])
        self.assertFalse(row._may_be_a_strangers())

    def test_a_call_that_was_cut_is_not_unknown(self):
        call, _verdict = self._begin(self.internal, "search_records", {"model": "res.partner"})
        row = self.env["woow_paas_platform.tool_call"].search([("call_id", "=", call.id)])
        self.assertFalse(row.started_at)
        self.env.invalidate_all()
        row.turn_id._close_open_calls()
        self.assertEqual(row.outcome, "cancelled")
