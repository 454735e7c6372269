"""Property of the card: whatever the database holds otherwise after a call was told, or counted, before it.

Calls are drawn by a seed: `WOOW_CARD_DRAWS=300 make test ONLY=apps ARGS='-k tells_all'`.
"""

import json
import os
import random
from collections import Counter, defaultdict

from odoo import Command
from odoo.tests import new_test_user, tagged

from ...services.records.errors import RecordError, RehearsalDiffers
from ...tools.rehearsal import SKIPPED
from ..records_data import RehearsalCase
from .test_records_apps import CASES, FLAGS, RIGHTS

DRAWS = int(os.environ.get("WOOW_CARD_DRAWS", "30"))
SEED = int(os.environ.get("WOOW_CARD_SEED", "1"))
# What is not told, each with its reason.
TABLES = {
    "bus_bus": "what open pages are told of the rest",
    "woow_paas_platform_tool_call": "the call itself",
    "woow_paas_platform_ai_turn": "the turn of the call",
    "woow_paas_platform_turn_event": "the stream of the turn",
    "ir_sequence": "a number that is drawn is told as a number",
    "ir_sequence_date_range": "a number that is drawn is told as a number",
    "mail_message": "told as messages, with their texts, where they are not counted",
    "mail_mail": "told as messages, where they are not counted",
}
COLUMNS = dict.fromkeys(SKIPPED, "Odoo keeps it of each write")
OF_APPS = ("sale.order", "crm.lead", "project.task", "hr.employee", "res.partner", "account.move")
ACTIONS = (
    "records.write({'active': False})",
    "records.message_post(body='By an action')",
    "records.message_subscribe(env['res.partner'].search([], limit=2).ids)",
    "records.activity_schedule('mail.mail_activity_data_todo', summary='Do it')",
    "records.copy()",
    "env['ir.config_parameter'].sudo().set_param('woow.drawn', str(records.ids))",
    "env['ir.attachment'].create({'name': 'a', 'raw': b'x', 'res_model': records._name, 'res_id': records[0].id})",
    "env['mail.mail'].sudo().create({'email_to': 'x@example.net', 'subject': 'S', 'body_html': 'B'})",
    "env.cr.execute('UPDATE res_partner SET ref = %s WHERE id = %s', ['R', env.user.partner_id.id])",
    "env['res.partner.category'].sudo().create({'name': 'Parent', 'child_ids': [(0, 0, {'name': 'Child'})]})",
    "env['res.partner.category'].sudo().search([], limit=3).unlink()",
    "env['res.partner'].sudo().search([('parent_id', '!=', False), ('user_ids', '=', False)], limit=1).unlink()",
    "records.unlink()",
    "records.action_confirm() if records._name == 'sale.order' else records.write({})",
    "records.action_set_won() if records._name == 'crm.lead' else None",
)


@tagged("post_install", "-at_install")
class TestCardTellsAll(RehearsalCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.internal = new_test_user(
            cls.env, "zebra_person", name="Zebra Person", groups=",".join(RIGHTS)
        )
        cls.env["res.partner"].create({"name": "Zebra Customer"})
        cls.env["project.project"].create({"name": "Zebra Project"})
        known = set(cls.assistant.record_access_ids.mapped("model"))
        chosen = {*OF_APPS, "sale.order.line", "res.partner.category"}
        cls.assistant.record_access_ids = [
            Command.create({"model": name}) for name in sorted(chosen - known)
        ]
        lines = cls.assistant.record_access_ids.filtered(lambda one: one.model in chosen)
        lines.write(dict.fromkeys([*FLAGS, "can_delete"], True))
        cls.lines = {line.model: line for line in lines}
        cls.tables = cls._tables()
        cls.env.flush_all()

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
            if table not in TABLES
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
        """``{(table, kind): {id: columns}}`` of what is not as it was."""
        found = {}
        for table, new in after.items():
            old = before[table]
            found[table, "created"] = {i: () for i in new if i not in old}
            found[table, "deleted"] = {i: () for i in old if i not in new}
            found[table, "changed"] = {
                i: [name for name in new[i] if new[i][name] != old[i][name]]
                for i in new
                if i in old and new[i] != old[i]
            }
        return {key: rows for key, rows in found.items() if rows}

    # ------------------------------------------------------------ what was told

    def _told(self, shown):
        """``{(table, kind): rows}`` that the card shows or counts."""
        table = {name: model._table for name, model in self.env.registry.items()}
        told = Counter()
        for kind, entries in (
            ("changed", shown["changes"]),
            ("created", shown["created"]),
            ("deleted", shown["deleted"]),
        ):
            told.update((table[one["model"]], kind) for one in entries)
        for one in shown["others"]:
            told[table.get(one["model"], one["model"]), one["kind"]] += one["count"]
        return told

    def _silent(self, shown, difference):
        """What the database holds otherwise, and nobody was told."""
        told, silent = self._told(shown), []
        by_id = {(one["model"], one["id"]): one for one in shown["changes"]}
        models = {model._table: name for name, model in self.env.registry.items() if model._auto}
        links = defaultdict(set)
        for (table, *_columns), found in self.env.registry.many2many_relations.items():
            links[table] |= set(found)
        fields = {
            (one["model"], field["name"])
            for one in (*shown["changes"], *shown["created"])
            for field in one["fields"]
        }
        more = {one["model"] for one in (*shown["changes"], *shown["created"]) if one.get("more")}
        counted = {one["model"] for one in shown["others"] if one["kind"] != "deleted"}
        messages = bool(shown["messages"])
        for (table, kind), rows in difference.items():
            if table in links and kind != "changed":
                is_told = (
                    told[table, kind] >= len(rows)
                    or links[table] & fields
                    # Links are a part of a record that is counted, as its columns are.
                    or {model for model, _name in links[table]} & (more | counted)
                    or (messages and {"mail.message", "mail.mail"} & {m for m, _n in links[table]})
                )
                if not is_told:
                    silent.append((table, kind, len(rows)))
            elif told[table, kind] < len(rows):
                silent.append((table, kind, len(rows), told[table, kind], list(rows.items())[:3]))
            else:
                for record_id, columns in rows.items():
                    entry = by_id.get((models.get(table), record_id))
                    if kind == "changed" and entry and not entry.get("more"):
                        names = {field["name"] for field in entry["fields"]}
                        moments = {
                            name
                            for name in columns
                            if self.env[models[table]]._fields[name].type == "datetime"
                        }
                        if left := set(columns) - names - moments:
                            silent.append((table, record_id, left))
        return silent

    def _invented(self, shown, difference):
        """Records that were told one by one and are as they were.

        A link that is a record, too, is changed after it was made, each time with another id.
        """
        table = {name: model._table for name, model in self.env.registry.items()}
        links = {name for name, *_columns in self.env.registry.many2many_relations}
        return [
            (one["model"], one["id"])
            for one in shown["changes"]
            if table[one["model"]] not in TABLES
            and one["id"] not in difference.get((table[one["model"]], "changed"), {})
            and not (
                table[one["model"]] in links and (table[one["model"]], "created") in difference
            )
            and not {"many2many"} & {field["type"] for field in one["fields"]}
            and not one.get("more")
        ]

    # ------------------------------------------------------------ calls

    def _draw(self, dice):
        model = dice.choice(OF_APPS)
        ids = self.env[model].with_user(self.internal).search([], limit=40).ids
        values, changed, _refused = CASES.get(model, ({}, {}, {}))
        record_id = dice.choice(ids)
        kinds = ["run_action"] * 5 + ["update_records", "post_message", "schedule_activity"]
        kinds += ["archive_records"] * (self.env[model]._active_name is not None)
        kinds += ["create_record", "delete_records"] if values else []
        name = dice.choice(kinds)
        arguments = {
            "create_record": {"values": values},
            "update_records": {
                "ids": [record_id],
                "values": changed or {"ref": f"R{dice.random()}"},
            },
            "archive_records": {"ids": [record_id]},
            "delete_records": {"ids": [record_id]},
            "post_message": {"id": record_id, "body": "Hello", "is_note": dice.random() < 0.5},
            "schedule_activity": {"id": record_id, "summary": "Call"},
            "run_action": {"ids": [record_id], "action": "Drawn"},
        }[name]
        if name == "run_action":
            self.lines[model].action_ids = [Command.set(self._action(model, dice).ids)]
        return name, {"model": model, **arguments}

    def _action(self, model, dice):
        values = {"name": "Drawn", "model_id": self.env["ir.model"]._get_id(model), "state": "code"}
        return self.env["ir.actions.server"].create({**values, "code": dice.choice(ACTIONS)})

    def test_the_difference_of_two_dumps_is_what_was_told(self):
        dice, done, refused = random.Random(SEED), Counter(), 0
        while sum(done.values()) < DRAWS:
            name, arguments = self._draw(dice)
            with self.subTest(number=sum(done.values()), tool=name, arguments=str(arguments)):
                try:
                    shown = self._rehearse(name, **arguments)
                except RecordError:  # nobody is asked about what fails
                    refused += 1
                    self.assertLess(refused, 10 * DRAWS)
                    continue
                done[name] += 1
                self.assertNotIn("impossible", shown)
                before = self._sums()
                savepoint = self.env.cr.savepoint(flush=True)
                try:
                    result = self._allow()
                except RehearsalDiffers as error:
                    self.fail(f"{shown} is now {error.rehearsal}")
                self.assertEqual(result.outcome, "ok", result.text)
                after = self._sums()
                changed = [table for table in self.tables if before[table] != after[table]]
                new = {table: self._rows(table) for table in changed}
                savepoint.rollback()
                self.env.invalidate_all()
                kept = {table: self._rows(table) for table in changed}
                difference = self._compare(kept, new)
                self.assertEqual(self._silent(shown, difference), [])
                self.assertEqual(self._invented(shown, difference), [])
        self.assertGreater(len(done), 4, done)
