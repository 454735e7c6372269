"""Property of the card: whatever the database holds otherwise after a call was told, or counted, before it.

Calls are drawn by a seed, `WOOW_TEST_SEED=2` for others.
"""

import io
import json
import os
import random
import re
from collections import Counter, defaultdict
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from unittest.mock import patch

from odoo import Command
from odoo.tests import new_test_user, tagged
from odoo.tools import html2plaintext
from PIL import Image

from ...runtime.records import vals
from ...runtime.records.record_scope import RecordScope
from ...runtime.turns.store import OdooStore
from ...services.records.errors import RecordError, RehearsalDiffers
from ..doubles.sampling import draws
from ..records_data import ALL, RehearsalCase
from .test_records_apps import CASES, RIGHTS
from .test_records_wishes import printing

DRAWS = draws(30, 300)
SEED = int(os.environ.get("WOOW_TEST_SEED", "1"))
TRIES = 40  # of a kind of call until one is found that Odoo carries out
OF_APPS = ("sale.order", "crm.lead", "project.task", "hr.employee", "res.partner", "account.move")
# What is told in another way, or is no effect; each with its reason.
TABLES = {
    "bus_bus": "what open pages are told of the rest",
    "woow_paas_platform_tool_call": "the call itself",
    "woow_paas_platform_ai_turn": "the turn of the call",
    "woow_paas_platform_ai_turn_event": "the stream of the turn",
    "ir_sequence": "a number that is drawn is told as a number",
    "ir_sequence_date_range": "a number that is drawn is told as a number",
    "mail_message": "compared as messages",
    "mail_mail": "compared as messages",
}
COLUMNS = {
    "write_uid": "Odoo keeps it of each write",
    "write_date": "Odoo keeps it of each write",
    "create_uid": "Odoo keeps it of each creation",
    "create_date": "Odoo keeps it of each creation",
    "parent_path": "follows from the parent, which is told",
}
# Modules whose functions follow a commit and that nobody is told of.
FOLLOWING = {
    "odoo.addons.bus.models.bus": "what open pages are told of the rest",
    "odoo.addons.base.models.ir_cron": "wakes Odoo's own jobs",
    "odoo.addons.mail.models.mail_mail": "sends the mails that are told",
    "odoo.addons.account.models.partner": "counts how often one has bought, in the database",
    "odoo.addons.woow_paas_platform.tools.notify": "wakes who reads the turn",
}
CODE = (
    "records.write({'active': False})",
    "records.message_post(body='By an action')",
    "records.message_post(body='To two', partner_ids=env['res.partner'].search([('email', '!=', False)], limit=2).ids)",
    "records.copy()",
    "env['ir.config_parameter'].sudo().set_param('woow.drawn', str(records.ids))",
    "env['ir.attachment'].create({'name': 'a', 'raw': b'x', 'res_model': records._name, 'res_id': records[0].id})",
    "env['mail.mail'].sudo().create({'email_to': 'x@example.net', 'subject': 'S', 'body_html': 'B'})",
    "one = env['mail.mail'].sudo().create({'email_to': 'x@example.net', 'subject': 'S', 'body_html': 'B'})\n"
    "one.copy({'mail_message_id': one.mail_message_id.id, 'email_to': 'y@example.net', 'body_html': 'C'})",
    "env['mail.mail'].sudo().create({'mail_message_id': env['mail.message'].sudo().search([], limit=1).id,"
    " 'email_to': 'x@example.net', 'body_html': 'Again'})",
    "env.cr.execute('UPDATE res_partner SET ref = %s WHERE id = %s', ['R', env.user.partner_id.id])",
    "env['res.partner.category'].sudo().create({'name': 'Parent', 'child_ids': [(0, 0, {'name': 'Child'})]})",
    "env['res.partner.category'].sudo().search([], limit=3).unlink()",
    "env['res.partner'].sudo().search([('parent_id', '!=', False), ('user_ids', '=', False)], limit=1).unlink()",
    "records.unlink()",
    "user.sudo().write({'group_ids': [(4, env.ref('base.group_multi_company').id)]})",
)
STATES = (
    *("code", "object_write", "object_create", "object_copy", "webhook", "multi"),
    *("next_activity", "mail_post", "followers", "remove_followers"),
)
STANDARD = (
    ("sale.order", "Confirm"),
    ("sale.order", "Cancel"),
    ("sale.order", "Create Invoice"),
    ("sale.order", "Send by Email"),
    ("account.move", "Post"),
    ("account.move", "Register Payment"),
    ("account.move", "Send by Email"),
    ("crm.lead", "Mark as Won"),
    ("crm.lead", "Mark as Lost"),
)
READY = {("account.move", "Post"): [("state", "=", "draft")]}
TOOLS = (
    *("create_record", "update_records", "archive_records", "delete_records"),
    *("post_message", "schedule_activity", "change_activity"),
)


@tagged("post_install", "-at_install")
class TestCardTellsAll(RehearsalCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        rights = [*RIGHTS, "account.group_account_manager", "base.group_multi_company"]
        cls.internal = new_test_user(
            cls.env, "zebra_person", name="Zebra Person", groups=",".join(rights[:-1])
        )
        cls._make_records()
        known = set(cls.assistant.record_access_ids.mapped("model"))
        chosen = {*OF_APPS, "sale.order.line", "account.move.line", "res.partner.category"}
        chosen |= {"product.product", "crm.tag", "project.tags"}
        cls.assistant.record_access_ids = [
            Command.create({"model": name}) for name in sorted(chosen - known)
        ]
        cls.assistant.record_access_ids.write(dict.fromkeys((*ALL, "can_act"), True))
        cls.lines = {line.model: line for line in cls.assistant.record_access_ids}
        cls.tables = cls._tables()
        cls.env.flush_all()

    @classmethod
    def _make_records(cls):
        """What the actions of this test's applications need beside the demo's records."""
        env = cls.env
        if not env["account.journal"].search([("type", "=", "sale")], limit=1):
            env["account.chart.template"].try_loading(
                "generic_coa", company=env.company, install_demo=False
            )
        customer = env["res.partner"].create({"name": "Zebra Customer", "email": "z@example.com"})
        env["project.project"].create({"name": "Zebra Project"})
        env["crm.lost.reason"].create({"name": "Zebra Reason"})
        product = env["product.product"].create(
            {"name": "Zebra", "list_price": 50, "type": "service", "invoice_policy": "order"}
        )
        lines = [Command.create({"product_id": product.id, "product_uom_qty": 2})]
        orders = env["sale.order"].create(
            [
                # Not of this second, which confirming an order would leave as it is.
                {
                    "partner_id": customer.id,
                    "order_line": lines,
                    "date_order": "2026-01-05 08:00:00",
                }
                for _ in range(3)
            ]
        )
        orders[0].action_confirm()
        lines = [Command.create({"name": "Work", "quantity": 2, "price_unit": 100})]
        moves = env["account.move"].create(
            [
                {"move_type": "out_invoice", "partner_id": customer.id, "invoice_line_ids": lines}
                for _ in range(4)
            ]
        )
        moves[:2].action_post()
        env["crm.lead"].create(
            {"name": "Zebra", "type": "opportunity", "partner_id": customer.id}
        ).activity_schedule("mail.mail_activity_data_todo", user_id=cls.internal.id)

    @classmethod
    def _tables(cls):
        """``{table: its columns that are compared}``"""
        cls.env.cr.execute(
            """
            SELECT table_name, array_agg(column_name::text) FROM information_schema.columns
              JOIN information_schema.tables USING (table_schema, table_name)
             WHERE table_schema = 'public' AND table_type = 'BASE TABLE' GROUP BY 1
            """
        )
        return {
            table: [name for name in names if name not in COLUMNS]
            for table, names in cls.env.cr.fetchall()
            if table not in TABLES or table in ("mail_message", "mail_mail")
        }

    # ------------------------------------------------------------ dumps

    def _sums(self):
        """``{table: a sum over its rows}``, so that only what is another one is read."""
        self.env.flush_all()
        parts = [
            f"SELECT '{table}', count(*), coalesce(sum(hashtextextended(t::text, 0)), 0)::text FROM \"{table}\" t"
            for table in self.tables
        ]
        found = {}
        for start in range(0, len(parts), 100):
            self.env.cr.execute(" UNION ALL ".join(parts[start : start + 100]))
            found |= {table: tuple(rest) for table, *rest in self.env.cr.fetchall()}
        return found

    def _rows(self, table):
        """``{id, or the row itself where there is none: row}``"""
        columns = ", ".join(f'"{name}"' for name in self.tables[table])
        self.env.cr.execute(f'SELECT row_to_json(r)::text FROM (SELECT {columns} FROM "{table}") r')
        rows = [json.loads(row) for (row,) in self.env.cr.fetchall()]
        return {row.get("id") or json.dumps(row, sort_keys=True): row for row in rows}

    def _compare(self, before, after):
        """``{(table, kind): {id: row, or of what is changed its columns}}`` of what is not as it was."""
        found = {}
        for table, new in after.items():
            old = before[table]
            found[table, "created"] = {i: new[i] for i in new if i not in old}
            found[table, "deleted"] = {i: old[i] for i in old if i not in new}
            found[table, "changed"] = {
                i: columns
                for i in new
                if i in old
                and (columns := [n for n in new[i] if not _is_same(old[i][n], new[i][n])])
            }
        return {key: rows for key, rows in found.items() if rows}

    # ------------------------------------------------------------ what was told

    def _silent(self, shown, difference):
        """What the database holds otherwise, and nobody was told."""
        card = _Card(self.env, shown)
        silent = []
        for (table, kind), rows in difference.items():
            if table in ("mail_message", "mail_mail"):
                continue
            if table in card.links:
                silent += card.silent_links(table, kind, rows)
            elif kind == "changed":
                silent += card.silent_changes(table, rows)
            elif table == "ir_attachment" and kind != "deleted":
                silent += card.silent_files(kind, rows)
            elif len(rows) > card.told[table, kind]:
                silent.append((table, kind, len(rows), card.told[table, kind]))
            elif kind == "created":
                silent += card.silent_columns(table, rows.values())
        return silent + self._silent_messages(card, difference)

    def _silent_messages(self, card, difference):
        """Each message and each mail has its text and its people on the card, or is counted there."""
        rows = {
            table: list(map(json.loads, difference.get((table, "created"), ())))
            for table in ("mail_message_res_partner_rel", "mail_mail_res_partner_rel")
        }
        rows["mail_message_res_partner_rel"] += difference.get(
            ("mail_notification", "created"), {}
        ).values()
        people = defaultdict(set)
        for table, key in (
            ("mail_message_res_partner_rel", "mail_message_id"),
            ("mail_mail_res_partner_rel", "mail_mail_id"),
        ):
            for row in rows[table]:
                people[key, row[key]].add(row["res_partner_id"])
        silent, counted = [], card.counted["mail.message", "created"]
        mails = list(difference.get(("mail_mail", "created"), {}).values())
        for i, message in difference.get(("mail_message", "created"), {}).items():
            carried = [
                mail
                for mail in mails
                if mail["mail_message_id"] == i
                and mail["is_notification"]
                and _plain(message["body"]) in _plain(mail["body_html"])
            ]
            is_shell = any(mail["mail_message_id"] == i for mail in mails if mail not in carried)
            mails = [mail for mail in mails if mail not in carried]
            partners = people["mail_message_id", i].union(
                *(people["mail_mail_id", mail["id"]] for mail in carried)
            )
            found = self._told_as(card, message["body"], partners, carried)
            if not found and not (is_shell and not partners and not carried):
                counted -= 1
                if counted < 0:
                    silent.append(("mail.message", i, message["body"], partners))
        textless = [one for one in card.shown["messages"] if one["body"] is None]
        for mail in mails:
            to = people["mail_mail_id", mail["id"]]
            if self._told_as(card, mail["body_html"], to, [mail]):
                continue
            # of a record that the person may not read: the card says to whom, and that its text is not shown
            told = [one for one in textless if mail["email_to"] in " ".join(one["recipients"])]
            if told and not to:
                textless.remove(told[0])
            else:
                silent.append(("mail.mail", mail["id"], mail["body_html"]))
        return silent

    def _told_as(self, card, html, people, mails):
        """Whether a message of the card says this to all of these."""
        names = self.env["res.partner"].browse(people - {None}).mapped("display_name")
        wanted = {
            *names,
            *(mail["email_to"] for mail in mails),
            *(mail["email_cc"] for mail in mails),
        }
        text = _comparable(html2plaintext(html or ""))
        return any(
            _comparable(one["body"]) == text
            and all(who in " ".join(one["recipients"]) for who in wanted if who)
            for one in card.shown["messages"]
            if one["body"] is not None
        )

    def _invented(self, shown, difference):
        """Records that were told one by one and are as they were.

        A link that is a record, too, is changed after it was made, each time with another id.
        """
        table = {name: model._table for name, model in self.env.registry.items()}
        links = {name for name, *_columns in self.env.registry.many2many_relations}
        return [
            (one["model"], one["id"])
            for one in shown["changes"]
            if one["id"] not in difference.get((table[one["model"]], "changed"), {})
            and not (
                table[one["model"]] in links and (table[one["model"]], "created") in difference
            )
            and not {"many2many"} & {field["type"] for field in one["fields"]}
            and not one.get("more")
            and table[one["model"]] not in TABLES
        ]

    # ------------------------------------------------------------ calls

    def _deck(self, dice):
        """``(model, kind)`` of the calls: each kind and each model comes as often as any other."""
        kinds = [*TOOLS, *STATES, *STANDARD]
        models = list(OF_APPS)
        while True:
            dice.shuffle(kinds)
            dice.shuffle(models)
            for number, kind in enumerate(kinds):
                yield models[number % len(models)], kind

    def _call(self, model, kind, dice):
        """``(tool, arguments)`` of a call of this kind; None where there is nothing that it could be about."""
        if isinstance(kind, tuple):
            model, action = kind
            record_id = self._any(model, dice, READY.get(kind, ()))
            given = {"reason": "Zebra Reason"} if action == "Mark as Lost" else {}
            arguments = {"ids": [record_id], "action": action, "values": given}
            return "run_action", {"model": model, **arguments}
        if kind in STATES:
            self.lines[model].action_ids = [Command.set(self._action(model, kind, dice).ids)]
            record_id = self._any(model, dice)
            if kind == "remove_followers":
                self.env[model].browse(record_id).message_subscribe(self.internal.partner_id.ids)
            return "run_action", {"model": model, "ids": [record_id], "action": "Drawn"}
        record_id = self._any(model, dice)
        arguments = {
            "create_record": lambda: {"values": self._values(model, dice, None)},
            "update_records": lambda: {
                "ids": [record_id],
                "values": self._values(model, dice, self.env[model].browse(record_id)),
            },
            "archive_records": lambda: {"ids": [record_id]},
            "delete_records": lambda: {"ids": [record_id]},
            "post_message": lambda: {
                "id": record_id,
                "body": "Hello",
                "is_note": dice.random() < 0.5,
                "to": dice.choice(([], ["Zebra Customer"])),
                "files": dice.choice(([], [self._file().name])),
            },
            "schedule_activity": lambda: {"id": record_id, "summary": "Call"},
            "change_activity": lambda: {
                "id": self._active(model, record_id, dice),
                "do": dice.choice(("done", "move", "cancel")),
                "date": "2031-01-01",
            },
        }[kind]()
        return kind, {"model": model, **arguments}

    def _any(self, model, dice, domain=()):
        return dice.choice(self.env[model].with_user(self.internal).search(domain, limit=60).ids)

    def _active(self, model, record_id, dice):
        """A record with an activity."""
        record = self.env[model].browse(record_id)
        if not record.activity_ids:
            record.activity_schedule("mail.mail_activity_data_todo", user_id=self.internal.id)
            self.env.flush_all()
        return record_id

    def _file(self):
        content = io.BytesIO()
        Image.new("RGB", (64, 64), (200, 30, 90)).save(content, "PNG")
        return self.env["ir.attachment"].create(
            {
                "name": "zebra.png",
                "raw": content.getvalue(),
                "res_model": "discuss.channel",
                "res_id": self._turn(self.internal).channel_id.id,
            }
        )

    def _action(self, model, state, dice):
        """A server action that is released."""
        Action, get_id = self.env["ir.actions.server"], self.env["ir.model"]._get_id
        values = {"name": "Drawn", "model_id": get_id(model), "state": state}
        field = {"crm.lead": "city", "sale.order": "client_order_ref", "account.move": "ref"}
        partner = self.env["res.partner"].search([("email", "!=", False)], limit=2)
        more = {
            "code": {"code": dice.choice(CODE)},
            "object_write": {"update_path": field.get(model, "name"), "value": "Written"},
            "object_create": {"crud_model_id": get_id("res.partner"), "value": "Made"},
            "object_copy": {
                "crud_model_id": get_id("res.partner"),
                "resource_ref": f"res.partner,{partner[0].id}",
            },
            "webhook": {
                "webhook_url": "https://hook.example/in",
                "webhook_field_ids": [
                    Command.set(self.env["ir.model.fields"]._get(model, "display_name").ids)
                ],
            },
            "next_activity": {
                "activity_type_id": self.env.ref("mail.mail_activity_data_todo").id,
                "activity_summary": "By an action",
                "activity_user_type": "specific",
                "activity_user_id": self.internal.id,
            },
            "mail_post": {
                "template_id": self._template(model).id,
                "mail_post_method": dice.choice(("email", "comment", "note")),
            },
            "followers": {"followers_type": "specific", "partner_ids": [Command.set(partner.ids)]},
            "remove_followers": {
                "followers_type": "specific",
                "partner_ids": [Command.set(self.internal.partner_id.ids)],
            },
        }
        if state == "multi":
            children = [self._action(model, one, dice) for one in dice.sample(STATES[:5], 2)]
            return Action.create({**values, "child_ids": [Command.set([c.id for c in children])]})
        return Action.create({**values, **more[state]})

    def _template(self, model):
        return self.env["mail.template"].create(
            {
                "name": "Drawn",
                "model_id": self.env["ir.model"]._get_id(model),
                "subject": "About {{ object.display_name }}",
                "body_html": "<p>It is <t t-out='object.display_name'/>.</p>",
                "email_to": "stranger@example.net",
                "auto_delete": False,
            }
        )

    # ------------------------------------------------------------ values

    def _values(self, model, dice, record):
        """Values of some fields that the person may write, by their types; of a new record what it needs, too."""
        context = {"lang": "en_US", "allowed_company_ids": self.internal.company_ids.ids}
        env = self.env(user=self.internal.id, su=False, context=context)
        scope = RecordScope(env, self.assistant._record_access())
        fields = {**scope.fields(env[model]), **scope.pictures(env[model])}
        names = [n for n, f in fields.items() if vals.is_writable(env[model], f) and n != "active"]
        found = {}
        for name in dice.sample(names, min(len(names), 12)):
            value = self._value(env, fields[name], dice, record)
            if value is not None and len(found) < 4:
                found[name] = value
        if record is None:
            created = CASES.get(model, ({"move_type": "Customer Invoice"},))[0]
            return {**(found if dice.random() < 0.5 else {}), **created}
        return found or CASES.get(model, ({}, {"ref": "R"}))[1]

    def _value(self, env, field, dice, record):
        if field.relational:
            comodel = env[field.comodel_name]
            some = comodel.search([], limit=20).ids if comodel.has_access("read") else ()
            if not some:
                return None
            if field.type == "many2one":
                return dice.choice(some)
            if field.type == "many2many":
                picked = dice.sample(some, min(len(some), 2))
                return picked if record is None else {dice.choice(("add", "set")): picked}
            lines = record[field.name] if record is not None else ()
            return {"remove": [lines[0].id]} if lines else None
        if field.type == "selection":
            return dice.choice(field.get_values(env) or [None]) or None
        if field.type in ("binary", "image"):
            return self._file().name
        day = date(2030, 1, 1) + timedelta(days=dice.randrange(900))
        made = {
            "char": f"Text {dice.randrange(1000)}",
            "text": f"Long text {dice.randrange(1000)}\nof two lines",
            "html": {"set": f"**Rich** text {dice.randrange(1000)}"},
            "integer": dice.randrange(1, 90),
            "float": dice.randrange(1, 900) / 4,
            "monetary": dice.randrange(1, 90_000) / 100,
            "boolean": dice.random() < 0.5,
            "date": day.isoformat(),
            "datetime": f"{day.isoformat()} 10:30",
        }
        return made.get(field.type)

    # ------------------------------------------------------------ the property

    def test_the_difference_of_two_dumps_is_what_was_told(self):
        dice, done = random.Random(SEED), []
        deck = self._deck(dice)
        with printing():
            while len(done) < DRAWS:
                model, kind = next(deck)
                if drawn := self._carried_out(model, kind, dice):
                    done.append(drawn)
        models, kinds = Counter(model for model, _kind in done), Counter(kind for _m, kind in done)
        self.assertGreaterEqual(min(models[one] for one in OF_APPS), DRAWS // 15, models)
        for kind in (*TOOLS, *STATES, *STANDARD):
            self.assertGreaterEqual(kinds[kind], DRAWS // 30, kinds)

    def _carried_out(self, model, kind, dice):
        """A call of this kind, of this model or another one, that Odoo carries out; its ``(model, kind)``."""
        for attempt in range(TRIES):
            tried = model if attempt < TRIES // 2 else dice.choice(OF_APPS)
            name, arguments = self._call(tried, kind, dice)
            try:
                shown = self._rehearse(name, **arguments)
            except RecordError:  # nobody is asked about what fails
                self.env.invalidate_all()
                continue
            with self.subTest(kind=kind, tool=name, arguments=str(arguments)):
                self._see(shown, kind)
            return arguments["model"], kind
        return self.fail(f"Nothing of {kind} is carried out.")

    def _see(self, shown, kind):
        self.assertNotIn("impossible", shown)
        before = self._sums()
        savepoint = self.env.cr.savepoint(flush=True)
        try:
            with self._following() as following:
                result = self._allow()
        except RehearsalDiffers as error:
            savepoint.rollback()
            self.env.invalidate_all(flush=False)
            self.fail(f"{shown} is now {error.rehearsal}")
        self.assertEqual(result.outcome, "ok", result.text)
        after = self._sums()
        changed = [table for table in self.tables if before[table] != after[table]]
        new = {table: self._rows(table) for table in changed}
        savepoint.rollback()
        self.env.invalidate_all(flush=False)
        kept = {table: self._rows(table) for table in changed}
        difference = self._compare(kept, new)
        self.assertEqual(self._silent(shown, difference), [], shown)
        self.assertEqual(self._invented(shown, difference), [])
        told = [one for one in shown["outward"] if one["kind"] in ("request", "callback")]
        self.assertEqual(len(told), len(following), following)
        if kind == "webhook":
            self.assertIn({"kind": "request", "what": "https://hook.example"}, told)

    @contextmanager
    def _following(self):
        """What would follow the commit of a call, by the modules of its functions."""
        found, inserts = [], OdooStore._insert_result

        def insert(store, env, *args):
            for one in env.cr.postcommit._funcs:
                function = getattr(one, "func", one)
                if getattr(function, "__module__", "?") not in FOLLOWING:
                    found.append(f"{function.__module__}.{function.__qualname__}")
            return inserts(store, env, *args)

        with patch.object(OdooStore, "_insert_result", insert):
            yield found


class _Card:
    """What a card tells and counts, by table.

    :ivar told: ``{(table, kind): rows}``
    :ivar counted: ``{(model, kind): rows}`` that are only counted
    :ivar links: ``{table of links: {(model, field): column of that side}}``
    """

    def __init__(self, env, shown):
        self.shown = shown
        self.model_of = {model._table: name for name, model in env.registry.items() if model._auto}
        self._env = env
        table = {name: model._table for name, model in env.registry.items()}
        self.counted, self.told, self.links = Counter(), Counter(), defaultdict(dict)
        for one in shown["others"]:
            self.counted[one["model"], one["kind"]] += one["count"]
            self.told[table.get(one["model"], one["model"]), one["kind"]] += one["count"]
        for kind, entries in (
            ("changed", shown["changes"]),
            ("created", shown["created"]),
            ("deleted", shown["deleted"]),
        ):
            self.told.update((table[one["model"]], kind) for one in entries)
        of_links = {name for name, *_columns in env.registry.many2many_relations}
        # A link that is a record, too, is told as changed after it was made.
        self.told.update(
            (table[one["model"]], "created")
            for one in shown["changes"]
            if table[one["model"]] in of_links
        )
        self.changes = {(one["model"], one["id"]): one for one in shown["changes"]}
        self.deleted = {(one["model"], one["id"]) for one in shown["deleted"]}
        for (name, column, _other), found in env.registry.many2many_relations.items():
            if name not in self.model_of:
                self.links[name] |= dict.fromkeys(found, column)

    def silent_changes(self, table, rows):
        model, left = (
            self.model_of.get(table),
            self.counted[self.model_of.get(table, table), "changed"],
        )
        untold = []
        for record_id, columns in rows.items():
            entry = self.changes.get((model, record_id), {"fields": ()})
            unnamed = set(columns) - {field["name"] for field in entry["fields"]}
            if len(unnamed) > entry.get("more", 0):
                untold.append((table, record_id, unnamed, entry.get("more", 0)))
        # A row that a statement has written of which nobody can tell, or that may not be read, is counted.
        yield from untold[max(left, 0) :]

    def silent_columns(self, table, rows):
        """Of what is created no id is told: all together have at most as many values as are told."""
        model = self.model_of.get(table)
        entries = [one for one in self.shown["created"] if one["model"] == model]
        if self.counted[model, "created"] or not entries:
            return
        known = self._env[model]._fields
        columns = sum(
            name != "id" and value not in (None, "", False) and name in known
            for row in rows
            for name, value in row.items()
        )
        told = sum(len(one["fields"]) + one.get("more", 0) for one in entries)
        if columns > told:
            yield table, "columns", columns, told

    def silent_files(self, kind, rows):
        """Pictures are files of their own, in several sizes, that are told as fields of their records."""
        left = self.told["ir_attachment", kind]
        pictured = {
            one["model"]
            for one in (*self.shown["changes"], *self.shown["created"])
            if one.get("more") or {"binary", "image"} & {field["type"] for field in one["fields"]}
        }
        for row in rows.values():
            field = (
                self._env[row["res_model"]]._fields.get(row["res_field"])
                if row["res_field"]
                else None
            )
            if field is None or row["res_model"] not in pictured:
                left -= 1
        if left < 0:
            yield "ir_attachment", kind, -left

    def silent_links(self, table, kind, rows):
        """Each link is told by a field of one of its sides, or is counted, by itself or with its record."""
        left = self.counted[table, kind]
        for row in map(json.loads, rows):
            if self._is_linked(table, row):
                continue
            left -= 1
        if left < 0:
            yield table, kind, -left

    def _is_linked(self, table, row):
        for (model, field), column in self.links[table].items():
            entry = self.changes.get((model, row[column]))
            if entry and (field in {one["name"] for one in entry["fields"]} or entry.get("more")):
                return True
            if (model, row[column]) in self.deleted:
                return True
            if entry is None and any(self.counted[model, one] for one in ("changed", "created")):
                return True
            if model in ("mail.message", "mail.mail") and self.shown["messages"]:
                return True  # who gets it, and which files, is compared with the message
            if not self._env[model].browse(row[column]).exists() and any(
                one["model"] == model
                and (field in {f["name"] for f in one["fields"]} or one.get("more"))
                for one in self.shown["created"]
            ):
                return True
        return False


def _is_same(old, new):
    """Moments are the same within a minute, since a person reads no seconds; and NULL is what Odoo reads it as."""
    if old == new or (not old and not new):
        return True
    try:
        first, second = datetime.fromisoformat(old), datetime.fromisoformat(new)
    except (TypeError, ValueError):
        return False
    return "T" in old and first.replace(second=0, microsecond=0) == second.replace(
        second=0, microsecond=0
    )


def _comparable(text):
    """Without addresses of links, which hold ids of what is new."""
    return " ".join(re.sub(r"\[\d+\]|\S*/\S*", " ", text).split())


def _plain(html):
    return " ".join(html2plaintext(html or "", include_references=False).split())
