"""Changes of a call on records: as the person reads them before deciding, and as they are compared afterwards.

What is not shown one by one is counted by model and kind, and what nobody can know in advance is said.
"""

import hashlib
import json
from collections import Counter, defaultdict
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from urllib.parse import urlsplit

from odoo import fields
from odoo.tools import SQL, html2plaintext

from ...services import text
from ...services.records import deny_list, importance
from ...services.records.compare import comparable, without_stamps
from ...tools import labels, rehearsal
from . import convert, values

MAX_RECORDS = 30  # that are shown of each model at once
MAX_KEPT = 2_000  # more of them that pages of their own show
MAX_KEPT_TEXT = 400_000  # characters of what these say
MAX_BEFORE_TEXT = 100_000  # of the JSON of what was shown before, once it is asked about again
MAX_FIELDS = 1_000  # of all records together
MAX_TEXT = 4_000  # characters of a value
MAX_BODY = 20_000  # characters of a message
MAX_NAME = 200  # characters of a file's name
MOMENT = timedelta(minutes=10)  # a time so near to now is the moment of the change
MESSAGE, MAIL, FILE = "mail.message", "mail.mail", "ir.attachment"
BY_LOT = frozenset({"color"})  # what Odoo's defaults throw dice for
OF_IDS = frozenset({"matching_number"})  # what Odoo makes of the id of a new record
PDF, CALENDAR = "application/pdf", "text/calendar"
TEXTS = frozenset(
    {"application/json", "application/xml"}
)  # that may hold numbers and ids of what is new
_PICTURE = ("mimetype", "file_size", "checksum")
LIVE = frozenset({"bus.bus"})  # what open pages are told of the rest
# Their columns hold ids and moments of their own; what they say is compared as messages, files and changes.
COUNTED = frozenset({MESSAGE, MAIL, "mail.notification", "mail.tracking.value", FILE, *LIVE})


class Changes:
    """:param scope: of the call; what the person may not read is counted and not shown
    :param recorder: what the transaction has told, which is still open
    :param arguments: of the call, for what it names itself
    :param made: ``[(model, id)]`` of calls before it, whose ids are others when these are carried out
    """

    def __init__(self, scope, recorder, arguments=(), made=()):
        self.scope = scope.of_person()
        self.recorder = recorder
        # sudo: each model - what is compared is never shown, what is shown is asked for with the person's rights
        self.env = scope.env(su=True)
        self.now = fields.Datetime.now()
        self._named = importance.named(self._fields_of, dict(arguments or {}))
        # Rows of a relation that are records, too: links make them, so that no model tells of their creation.
        self._of_links = {table for table, *_columns in self.env.registry.many2many_relations}
        self._counts = Counter()
        self._unshown = defaultdict(list)
        self._kept = []
        self._room = MAX_FIELDS
        self._is_cut = False
        self._new, self._earlier = _numbered(recorder.created, "new"), _numbered(made, "earlier")
        self._new_ids = {record_id for _model, record_id in (*self._new, *self._earlier)}
        self._pictures, self._of_pictures = defaultdict(dict), set()
        self._find_pictures()
        self._updated = list(self._updates())
        self._old_ids = {record_id for _model, record_id, _row in self._updated}
        self._made = importance.parents_first(self._fields_of, self._creations(), self._named)
        # What was made and deleted at once is neither.
        self._deleted = {
            key: name for key, name in recorder.deleted.items() if key not in self._new
        }
        self._messages = self._find_messages()

    def _fields_of(self, model):
        return self.env[model]._fields if model in self.env else {}

    # ------------------------------------------------------------ rows

    def _columns(self, model, ids):
        """``{id: {field: raw}}`` as the columns are now, of the rows that are there."""
        names = rehearsal.columns_of(self.env[model])
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
        for model, record_id in [*self.recorder.old, *self.recorder.links]:
            # Its creation tells of it as it is in the end, its deletion that it is not any more.
            if (model, record_id) not in self._new | self.recorder.deleted:
                by_model[model][record_id] = self.recorder.old.get((model, record_id), {})
        for model, record_id in self._pictures.keys() - self._new.keys():
            by_model[model].setdefault(record_id, {})
        for model, rows in by_model.items():
            now = self._columns(model, rows)
            for record_id in (i for i in rows if i in now):
                changed = {
                    name: (before, now[record_id][name])
                    for name, before in rows[record_id].items()
                    if not _is_same(before, now[record_id][name])
                }
                changed |= self._links(model, record_id) | self._pictures[model, record_id]
                if changed:
                    yield model, record_id, changed

    def _links(self, model, record_id):
        """``{field: (ids before, ids after)}`` of relations of many to many that are not what they were."""
        record, found = self.env[model].browse(record_id), {}
        for name, before in self.recorder.links.get((model, record_id), {}).items():
            after = rehearsal.linked(record, record._fields[name])
            if before != after:
                found[name] = (before, after)
        return found

    def _find_pictures(self):
        """Pictures are files beside their record: ``{(model, id): {field: (old, new)}}``, each as type, size and hash.

        Smaller ones are computed of them.
        """
        touched = [i for model, i in (*self.recorder.old, *self.recorder.created) if model == FILE]
        for file in self.env[FILE].browse(touched).exists():
            field = self._fields_of(file.res_model).get(file.res_field)
            if not isinstance(field, fields.Image):
                continue
            self._of_pictures.add((FILE, file.id))
            if convert.is_picture(field):
                old, new = self.recorder.old.get((FILE, file.id)), file.read(_PICTURE)[0]
                self._pictures[file.res_model, file.res_id][field.name] = (
                    old and tuple(old[name] for name in _PICTURE),
                    tuple(new[name] for name in _PICTURE),
                )

    def _creations(self):
        """``(model, id, {field: raw})`` of what was created and is still there."""
        by_model = defaultdict(list)
        for model, record_id in self.recorder.created:
            by_model[model].append(record_id)
        for model, ids in by_model.items():
            named = self._named.get(model, ())
            for record_id, row in sorted(self._columns(model, ids).items()):
                kept = {
                    name: value
                    for name, value in row.items()
                    if name in named or name == "active" or value not in (None, "", False)
                }
                more = self._links(model, record_id) | self._pictures[model, record_id]
                yield model, record_id, kept | {name: new for name, (_old, new) in more.items()}

    # ------------------------------------------------------------ compared

    def digest(self):
        """Changes with what is changed, whatever ids, numbers, moments and tokens come with it."""
        found = [
            [model, self._same(model, i), name, old, new]
            for model, i, changed in self._updated
            for name, old, new in self._plain_pairs(model, changed)
            if not deny_list.is_secret(name)
        ]
        found += [
            [model, self._same(model, i), name, self._plain(model, name, value)]
            for model, i, row in self._made
            if model not in COUNTED
            for name, value in row.items()
            if not deny_list.is_secret(name)
            and name not in BY_LOT
            and name not in self._elapsed(model, row)
        ]
        found += [
            [model, self._earlier.get((model, i), i), "deleted"] for model, i in self._deleted
        ]
        made = Counter(model for model, _i, _row in self._made if model not in LIVE)
        found += [["made", *one] for one in made.items()]
        found += [["untold", *key, count] for key, count in self._untold().items()]
        found += [[*one[:2], self._comparable(one[2])] for one in self.recorder.outward]
        for message in self._messages:
            on = self._same(message.model, message.res_id) if message.model else ""
            people = sorted((one.id, one.email or "") for one in message.people)
            body = self._comparable(str(message.raw))
            subject = self._comparable(message.subject)
            files = self._contents(message.files)
            found.append([message.kind, on, subject, body, people, message.others, files])
        made = self.env[FILE].browse(i for model, i in self.recorder.created if model == FILE)
        for file in made.exists():
            on = self._same(file.res_model, file.res_id) if file.res_model in self.env else ""
            about = [file.res_model or "", on, file.res_field or ""]
            found.append([FILE, *about, *self._contents(file)])
        lines = sorted(json.dumps(one, ensure_ascii=False, default=str) for one in found)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    def _plain_pairs(self, model, changed):
        """Leave out what differs in nothing that is compared, such as one moment from the last one."""
        elapsed = self._elapsed(model, {name: new for name, (_old, new) in changed.items()})
        for name, (old, new) in changed.items():
            if name in elapsed:
                continue
            old, new = self._plain(model, name, old), self._plain(model, name, new)
            if old != new:
                yield name, old, new

    def _elapsed(self, model, row):
        """Names of numbers that are computed of times alone, one of which is the moment of the change."""
        known = self.env[model]._fields
        moments = {name for name, value in row.items() if self._is_moment(value)}
        return {
            name
            for name in row
            if moments
            and known[name].type in ("float", "integer")
            and (times := set(self.env.registry.field_depends[known[name]]))
            and times & moments
            and all(one in known and known[one].type in ("date", "datetime") for one in times)
        }

    def _is_moment(self, value):
        return isinstance(value, datetime) and abs(value - self.now) < MOMENT

    def _same(self, model, record_id):
        if self.env[model]._table in self._of_links:
            return "link"
        key = (model, record_id)
        return self._new.get(key) or self._earlier.get(key, record_id)

    def _plain(self, model, name, value):
        field = self.env[model]._fields[name]
        if isinstance(value, bytes | memoryview):
            return hashlib.sha256(value).hexdigest()
        if isinstance(value, datetime):
            return "moment" if self._is_moment(value) else value.isoformat()
        if isinstance(value, Decimal | float):
            return f"{value:.12g}"
        if isinstance(value, date):
            return value.isoformat()
        if isinstance(value, dict):  # of languages, or of companies
            return {key: self._plain(model, name, one) for key, one in sorted(value.items())}
        if field.type == "many2one":
            return self._same(field.comodel_name, value)
        if field.type == "many2one_reference":
            return "reference"
        if isinstance(value, str):
            return "number" if name in OF_IDS else self._comparable(value)
        if isinstance(value, list) and field.relational:
            return [self._same(field.comodel_name, i) for i in value]
        if isinstance(value, list):
            return self._comparable(json.dumps(value, sort_keys=True, default=str))
        return value

    def _contents(self, files):
        """``[[name, what it holds]]``: of a text what is compared of texts; of a report, which is blank in a rehearsal,
        only its name."""
        prints = self.recorder.prints or any(one[0] == "program" for one in self.recorder.outward)
        found = []
        for file in files:
            holds = file.checksum or file.url or ""
            if file.mimetype == PDF and prints:
                holds = ""
            elif file.mimetype in TEXTS or (file.mimetype or "").startswith("text/"):
                said = (file.with_prefetch().raw or b"").decode(errors="replace")
                said = without_stamps(said) if file.mimetype == CALENDAR else said
                holds = hashlib.sha256(self._comparable(said).encode()).hexdigest()
            found.append([self._comparable(file.name or ""), holds])
        return sorted(found)

    def _comparable(self, value):
        # With those that were there: the id of a new record may be that of an old one of another model.
        return comparable(value, self.recorder.numbers, self._new_ids | self._old_ids)

    # ------------------------------------------------------------ shown

    def shown(self):
        """Content of the approval's card: records and fields that the person may read; the rest by number."""
        self._counts.clear()
        self._unshown.clear()
        self._kept.clear()
        self._room, self._is_cut = MAX_FIELDS, False
        updated = sorted(
            self._updated, key=lambda one: (not self._ways_out(*one), one[0] not in self._named)
        )
        shown = {
            "changes": list(filter(None, map(self._change, self._readable(updated, "changed")))),
            "created": list(map(self._creation, self._readable(self._made, "created"))),
            "deleted": self._deletions(),
            "messages": self._shown_messages(),
            "numbers": self._first(self.recorder.numbers),
            "outward": self._shown_outward(),
        }
        for (table, kind), count in self._untold().items():
            self._counts[table, kind, self.recorder.statements.is_unknown(table)] += count
        shown["others"] = self._others()
        shown["hidden"] = sum(one["count"] for one in shown["others"])
        shown["partial"] = self._is_cut or self.is_open
        return shown

    @property
    def is_open(self):
        """True if the call does something whose effect cannot be known in advance."""
        statements = self.recorder.statements
        return bool(
            self.recorder.outward
            or not statements.are_counted
            or None in statements.free
            or any(statements.is_unknown(table) for table, _kind in self._untold())
        )

    @property
    def are_some(self):
        """True if anything is another one afterwards."""
        return bool(
            self._updated
            or self._made
            or self._deleted
            or self._messages
            or self.recorder.numbers
            or self._untold()
        )

    def _untold(self):
        """``{(table, kind): rows}`` that the database, or a statement of others, has written."""
        if not hasattr(self, "_found_untold"):
            self._found_untold = self.recorder.statements.untold(self.env.cr)
        return self._found_untold

    def _others(self):
        models = {model._table: name for name, model in self.env.registry.items() if model._auto}
        links = {
            table: self.env[model]._fields[name]
            for (table, *_columns), found in self.env.registry.many2many_relations.items()
            for model, name in sorted(found)[:1]
        }
        listed = Counter((model, kind) for kind, model, _i, _row in self._kept)
        others = []
        for (name, kind, is_unknown), count in sorted(self._counts.items(), key=str):
            model = name if name in self.env else models.get(name)
            if model:
                label = labels.of_model(self.scope.env[model])
            elif name in links:
                label = links[name]._description_string(self.scope.env)
            else:
                label = name
            one = {"model": model or name, "label": label, "kind": kind, "count": count}
            unshown = () if is_unknown else self._unshown[name, kind]
            more = {
                "unknown": is_unknown,
                "listed": listed[name, kind] if not is_unknown else 0,
                "names": self._names_of_counted(name, kind, unshown),
                "sensitive": (model or name) in importance.WAYS_OUT,
            }
            others.append({**one, **{key: value for key, value in more.items() if value}})
        return others

    def _names_of_counted(self, model, kind, ids):
        if kind != "deleted":
            return values.names_of_counted(self.scope, self.env, model, ids)
        said = [self._deleted[model, i] for i in ids if model in values.SAID_BY]
        return [text.one_line(text.visible(one), MAX_NAME) for one in said if one][
            : values.MAX_COUNTED
        ]

    def _readable(self, found, kind):
        """Records of each model, so many; the others, and what the person may not read, are counted."""
        counts = Counter()
        for model, record_id, row in found:
            if model in LIVE or (model, record_id) in self._told_as_messages | self._of_pictures:
                continue
            counts[model] += 1
            if deny_list.is_denied(model) or not self._may_read(model, record_id):
                self._count(model, kind, record_id)
            elif counts[model] > MAX_RECORDS:
                self._leave_out(model, kind, record_id, row)
            else:
                yield model, record_id, row

    def _may_read(self, model, record_id):
        return self.scope.env[model].browse(record_id).has_access("read")

    def _change(self, found, only=None):
        model, record_id, row = found
        record = self.scope.env[model].browse(record_id)
        shown, more = self._shown_fields(record, row, only)
        for one in shown:
            one["old"], one["new"] = self._pair(one.pop("field"), record, row)
        same = [one for one in shown if one["old"] == one["new"]]
        # A moment that moves by seconds is the same to a person, as the text of a page without its tags is not.
        moments = [one["name"] for one in same if one["type"] == "datetime"]
        shown = [one for one in shown if one["name"] not in moments]
        if not shown and "more" not in more:
            return None
        return {**self._record(model, record_id), "fields": shown, **more}

    def _creation(self, found, only=None):
        model, record_id, row = found
        record = self.scope.env[model].browse(record_id)
        shown, more = self._shown_fields(record, row, only)
        for one in shown:
            field = one.pop("field")
            one["new"] = self._value(field, row[field.name], self._currency(field, record))
        return {**self._record(model, record_id), "id": None, "fields": shown, **more}

    def further(self):
        """Records that `shown` had no room for: the name of each, and what the call has named of it.

        :return: ``[{"kind", "model", "label", "id", "name", "fields", "more"?}]``
        """
        self._room, found, left = MAX_KEPT * MAX_FIELDS, [], MAX_KEPT_TEXT
        for kind, model, record_id, row in self._kept:
            if kind == "deleted":
                one = self._deletion(model, record_id)
            else:
                named = self._named.get(model, ()) if left > 0 else ()
                tell = self._change if kind == "changed" else self._creation
                one = tell((model, record_id, row), named) or self._record(model, record_id)
            left -= text.weight(one, MAX_KEPT_TEXT)
            found.append({"kind": kind, **one})
        return found

    def _deletions(self):
        deletions, counts = [], Counter()
        for (model, record_id), name in self._deleted.items():
            counts[model] += 1
            if deny_list.is_denied(model) or name is None:
                self._count(model, "deleted", record_id)
            elif counts[model] > MAX_RECORDS:
                self._leave_out(model, "deleted", record_id)
            else:
                deletions.append(self._deletion(model, record_id))
        return deletions

    def _deletion(self, model, record_id):
        label = labels.of_model(self.scope.env[model])
        name = text.visible(text.cap(self._deleted[model, record_id], MAX_TEXT))
        return {"model": model, "label": label, "id": record_id, "name": name}

    def _shown_fields(self, record, row, only=None):
        """Fields that say most first; `first` of them are what was named, and amounts; `more` are not shown.

        :param only: names of those that there is room for
        """
        known = self.scope.fields(record) | self.scope.pictures(record)
        ways_out = self._ways_out(record._name, record.id, row)
        known |= {name: record._fields[name] for name in ways_out if self._may_know(record, name)}
        readable = {
            name: value
            for name, value in row.items()
            if name in known and (only is None or name in only)
        }
        wanted = self._named.get(record._name, ())
        names, first = importance.ordered(known, readable, wanted, ways_out)
        self._is_cut = self._is_cut or len(names) > self._room
        names = names[: self._room]
        self._room -= len(names)
        shown = [{**self._described(known[name]), "field": known[name]} for name in names]
        more = {"first": min(first, len(names))}
        if len(names) < len(row):
            more["more"] = len(row) - len(names)
        if ways_out:
            more["sensitive"] = True
        return shown, more

    def _ways_out(self, model, record_id, row):
        """Names of what is written by which somebody signs in, gets rights, is reached or is paid."""
        found = importance.WAYS_OUT.get(model, frozenset()) & row.keys()
        if model == "res.partner" and record_id in self._users_contacts:
            found |= importance.OF_A_USER & row.keys()
        return found

    @cached_property
    def _users_contacts(self):
        """Ids of contacts that are changed and are those of users, also of archived ones."""
        ids = [i for model, i, _row in self._updated if model == "res.partner"]
        users = self.env["res.users"].with_context(active_test=False)
        return set(users.search([("partner_id", "in", ids)]).partner_id.ids) if ids else set()

    @staticmethod
    def _may_know(record, name):
        """Rights are told to who may read them, though no assistant reaches them."""
        return record._has_field_access(record._fields[name], "read") and not deny_list.is_secret(
            name
        )

    def _described(self, field):
        label = field._description_string(self.scope.env)
        return {"name": field.name, "label": label, "type": field.type}

    def _record(self, model, record_id):
        record = self.scope.env[model].browse(record_id)
        name = self.scope.names_of(record).get(record_id, f"#{record_id}")
        name = text.visible(text.cap(name or "", MAX_TEXT))
        return {
            "model": model,
            "label": labels.of_model(record),
            "id": self._known_id(model, record_id),
            "name": name,
        }

    def _known_id(self, model, record_id):
        """Id of a record that is there without this call and those before it, else None."""
        key = (model, record_id)
        return None if key in self._new or key in self._earlier else record_id

    def _pair(self, field, record, row):
        """Old and new value: of a text in languages, or a value of companies, where they differ."""
        old, new = row[field.name]
        if not isinstance(old, dict) and not isinstance(new, dict):
            now = self._currency(field, record)
            before = row.get(field.get_currency_field(record)) if now else None
            was = self.scope.env["res.currency"].browse(before[0]) if before else now
            return self._value(field, old, was), self._value(field, new, now)
        old, new = old or {}, new or {}
        differ = sorted(key for key in {*old, *new} if not _is_same(old.get(key), new.get(key)))
        own = self._key(field, {*old, *new})
        if differ == [own]:
            return self._value(field, old.get(own)), self._value(field, new.get(own))
        return self._of_keys(field, old, differ), self._of_keys(field, new, differ)

    def _of_keys(self, field, raw, keys):
        said = {self._named_key(field, key): self._value(field, raw.get(key)) for key in keys}
        return (
            "; ".join(f"{key}: {value}" for key, value in said.items() if value is not None) or None
        )

    def _named_key(self, field, key):
        if not field.company_dependent:
            return key
        company = self.scope.env["res.company"].browse(int(key))
        return self.scope.names_of(company).get(company.id, f"#{key}")

    def _key(self, field, keys):
        env = self.scope.env
        wanted = [str(env.company.id)] if field.company_dependent else [env.lang, "en_US"]
        return next((key for key in wanted if key in keys), None)

    def _currency(self, field, record):
        """Currency of an amount, None where there is none, or the person may not read it."""
        return values.currency(self.scope, record, field) if field.type == "monetary" else None

    def _value(self, field, raw, currency=None):
        """Value of a column, as a person reads it."""
        env = self.scope.env
        if isinstance(raw, dict):
            raw = raw.get(self._key(field, raw))
        if convert.is_picture(field):
            return raw and f"{raw[0]}, {text.size(raw[1])}"
        if raw is None or raw == [] or (raw is False and field.type != "boolean"):
            return None
        if field.relational:
            ids = raw if isinstance(raw, list) else [raw]
            return self._said(", ".join(self._names(field.comodel_name, ids)), MAX_TEXT)
        if field.type == "boolean":
            return bool(raw)
        if field.type == "selection":
            return str(convert.choices(env[field.model_name], field).get(raw, raw))
        if isinstance(raw, datetime):
            return convert.local(env[field.model_name], raw)
        if isinstance(raw, date):
            return raw.isoformat()
        if isinstance(raw, Decimal | float) and currency:
            return values.amount(float(raw), currency.name, currency.decimal_places)
        if isinstance(raw, Decimal | float):
            return float(raw)
        if isinstance(raw, int):
            return raw
        plain = html2plaintext(raw) if field.type == "html" else str(raw)
        return self._said(plain, MAX_TEXT)

    def _count(self, model, kind, record_id):
        self._counts[model, kind, False] += 1
        self._unshown[model, kind].append(record_id)

    def _leave_out(self, model, kind, record_id=None, row=None):
        """Count what there is no room for, though the person may read it; records stand on pages of their own."""
        self._counts[model, kind, False] += 1
        self._is_cut = True
        if record_id and len(self._kept) < MAX_KEPT:
            self._kept.append((kind, model, record_id, row))

    def _first(self, found):
        self._is_cut = self._is_cut or len(found) > MAX_RECORDS
        return found[:MAX_RECORDS]

    def _names(self, model, ids):
        """Names in this order: of what is deleted, those that it had; of what the person may not read, none."""
        gone = {i: self._deleted[model, i] for i in ids if (model, i) in self._deleted}
        names = self.scope.names_of(self.scope.env[model].browse(i for i in ids if i not in gone))
        return [names.get(i) or gone.get(i) or self.env._("(no access)") for i in ids]

    def _said(self, content, limit):
        """A text as what it is, and how much of it is left out."""
        said = text.visible(content)
        if len(said) <= limit:
            return said
        self._is_cut = True
        left_out = self.env._("… (%(count)s more characters)", count=len(said) - limit)
        return f"{said[:limit]} {left_out}"

    # ------------------------------------------------------------ messages and other ways out

    def _find_messages(self):
        """Messages in chatters with the mails that carry them, and every other mail that would be sent."""
        made = {model: [] for model in (MESSAGE, MAIL)}
        for model, record_id in self.recorder.created:
            made.get(model, []).append(record_id)
        messages, mails = (self.env[model].browse(ids).exists() for model, ids in made.items())
        carriers, others = defaultdict(lambda: self.env[MAIL]), defaultdict(lambda: self.env[MAIL])
        for mail in mails:
            of = mail.mail_message_id
            carries = (
                of in messages and mail in of.notification_ids.mail_mail_id and _says(mail, of)
            )
            (carriers if carries else others)[of] |= mail
        found = [_Message(one, carriers[one]) for one in messages]
        found = [one for one in found if one.says_more_than(others[one.message])]
        found += [_Message(of, mail, is_mail=True) for of in others for mail in others[of]]
        told = {(MESSAGE, one.message.id) for one in found} & self._new.keys()
        self._told_as_messages = told | {(MAIL, i) for one in found for i in one.mails}
        return found

    def _shown_messages(self):
        shown = []
        for message in self._messages:
            if len(shown) >= MAX_RECORDS:
                self._leave_out(MESSAGE, "created")
                continue
            may_read = self._may_read_message(message)
            if not may_read and not message.people and not message.others:
                self._counts[MESSAGE, "created", False] += 1
                continue
            one = {
                "kind": message.kind,
                "record": message.record_name if may_read else "",
                "body": self._said(html2plaintext(str(message.raw)), MAX_BODY)
                if may_read
                else None,
                "recipients": self._recipients(message),
            }
            if may_read and message.model:
                one |= {
                    "model": message.model,
                    "id": self._known_id(message.model, message.res_id),
                }
            if message.files:
                one["files"] = sorted(
                    text.one_line(file.name or "", MAX_NAME) for file in message.files
                )
            if message.subject and may_read:
                one["subject"] = self._said(message.subject, MAX_TEXT)
            self._is_cut = self._is_cut or not may_read
            shown.append(one)
        return shown

    def _recipients(self, message):
        Partner = self.scope.env["res.partner"]
        people = Partner.browse(message.people.ids)
        names = self.scope.names_of(people)
        shows_email = "email" in self.scope.fields(Partner)
        emails = {one.id: one.email or "" for one in message.people} if shows_email else {}
        nameless = self.env._("(no access)")
        found = [
            text.visible(f"{names[i]} <{emails[i]}>" if emails.get(i) else names[i])
            if i in names
            else nameless
            for i in people.ids
        ]
        found += map(text.visible, message.others)
        if len(found) > MAX_RECORDS:
            more = len(found) - MAX_RECORDS
            self._is_cut = True
            found = [*found[:MAX_RECORDS], self.env._("%(count)s more", count=more)]
        return found

    def _may_read_message(self, message):
        if message.kind == "note" and not self.scope.env.user._is_internal():
            return False
        if message.mails and not message.model:  # a mail that a released action writes
            return self.scope.env.user._is_internal()
        if not message.model or deny_list.is_denied(message.model):
            return False
        return self._may_read(message.model, message.res_id)

    def _shown_outward(self):
        """Destinations of requests after the commit; not what stands behind the host, which may hold a key."""
        shown = []
        for kind, what, _more in self.recorder.outward:
            if kind == "request":
                parts = urlsplit(what)
                what = f"{parts.scheme}://{parts.hostname or ''}"
            shown.append({"kind": kind, "what": text.one_line(what, 200)})
        if not self.recorder.statements.are_counted:
            shown.append({"kind": "uncounted", "what": "track_counts"})
        return shown


class _Message:
    """A message with the mails that carry it.

    :param is_mail: whether it is one mail, which says something of its own
    """

    def __init__(self, message, mails, *, is_mail=False):
        self.message, self.mails = message, mails.ids
        self.model, self.res_id = message.model, message.res_id
        self.record_name = text.one_line(message.record_name or "", MAX_TEXT)
        self.people = mails.recipient_ids
        if not is_mail:
            self.people |= message.notification_ids.res_partner_id | message.partner_ids
        addresses = [one for mail in mails for one in (mail.email_to, mail.email_cc) if one]
        self.others = sorted({one for one in addresses if one not in self.people.mapped("email")})
        self.raw = (mails.body_html if is_mail else message.body) or ""
        self.subject = (message.subject or "") if is_mail else ""
        self.files = (message.attachment_ids | mails.attachment_ids).sorted("id")
        is_note = message.is_internal or message.subtype_id.internal
        self.kind = "mail" if is_mail else "note" if is_note and not mails else "message"

    def says_more_than(self, mails):
        """True if it says something beside these mails, of which it may be a part."""
        own = mails.filtered(lambda mail: not mail.is_notification)
        if self.people or self.others or not own:
            return bool(
                self.people or self.others or self.files or html2plaintext(str(self.raw)).strip()
            )
        return not any(_says(mail, self.message) for mail in own)


def kept_before(shown):
    """Keep what was shown of a call beside what it would do now.

    :param shown: see `Changes.shown`; may be None
    :return: the same; where it is long, its beginning, with ``cut`` true
    """
    if not shown or len(json.dumps(shown, ensure_ascii=False)) <= MAX_BEFORE_TEXT:
        return shown
    room, kept = MAX_BEFORE_TEXT, {}
    for name in ("changes", "created", "deleted", "messages"):
        kept[name] = []
        for one in shown.get(name) or ():
            room -= len(json.dumps(one, ensure_ascii=False))
            if room < 0:
                break
            kept[name].append(one)
    return {**shown, **kept, "cut": True}


def _says(mail, message):
    """True if a mail holds the text of a message."""
    said, whole = (
        " ".join(html2plaintext(str(one or ""), include_references=False).split())
        for one in (message.body, mail.body_html)
    )
    return said in whole


def _numbered(made, how):
    """``{(model, id): what it is called where ids are compared}``"""
    found, counts = {}, Counter()
    for model, record_id in made:
        counts[model] += 1
        found[model, record_id] = f"{model}:{how} {counts[model]}"
    return found


def _is_same(old, new):
    return old == new or (not old and not new and not isinstance(old, bool | int | float))
