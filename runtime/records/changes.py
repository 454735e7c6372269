"""Changes of a call on records: as the person reads them before deciding, and as they are compared afterwards."""

import hashlib
import json
from collections import Counter, defaultdict
from datetime import date, datetime, timedelta
from decimal import Decimal

from odoo import fields
from odoo.exceptions import AccessError
from odoo.tools import SQL, html2plaintext

from ...services import text
from ...services.records import reach as limits
from ...services.records.compare import comparable
from ...tools import labels
from ...tools.rehearsal import SKIPPED
from . import convert, values

MAX_RECORDS = 30  # that are shown of each model
MAX_FIELDS = 20  # of one record
MAX_TEXT = 300  # characters of a value
MOMENT = timedelta(minutes=10)  # a time so near to now is the moment of the change
MESSAGE = "mail.message"
BY_LOT = frozenset({"color"})  # what Odoo's defaults throw dice for


class Changes:
    """:param reach: what the person reaches; others' records are counted and not shown
    :param recorder: what the transaction has told, which is still open
    """

    def __init__(self, reach, recorder):
        self.reach = reach
        self.recorder = recorder
        # sudo: each model - what is compared is never shown, what is shown is asked for with the person's rights
        self.env = reach.env(su=True)
        self.now = fields.Datetime.now()
        # Rows of a relation that are records, too: links make them, so that no model tells of their creation.
        self._of_links = {table for table, *_columns in self.env.registry.many2many_relations}
        self._hidden = 0
        self._new, counts = {}, Counter()
        for model, record_id in recorder.created:
            counts[model] += 1
            self._new[model, record_id] = f"{model}:new {counts[model]}"
        self._new_ids = {record_id for _model, record_id in self._new}
        self._updated = list(self._updates())
        self._made = list(self._creations())

    # ------------------------------------------------------------ rows

    def _columns(self, model, ids, names):
        """``{id: {field: raw}}`` as the columns are now, of the rows that are there."""
        names = [name for name in names if self.env[model]._fields[name].column_type]
        self.env.cr.execute(
            SQL(
                "SELECT %s FROM %s WHERE id = ANY(%s)",
                SQL(", ").join(map(SQL.identifier, ["id", *names])),
                SQL.identifier(self.env[model]._table),
                list(ids),
            )
        )
        return {row[0]: dict(zip(names, row[1:], strict=True)) for row in self.env.cr.fetchall()}

    def _updates(self):
        """``(model, id, {field: (old, new)})`` of what is not what it was."""
        by_model = defaultdict(dict)
        for (model, record_id), old in self.recorder.old.items():
            if (model, record_id) not in self._new:  # its creation tells of it as it is in the end
                by_model[model][record_id] = old
        for model, rows in by_model.items():
            now = self._columns(
                model, rows, sorted({name for old in rows.values() for name in old})
            )
            for record_id in (i for i in rows if i in now):
                changed = self._changed(model, record_id, rows[record_id], now[record_id])
                if changed:
                    yield model, record_id, changed

    def _changed(self, model, record_id, old, now):
        changed = {}
        for name, before in old.items():
            is_link = name not in now
            after = sorted(self.env[model].browse(record_id)[name].ids) if is_link else now[name]
            if not _is_same(before, after):
                changed[name] = (before, after)
        return changed

    def _creations(self):
        """``(model, id, {field: raw})`` of what was created and is still there."""
        by_model = defaultdict(list)
        for model, record_id in self.recorder.created:
            by_model[model].append(record_id)
        for model, ids in by_model.items():
            if limits.is_denied(model):
                continue
            names = [
                name
                for name, field in self.env[model]._fields.items()
                if field.store and field.column_type and name not in SKIPPED | BY_LOT | {"id"}
            ]
            for record_id, row in sorted(self._columns(model, ids, names).items()):
                yield model, record_id, {n: v for n, v in row.items() if v not in (None, "", False)}

    # ------------------------------------------------------------ compared

    def digest(self):
        """Changes with what is changed, whatever ids, numbers, moments and tokens come with it."""
        found = [
            [model, self._same(model, i), name, old, new]
            for model, i, changed in self._updated
            if not limits.is_denied(model)
            for name, old, new in self._plain_pairs(model, changed)
            if not limits.is_secret(name)
        ]
        found += [
            [model, self._same(model, i), name, self._plain(model, name, value)]
            for model, i, row in self._made
            for name, value in row.items()
            if not limits.is_secret(name)
        ]
        found += [
            [model, self._same(model, i), "deleted"]
            for model, i in self.recorder.deleted
            if not limits.is_denied(model)
        ]
        for message, body, people in self._messages():
            on = self._same(message.model, message.res_id) if message.model else ""
            found.append(["message", on, self._comparable(body), sorted(people.ids)])
        lines = sorted(json.dumps(one, ensure_ascii=False, default=str) for one in found)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    def _plain_pairs(self, model, changed):
        """Without what differs in nothing that is compared, such as one moment from the last one."""
        for name, (old, new) in changed.items():
            old, new = self._plain(model, name, old), self._plain(model, name, new)
            if old != new:
                yield name, old, new

    def _same(self, model, record_id):
        if self.env[model]._table in self._of_links:
            return "link"
        return self._new.get((model, record_id), record_id)

    def _plain(self, model, name, value):
        field = self.env[model]._fields[name]
        if isinstance(value, bytes | memoryview):
            return hashlib.sha256(value).hexdigest()
        if isinstance(value, datetime):
            return "moment" if abs(value - self.now) < MOMENT else value.isoformat()
        if isinstance(value, Decimal | float):
            return f"{value:.6g}"
        if isinstance(value, date):
            return value.isoformat()
        if field.type == "many2one":
            return self._same(field.comodel_name, value)
        if field.type == "many2one_reference":
            return "reference"
        if isinstance(value, str):
            return self._comparable(value)
        if isinstance(value, list) and field.relational:
            return [self._same(field.comodel_name, i) for i in value]
        if isinstance(value, dict | list):
            return self._comparable(json.dumps(value, sort_keys=True, default=str))
        return value

    def _comparable(self, value):
        return comparable(value, self.recorder.numbers, self._new_ids)

    # ------------------------------------------------------------ shown

    def shown(self):
        """What the approval's card tells: of records and fields that the person may read."""
        self._hidden = 0
        shown = {
            "changes": list(filter(None, map(self._change, self._readable(self._updated)))),
            "created": list(map(self._creation, self._readable(self._made))),
            "deleted": self._deletions(),
            "messages": self._shown_messages(),
            "numbers": self.recorder.numbers[:MAX_RECORDS],
        }
        return {**shown, "hidden": self._hidden}

    def _readable(self, found):
        """Of each model so many; the others, and what the person may not read, are counted."""
        counts = Counter()
        for model, record_id, row in found:
            if limits.is_denied(model):
                continue
            counts[model] += 1
            if counts[model] > MAX_RECORDS or not self._may_read(model, record_id):
                self._hidden += 1
                continue
            yield model, record_id, row

    def _may_read(self, model, record_id):
        return self.reach.env[model].browse(record_id).has_access("read")

    def _change(self, found):
        model, record_id, row = found
        shown = [
            {
                **self._named(field),
                "old": self._value(field, old),
                "new": self._value(field, new),
            }
            for field, (old, new) in self._shown_fields(model, row)
        ]
        return shown and {**self._record(model, record_id), "fields": shown}

    def _creation(self, found):
        model, record_id, row = found
        shown = [
            {**self._named(field), "new": self._value(field, value)}
            for field, value in self._shown_fields(model, row)
        ]
        return {**self._record(model, record_id), "id": None, "fields": shown}

    def _deletions(self):
        deletions = []
        for (model, record_id), name in self.recorder.deleted.items():
            if limits.is_denied(model):
                continue
            if len(deletions) >= MAX_RECORDS or not self.reach.env[model].has_access("unlink"):
                self._hidden += 1
                continue
            label = labels.of_model(self.env[model])
            deletions.append({"model": model, "label": label, "id": record_id, "name": name})
        return deletions

    def _shown_fields(self, model, row):
        known = self.reach.fields(self.reach.env[model])
        return [(known[name], value) for name, value in row.items() if name in known][:MAX_FIELDS]

    def _named(self, field):
        return {"name": field.name, "label": field._description_string(self.reach.env)}

    def _record(self, model, record_id):
        record = self.reach.env[model].browse(record_id)
        try:
            name = record.display_name
        except AccessError:
            name = f"#{record_id}"
        return {"model": model, "label": labels.of_model(record), "id": record_id, "name": name}

    def _value(self, field, raw):
        """What a column holds, as a person reads it."""
        env = self.reach.env
        if isinstance(raw, dict):  # of languages, or of companies
            raw = raw.get(env.lang) or raw.get("en_US") or raw.get(str(env.company.id))
        if raw is None or raw == [] or (raw is False and field.type != "boolean"):
            return None
        if field.relational:
            ids = raw if isinstance(raw, list) else [raw]
            names = values.names_of(env[field.comodel_name].browse(ids))
            nameless = values.NO_ACCESS["name"]
            return ", ".join(names.get(i, nameless) for i in ids[: values.MAX_LINKS])
        if field.type == "boolean":
            return bool(raw)
        if field.type == "selection":
            return str(convert.choices(env[field.model_name], field).get(raw, raw))
        if isinstance(raw, datetime):
            return convert.local(env[field.model_name], raw)
        if isinstance(raw, date):
            return raw.isoformat()
        if isinstance(raw, Decimal | float):
            return float(raw)
        if isinstance(raw, int):
            return raw
        plain = html2plaintext(raw) if field.type == "html" else str(raw)
        return text.one_line(plain, MAX_TEXT)

    # ------------------------------------------------------------ messages

    def _messages(self):
        """``(message, text, partners)`` of what would be said in chatters, or sent."""
        made = [i for model, i in self.recorder.created if model == MESSAGE]
        for message in self.env[MESSAGE].browse(made).exists():
            people = message.notification_ids.res_partner_id | message.partner_ids
            body = text.one_line(html2plaintext(message.body or ""), MAX_TEXT)
            if body or people:
                yield message, body, people

    def _shown_messages(self):
        shown = []
        for message, body, people in self._messages():
            is_note = message.is_internal or message.subtype_id.internal
            if len(shown) >= MAX_RECORDS or not self._may_read_message(message, is_note):
                self._hidden += 1
                continue
            names = values.names_of(self.reach.env["res.partner"].browse(people.ids))
            nameless = values.NO_ACCESS["name"]
            shown.append(
                {
                    "kind": "note" if is_note else "message",
                    "record": message.record_name or "",
                    "body": body,
                    "recipients": [names.get(i, nameless) for i in people.ids[:MAX_RECORDS]],
                }
            )
        return shown

    def _may_read_message(self, message, is_note):
        if is_note and not self.reach.env.user._is_internal():
            return False
        if not message.model or limits.is_denied(message.model):
            return False
        return self._may_read(message.model, message.res_id)


def _is_same(old, new):
    return old == new or (not old and not new and not isinstance(old, bool | int | float))
