"""The tools that read records: what they give, what they say, and where they end."""

from unittest.mock import patch

import psycopg2
from odoo import fields
from odoo.tests import tagged

from ..runtime.records import aggregate, executor, read, record_scope
from ..runtime.records.record_scope import RecordScope
from .records_data import PartnersCase


@tagged("post_install", "-at_install")
class TestRecordsRead(PartnersCase):
    def test_find_and_describe(self):
        said, data = self._read(self.internal, "find_models", query="contact")
        self.assertIn("res.partner", said)
        self.assertIn("res.partner", [one["model"] for one in data["models"]])
        said, data = self._read(self.internal, "describe_model", model="res.partner", query="city")
        self.assertIn("city: char", said)
        said, _data = self._read(self.internal, "describe_model", model="res.partner")
        self.assertLess(len(said), 24_000)
        self.assertIn("category_id: many2many -> res.partner.category", said)

    def test_a_question_is_answered_with_the_fields_that_it_names(self):
        """A small model asks describe_model as it was asked itself."""

        def fields(query, **about):
            said, data = self._read(self.internal, "describe_model", query=query, **about)
            self.assertIn("There is no field “", said)
            return [one["name"] for one in data["fields"]]

        partners = {"model": "res.partner"}
        self.assertEqual(fields("In which city is Azurite?", **partners), ["city"])
        self.env["res.lang"]._activate_lang("zh_TW")
        self.internal.lang = "zh_TW"
        label = self.env["res.partner"].with_context(lang="zh_TW")._fields["city"]
        label = label._description_string(self.env(context={"lang": "zh_TW"}))
        self.assertIn("city", fields(f"Azurite 在哪個{label}？", **partners))
        self.assertIn("email", fields("x" * 5000, **partners))

    def test_choices_that_are_left_out_are_counted(self):
        said, _data = self._read(self.internal, "describe_model", model="res.partner", query="tz")
        self.assertRegex(said, r"tz\S* selection \[.*, and [0-9]+ more\]")

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

    def test_a_relation_may_be_compared_with_what_a_result_has_told_and_with_me(self):
        def children(value):
            filters = [{"field": "parent_id", "value": value}]
            return self._names(self.internal, model="res.partner", filters=filters)

        self.assertEqual(children(f"Azurite Interior ({self.azure.id})"), [self.child.display_name])
        said = self._error(children, f"Gemini Furniture ({self.azure.id})")
        self.assertIn("Did you mean: Gemini Furniture", said)
        self.assertEqual(children("me"), [])
        self.azure.user_id = self.internal
        mine = {"model": "res.partner", "filters": [{"field": "user_id", "value": "me"}]}
        self.assertEqual(self._names(self.internal, **mine), ["Azurite Interior"])
        self.assertEqual(self._names(self.admin, **mine), [])

    def test_a_relation_compared_with_a_name_counts_all_that_have_it(self):
        make = self.env["res.partner"].create
        parents = make([{"name": f"Limited {n}"} for n in range(210)])
        make([{"name": "Child", "parent_id": one.id} for one in parents])
        self.env.flush_all()
        for operator in ("ilike", "="):
            filters = [{"field": "parent_id", "operator": operator, "value": "Limited"}]
            given = {"model": "res.partner", "filters": filters}
            _said, data = self._read(self.internal, "aggregate_records", **given)
            self.assertEqual(data["groups"], [{"__count": 210}])
            with patch.object(record_scope, "MAX_MEANT", 209):
                said = self._refused(self.internal, "aggregate_records", **given)
            self.assertIn("more than 209 records", said)

    def test_a_relation_compared_with_a_blank_text_is_compared_with_nothing(self):
        """Small models fill in every argument, with nothing."""
        self.azure.user_id = self.internal
        azure, gemini = ["Azurite Interior"], ["Gemini Furniture"]
        both = ["id", "in", (self.azure | self.gemini).ids]
        for condition, wanted in (
            (["user_id", "=", ""], gemini),
            (["user_id", "in", [" "]], gemini),
            (["user_id", "!=", ""], azure),
            (["parent_id", "child_of", ""], []),
        ):
            with self.subTest(condition):
                names = self._names(self.internal, model="res.partner", domain=[both, condition])
                self.assertEqual(names, wanted)
        domain = [["parent_id", "child_of", ""]]
        self.assertEqual(self._names(self.internal, model="res.partner", domain=domain), [])

    def test_a_field_may_be_that_of_a_record_to_which_a_relation_leads(self):
        both = [self.child.id, self.child_of_secret.id, self.azure.id]
        said, data = self._read(
            self.internal,
            "search_records",
            model="res.partner",
            domain=[["id", "in", both]],
            order="id",
            fields=["parent_id.city", "parent_id.parent_id.city"],
        )
        self.assertEqual(
            [row["values"]["parent_id.city"] for row in data["rows"]],
            [None, "Fremont", {"name": "(no access)"}],
        )
        self.assertEqual(data["columns"][0]["label"], "Related Company / City")
        self.assertNotIn("Hidden City", said)
        for path, why in (
            ("child_ids.city", "one record"),
            ("city.name", "one record"),
            ("parent_id.signup_token", "no field"),
            ("title.name", "no field"),
            ("a.b.c.d.e", "path"),
            ("parent_id.", "path"),
        ):
            with self.subTest(path):
                refused = self._refused(
                    self.internal, "search_records", model="res.partner", fields=[path]
                )
                self.assertIn(why, refused)

    def test_a_path_takes_as_many_statements_for_many_records_as_for_one(self):
        make = self.env["res.partner"].create
        tops = make([{"name": f"Top {n}", "city": f"City {n}"} for n in range(6)])
        middles = make([{"name": f"Middle {top.id}", "parent_id": top.id} for top in tops])
        ends = make([{"name": f"End {one.id}", "parent_id": one.id} for one in middles])
        turn = self._turn(self.internal)
        scope = RecordScope(executor.env_of(self.env, turn), turn._record_access())
        counts = []
        for some in (ends[:1], ends[:1], ends):  # what Odoo looks up once is there after the first
            given = {"model": "res.partner", "fields": ["parent_id.parent_id.city"]}
            given["domain"] = [["id", "in", some.ids]]
            self.env.flush_all()
            self.env.invalidate_all()
            before = self.env.cr.sql_log_count
            _said, data = executor.READS["search_records"](scope, given)
            counts.append(self.env.cr.sql_log_count - before)
            cities = [row["values"]["parent_id.parent_id.city"] for row in data["rows"]]
            self.assertEqual(set(cities), set(some.parent_id.parent_id.mapped("city")))
        self.assertEqual(counts[1], counts[2])

    def test_names_without_what_is_hidden_take_as_many_statements_for_many_records(self):
        self.line.hidden_fields = "email"
        make = self.env["res.partner"].create
        tops = make([{"name": f"Top {n}", "is_company": True} for n in range(20)])
        ends = make([{"name": f"End {one.id}", "parent_id": one.id} for one in tops])
        turn = self._turn(self.internal)
        scope = RecordScope(executor.env_of(self.env, turn), turn._record_access())
        counts = []
        for some in (ends[:1], ends[:1], ends):
            self.env.flush_all()
            self.env.invalidate_all()
            before = self.env.cr.sql_log_count
            names = scope.names_of(scope.env["res.partner"].browse(some.ids))
            counts.append(self.env.cr.sql_log_count - before)
            self.assertEqual(list(names.values()), some.mapped("display_name"))
        self.assertLessEqual(counts[2], counts[1] + 2)

    def test_a_prompt_names_the_models_that_the_person_may_read(self):
        told = self._turn(self.internal)._system_prompt()
        self.assertIn("res.partner (Contact): name, user_id, email, phone, city", told)
        self.assertIn("res.country (Country)", told)
        self.line.hidden_fields = "phone"
        for model in ("res.country", "res.users"):
            self.env["ir.model.access"].search([("model_id.model", "=", model)]).active = False
        self.env.registry.clear_cache()
        told = self._turn(self.internal)._system_prompt()
        self.assertIn("res.partner (Contact): name, user_id, email, city", told)
        self.assertNotIn("res.country", told)

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

    def test_what_is_not_shown_is_not_read_either(self):
        fetched = set()
        model = self.env.registry["res.partner"]
        fetch_query = model._fetch_query

        def spy(records, query, fields):
            found = fetch_query(records, query, fields)
            if self.azure.id in found.ids:  # Odoo reads the user's own contact as it likes
                fetched.update(field.name for field in fields)
            return found

        turn = self._turn(self.internal)
        scope = RecordScope(executor.env_of(self.env, turn), turn._record_access())
        given = {"model": "res.partner", "fields": ["city"], "ids": self.azure.ids}
        given["filters"] = [{"field": "id", "value": self.azure.id}]
        for name in ("search_records", "read_records"):
            self.env.flush_all()
            self.env.invalidate_all()
            with patch.object(model, "_fetch_query", spy):
                executor.READS[name](scope, given)
        self.assertIn("city", fetched)
        # A name may need the email.
        self.assertFalse(fetched & {"comment", "barcode", "website", "ref"})

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

    def test_records_are_read_by_their_names(self):
        self.child_of_secret.unlink()  # whose name begins with the secret one

        def read(*ids):
            given = {"model": "res.partner", "fields": ["city"], "ids": list(ids)}
            _said, data = self._read(self.internal, "read_records", **given)
            return [row["id"] for row in data["rows"]]

        self.assertEqual(read("azurite interior"), [self.azure.id])
        self.assertEqual(read("Azurite Int"), [self.azure.id, self.child.id])
        both = [str(self.gemini.id), f"Azurite Interior ({self.azure.id})"]
        self.assertEqual(read(*both), [self.gemini.id, self.azure.id])
        self.assertIn("Azurite Interior", self._error(read, "Azurite Interier"))
        of_nobody, of_secret = (self._error(read, one) for one in ("Nothing", "Secret Partner"))
        self.assertEqual(of_nobody, of_secret.replace("Secret Partner", "Nothing"))
        padded = "0" * 12 + str(self.azure.id)  # no part of the digits is an id of its own
        self.assertEqual(read(padded), [self.azure.id])
        for wrong in (True, 0, -1, "", " ", "x" * 501, "9" * 30, None, {}, [1]):
            with self.subTest(wrong):
                self._error(read, wrong)

    def test_a_search_by_name_finds_what_is_called_so_or_holds_it(self):
        self.child_of_secret.unlink()  # which has the same city

        def search(name, **more):
            return self._read(
                self.internal, "search_records", model="res.partner", name=name, **more
            )

        said, data = search("azurite interior")
        self.assertEqual([row["id"] for row in data["rows"]], [self.azure.id])
        self.assertNotIn("No record", said)
        said, data = search("azurite@example")
        self.assertEqual([row["id"] for row in data["rows"]], [self.azure.id])
        said, data = search("Fairfield", fields=["ref"])
        self.assertIn(self.gemini.id, [row["id"] for row in data["rows"]])
        self.assertIn("\n[No record has this name. These hold it in ", said)
        for hidden in ("Secret Partner", "Hidden City"):
            said, data = search(hidden)
            self.assertEqual((said, data["rows"]), ("No records of res.partner match.", []))
        self.assertIn("[1 more have it in their names.]", search("Azurite Interior")[0])
        nowhere = [{"field": "city", "value": "Oslo"}]
        self.assertFalse(search("Azurite Interior", filters=nowhere)[1]["rows"])
        self.assertFalse(search(str(self.azure.id), filters=nowhere)[1]["rows"])
        self.assertNotIn(
            self.azure.id, [row["id"] for row in search(str(self.azure.id))[1]["rows"]]
        )
        self.azure.active = False
        rows = search("azurite interior")[1]["rows"]
        self.assertEqual([row["id"] for row in rows], [self.child.id])
        self.env["res.partner"].create([{"name": f"Same {n}"} for n in range(210)])
        self.assertEqual(search("Same", limit=1)[1]["total"], 210)
        same = {"model": "res.partner", "ids": ["Same", "Azurite"]}
        said = self._refused(self.internal, "read_records", **same)
        self.assertIn("more than 200", said)

    def test_a_name_of_another_model_is_told(self):
        said, _data = self._read(
            self.internal, "search_records", model="res.country", name="Azurite Interior"
        )
        self.assertIn("One of res.partner has this name.", said)
        filters = [{"field": "name", "value": "Azurite Interior"}]
        said, _data = self._read(
            self.internal, "search_records", model="res.country", filters=filters
        )
        self.assertIn("One of res.partner has this name.", said)
        given = {"model": "res.country", "ids": [f"Azurite Interior ({self.azure.id})"]}
        said = self._refused(self.internal, "read_records", **given)
        self.assertIn("One of res.partner has this name.", said)
        given["ids"] = ["Secret Partner"]
        said = self._refused(self.internal, "read_records", **given)
        self.assertNotIn("has this name", said)

    def test_a_records_own_name_compared_with_a_relation_is_told(self):
        filters = [{"field": "country_id", "value": "Azurite Interior"}]
        given = {"model": "res.partner", "filters": filters}
        said = self._refused(self.internal, "search_records", **given)
        self.assertIn('use {"field": "name", "operator": "=", ', said)

    def test_groups_begin_with_the_largest_and_dates_follow_each_other(self):
        def groups(group_by, **more):
            given = {"model": "res.partner", "domain": self.mine, "group_by": [group_by]}
            said, data = self._read(self.internal, "aggregate_records", **given, **more)
            return said, [one["__count"] for one in data["groups"]]

        self.gemini.city = "Fremont"
        self.child.city = "Aachen"
        self.env.flush_all()
        self.assertEqual(groups("city")[1], [2, 1])
        self.assertEqual(groups("parent_id.name", order="desc")[1], [2, 1])
        self.assertEqual(groups("city", order="count")[1], [1, 2])
        query = "UPDATE res_partner SET create_date = %s WHERE id = ANY(%s)"
        self.env.cr.execute(query, ("2020-01-15", self.azure.ids))
        self.env.cr.execute(query, ("2021-01-15", (self.gemini | self.child).ids))
        self.env.invalidate_all()
        self.assertEqual(groups("create_date:year")[1], [1, 2])

    def test_a_measured_moment_is_told_as_a_search_tells_it(self):
        self.internal.tz = "Asia/Taipei"
        given = {"model": "res.partner", "domain": [["id", "=", self.azure.id]]}
        _said, found = self._read(self.internal, "search_records", fields=["create_date"], **given)
        measures = ["create_date:max"]
        said, data = self._read(self.internal, "aggregate_records", measures=measures, **given)
        moment = found["rows"][0]["values"]["create_date"]
        self.assertEqual(data["groups"], [{"create_date:max": moment}])
        self.assertEqual(said.splitlines()[2], moment)

    def test_a_group_without_a_value_has_no_name_and_a_sunday_has_its_number(self):
        self.gemini.city = False
        self.env.flush_all()
        query = "UPDATE res_partner SET create_date = '2026-11-29 12:00' WHERE id = ANY(%s)"
        self.env.cr.execute(query, [(self.azure | self.gemini | self.child).ids])
        self.env.invalidate_all()
        for group_by, wanted in (("city", {None, "Fremont"}), ("create_date:day_of_week", {0})):
            given = {"model": "res.partner", "domain": self.mine, "group_by": [group_by]}
            said, data = self._read(self.internal, "aggregate_records", **given)
            self.assertEqual({one[group_by] for one in data["groups"]}, wanted)
            self.assertNotIn("no | 1", said)

    def test_a_choice_is_told_with_its_key(self):
        self.azure.lang = "en_US"
        given = {"model": "res.partner", "ids": [self.azure.id], "fields": ["lang"]}
        said, _data = self._read(self.internal, "read_records", **given)
        self.assertIn("lang: English (US) (en_US)", said)

    def test_a_limit_of_zero_is_none(self):
        """Small models fill in every argument, with nothing."""
        given = {
            "model": "res.partner",
            "domain": self.mine,
            "limit": 0,
            "order": "",
            "filters": [],
        }
        _said, data = self._read(self.internal, "search_records", offset=0, **given)
        self.assertEqual(len(data["rows"]), 3)
        _said, data = self._read(self.internal, "aggregate_records", group_by=["city"], **given)
        self.assertEqual(len(data["groups"]), 2)

    def test_groups_have_a_total(self):
        """Models add up wrongly, and take the first group for all of it."""
        said, data = self._read(
            self.internal,
            "aggregate_records",
            model="res.partner",
            domain=self.mine,
            group_by=["city"],
            measures=["__count", "color:max"],
            limit=2,
        )
        self.assertEqual(len(data["groups"]), 2)
        self.assertIn("\nOf all groups together: __count 3; color:max 0", said)

    def test_groups_that_are_left_out_are_counted(self):
        self.env["res.partner"].create([{"name": f"G {n}", "city": f"C {n}"} for n in range(90)])
        filters = [{"field": "city", "operator": "=like", "value": "C %"}]
        given = {"model": "res.partner", "filters": filters, "group_by": ["city"]}
        said, data = self._read(self.internal, "aggregate_records", **given)
        self.assertEqual((len(data["groups"]), data["total"]), (80, 90))
        self.assertIn("res.partner (Contact): 90 groups", said)
        self.assertIn("[80 of 90 groups. For the next ones: offset 80.", said)
        said, rest = self._read(self.internal, "aggregate_records", offset=80, **given)
        self.assertEqual(len(rest["groups"]), 10)
        self.assertNotIn("offset", said)
        cities = {one["city"] for one in (*data["groups"], *rest["groups"])}
        self.assertEqual(len(cities), 90)

    def test_an_aggregate_of_nothing_says_so(self):
        nobody = [{"field": "name", "value": "Nobody at all"}]
        for group_by in ([], ["city"]):
            said, _data = self._read(
                self.internal,
                "aggregate_records",
                model="res.partner",
                filters=nobody,
                group_by=group_by,
                measures=["partner_latitude:sum", "color:max"],
            )
            self.assertEqual(said, "No records of res.partner match.")

    def test_a_search_by_a_choice_that_finds_nothing_tells_the_others(self):
        addresses = [{"name": "Tidal", "type": kind} for kind in ("invoice", "invoice", "delivery")]
        self.env["res.partner"].create(addresses)
        named = {"field": "name", "value": "Tidal"}

        def said(*filters):
            return self._read(
                self.internal, "search_records", model="res.partner", filters=filters
            )[0]

        nothing = "No records of res.partner match."
        other = {"field": "type", "value": "other"}
        self.assertIn(" by type: delivery (1), invoice (2).", said(named, other))
        self.assertEqual(said({**named, "value": "Nobody"}, other), nothing)
        self.assertEqual(said({**named, "value": "Nobody"}), nothing)

    def test_pages_do_not_overlap(self):
        self.env["res.partner"].create([{"name": f"P {n}", "city": "Same"} for n in range(60)])
        filters = [{"field": "city", "value": "Same"}]
        for order in ("city", "city desc", "color, city", None):
            found = []
            for offset in range(0, 60, 7):
                _said, data = self._read(
                    self.internal,
                    "search_records",
                    model="res.partner",
                    filters=filters,
                    limit=7,
                    offset=offset,
                    **({"order": order} if order else {}),
                )
                found += [row["id"] for row in data["rows"]]
            self.assertEqual(len(set(found)), 60, order)
        said, _data = self._read(
            self.internal, "search_records", model="res.partner", filters=filters, offset=20
        )
        self.assertIn("[20 of 60 records. For the next ones: offset 40.", said)

    def test_records_may_be_sorted_by_where_a_relation_leads(self):
        self.azure.country_id = self.env.ref("base.us")
        self.gemini.country_id = self.env.ref("base.at")
        given = {"model": "res.partner", "domain": [["id", "in", (self.azure | self.gemini).ids]]}
        names = self._names(self.internal, order="country_id", **given)
        self.assertEqual(names, ["Gemini Furniture", "Azurite Interior"])
        said = self._refused(self.internal, "search_records", order="category_id", **given)
        self.assertIn("cannot be sorted", said)

    def test_a_name_that_means_nothing_is_refused_with_the_nearest(self):
        for field, operator, value in (
            ("parent_id", "=", "Azurit Interor"),
            ("parent_id", "!=", "Azurit Interor"),
            ("parent_id", "in", ["Gemini Furniture", "Azurit Interor"]),
            ("parent_id", "child_of", "Azurit Interor"),
        ):
            filters = [{"field": field, "operator": operator, "value": value}]
            for tool in ("search_records", "aggregate_records"):
                said = self._refused(self.internal, tool, model="res.partner", filters=filters)
                self.assertIn("There is no res.partner “Azurit Interor”.", said)
                self.assertIn("Azurite Interior", said)
        filters = [{"field": "parent_id", "operator": "ilike", "value": "Azurit Interor"}]
        self.assertEqual(self._names(self.internal, model="res.partner", filters=filters), [])

    def test_names_are_found_in_any_language(self):
        self.env["res.lang"]._activate_lang("zh_TW")
        self.tag.with_context(lang="zh_TW").name = "批發"
        self.env.flush_all()
        for lang, other in (("zh_TW", "Wholesale"), ("en_US", "批發")):
            self.internal.lang = lang
            self.turns.pop(self.internal, None)
            for filters in (
                [{"field": "category_id", "value": other}],
                [{"field": "category_id.name", "value": other}],
                [{"field": "category_id.name", "operator": "ilike", "value": other}],
            ):
                names = self._names(self.internal, model="res.partner", filters=filters)
                self.assertEqual(names, ["Azurite Interior"], (lang, filters))
            unlike = [{"field": "name", "operator": "!=", "value": other}]
            names = self._names(self.internal, model="res.partner.category", filters=unlike)
            self.assertNotIn(self.tag.with_context(lang=lang).name, names)

    def test_fields_and_models_are_known_by_their_labels_in_the_persons_language(self):
        self.env["res.lang"]._activate_lang("zh_TW")
        field = self.env["ir.model.fields"]._get("res.partner", "city")
        field.with_context(lang="zh_TW").field_description = "城市名"
        model = self.env["ir.model"]._get("res.partner")
        model.with_context(lang="zh_TW").name = "聯絡人名"
        self.env.flush_all()
        self.env.registry.clear_all_caches()
        self.internal.lang = "zh_TW"
        filters = [{"field": "城市名", "value": "Fremont"}]
        names = self._names(self.internal, model="聯絡人名", filters=filters)
        self.assertIn("Azurite Interior", names)
        filters = [{"field": "city", "value": "Fremont"}]
        self.assertIn(
            "Azurite Interior", self._names(self.internal, model="contact", filters=filters)
        )

    def test_conditions_as_people_say_them(self):
        self.internal.tz = "Europe/Brussels"
        today = fields.Date.context_today(self.azure.with_context(tz=self.internal.tz or "UTC"))
        month = today.strftime("%Y-%m")
        self.gemini.ref = False
        self.env.flush_all()
        self.env.cr.execute(
            "UPDATE res_partner SET create_date = now() - interval '3 years' WHERE id = %s",
            [self.gemini.id],
        )
        self.env.invalidate_all()
        both = ["id", "in", (self.azure | self.gemini).ids]
        azure, gemini = ["Azurite Interior"], ["Gemini Furniture"]
        for condition, wanted in (
            (["create_date", "=", "today"], azure),
            (["create_date", ">=", "-7d"], azure),
            (["create_date", "<", "-1y"], gemini),
            (["create_date", "=", month], azure),
            (["create_date", "=", str(today.year)], azure),
            (["create_date", "between", ["yesterday", "tomorrow"]], azure),
            (["create_date", "not in", ["today"]], gemini),
            (["email", "is set", True], azure),
            (["email", "is not set", None], gemini),
            (["id", "between", [self.gemini.id, self.gemini.id]], gemini),
        ):
            with self.subTest(condition):
                names = self._names(self.internal, model="res.partner", domain=[both, condition])
                self.assertEqual(names, wanted)
        for condition, why in (
            (["create_date", "=", "2026-13"], "Write YYYY-MM-DD"),
            (["create_date", ">", "next week"], "Write YYYY-MM-DD"),
            (["create_date", ">", "2026-11-31"], "There is no such day"),
            (["create_date", "between", "today"], "list of two"),
            (["color", ">", "many"], "sort by"),
            (["color", ">", "7 USD"], "without a currency"),
            (["partner_latitude", ">", "nan"], "no value"),
            (["partner_latitude", "<", "inf"], "no value"),
            (["create_date", ">=", "0001-01-01"], "too early or too late"),
            (["create_date", "<", "9999-12-31"], "too early or too late"),
            (["create_date", "<=", "9999"], "too early or too late"),
        ):
            with self.subTest(condition):
                said = self._refused(
                    self.internal, "search_records", model="res.partner", domain=[condition]
                )
                self.assertIn(why, said)
        domain = [both, ["color", "<", "10,000"]]
        self.assertEqual(len(self._names(self.internal, model="res.partner", domain=domain)), 2)

    def test_a_long_text_can_be_read_to_its_end(self):
        words = " ".join(str(n) for n in range(2_000))
        self.azure.comment = words
        given = {"model": "res.partner", "ids": self.azure.ids, "fields": ["comment"]}
        said, _data = self._read(self.internal, "read_records", **given)
        read = ""
        while "to read on" in said:
            text, _bracket, rest = said.partition("comment: ")[2].rpartition("\n[")
            read += text
            offset = int(rest.rstrip("]").rpartition("offset ")[2])
            self.assertEqual(offset, len(read))
            said, _data = self._read(self.internal, "read_records", offset=offset, **given)
        read += said.partition("comment: ")[2]
        self.assertEqual(read, words)

    def test_a_view_is_offered_to_who_has_a_backend(self):
        for person, is_offered in ((self.internal, True), (self.member, False)):
            tools = [one.name for one in self._turn(person)._record_tools()]
            self.assertEqual("open_view" in tools, is_offered)

    def test_the_head_and_the_foot_of_a_table_count_alike(self):
        with patch.object(read, "COUNTED", 2):
            said, _data = self._read(
                self.internal, "search_records", model="res.partner", domain=self.mine, limit=1
            )
        self.assertIn("res.partner (Contact): 2+ records", said)
        self.assertIn("[1 of 2+ records.", said)

    def test_measures_may_be_written_as_in_sql(self):
        for measures, told in (
            (["SUM(color)"], "color:sum"),
            (["count(*)"], "__count"),
            (["max( color )"], "color:max"),
        ):
            with self.subTest(measures):
                _said, data = self._read(
                    self.internal,
                    "aggregate_records",
                    model="res.partner",
                    domain=self.mine,
                    measures=measures,
                )
                self.assertEqual(data["measures"][0]["spec"], told)
        said = self._refused(
            self.internal, "aggregate_records", model="res.partner", measures=["drop(color)"]
        )
        self.assertIn("sum, avg", said)

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

    def test_a_view_shows_all_that_matches_or_none(self):
        given = {"model": "res.partner", "view": "pivot", "domain": self.mine}
        with patch.object(read, "COUNTED", 3):
            _said, data = self._read(self.internal, "open_view", **given)
        self.assertEqual(len(data["action"]["domain"][0][2]), 3)
        with patch.object(read, "COUNTED", 2):
            said = self._refused(self.internal, "open_view", **given)
        self.assertIn("More than 2 records match", said)

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
        said = self._refused(
            self.internal, "search_records", model="res.partner.category", fields=["city"]
        )
        self.assertIn("res.partner, res.users, res.company have it", said)
        said = self._refused(
            self.internal, "search_records", model="res.users", fields=["zip_code"]
        )
        self.assertNotIn("has it", said)
        filters = [{"field": "type", "value": "shop"}]
        said = self._refused(self.internal, "search_records", model="res.partner", filters=filters)
        self.assertIn("There are: contact (Contact), invoice (Invoice)", said)
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

    # ------------------------------------------------------------ limits

    def test_nothing_is_written_while_reading(self):
        def writes(scope, given):
            scope.env.cr.execute("UPDATE res_partner SET city = 'x' WHERE id = %s", [self.azure.id])

        with patch.dict(executor.READS, search_records=writes):
            self._refused(self.internal, "search_records", model="res.partner")
        self.assertEqual(self.azure.city, "Fremont")

    def test_a_slow_query_is_ended(self):
        def sleeps(scope, given):
            scope.env.cr.execute("SELECT current_setting('lock_timeout')")
            self.assertEqual(scope.env.cr.fetchone()[0], "2s")
            scope.env.cr.execute("SELECT pg_sleep(5)")

        with (
            patch.dict(executor.READS, search_records=sleeps),
            patch.object(executor, "STATEMENT_TIMEOUT", 0.05),
        ):
            said = self._refused(self.internal, "search_records", model="res.partner")
        self.assertIn("was ended", said)
        self.assertEqual(executor.LOCK_TIMEOUT, 2.0)

    def test_a_lost_connection_is_not_the_calls_fault(self):
        def breaks(scope, given):
            raise psycopg2.InterfaceError("connection already closed")

        with patch.dict(executor.READS, search_records=breaks):
            said = self._refused(self.internal, "search_records", model="res.partner")
        self.assertIn("connection to the database was lost", said)

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
