"""RecordScope: the models, fields and paths open to one person through one assistant, checked at each step.

Whatever is out of reach looks like what does not exist, so that nothing can be found out by asking.
"""

import json
from collections.abc import Mapping
from functools import cached_property

from odoo.exceptions import AccessError, MissingError
from odoo.fields import Domain
from odoo.models import MAGIC_COLUMNS

from ...services.records import deny_list, id_check, render
from ...services.records.catalog import VERBS, Access
from ...services.records.conditions import MAX_TEXT, OPERATORS, Condition, Group
from ...services.records.errors import RecordError, invalid, unknown
from ...services.sentence import _lt
from ...tools import labels
from . import convert

# Of what is not named, the right to write. Chatter, activities and actions check more by themselves.
RIGHTS = {
    "read": "read",
    "create": "create",
    "delete": "unlink",
    "message": "read",
    "activity": "read",
    "action": "read",
}
MAX_SEARCHED = 20  # models that are looked into for a field that another one has not
MAX_NAMED = 200  # records of one call that are named
MAX_MEANT = 10_000  # records that the names in a condition may mean
ME = "me"
MINE = {"res.users": lambda user: user.ids, "res.partner": lambda user: user.partner_id.ids}
OF_TREES = ("child_of", "parent_of")
EXACT = ("=", "in")
OF_TEXTS = (*EXACT, "like", "ilike", "=like", "=ilike")
NEGATIVE = {"!=": "=", "not in": "in", "not like": "like", "not ilike": "ilike"}
MAX_LANGUAGES = 5  # beside the person's own that a name is looked for in
MAX_ALIKE = 200  # records whose names are compared with one that means nothing
MAX_WORDS = 5  # of such a name
BEGINNING = 4  # letters of a word that are looked for
OF_RELATIONS = tuple(one for one in OPERATORS if one not in {"<", "<=", ">", ">=", *OF_TREES})


class RecordScope:
    """
    :param env: the person's, never with sudo
    :param turn: whose call it is, if it is one's
    :ivar author: contact in whose name messages are posted, None for the person's own
    """

    def __init__(self, env, access: Mapping[str, Access], turn=None):
        self.env = env
        self.access = access
        self.turn = turn
        self.author = None
        self._fields = {}

    def of_person(self):
        """Scope of the person without an assistant, for what no model reads."""
        return RecordScope(self.env, {}, self.turn)

    # ------------------------------------------------------------ models

    def models(self, operation="read"):
        """Names of the models that the person may use so."""
        return [
            name
            for name, access in self.access.items()
            if operation in access.operations and self._may(name, operation)
        ]

    def _may(self, name, operation):
        if deny_list.is_denied(name) or name not in self.env:
            return False
        model = self.env[name]
        if model._abstract or model._transient:
            return False
        if operation != "read" and (name in deny_list.READ_ONLY or not model._auto):
            return False
        return model.has_access(RIGHTS.get(operation, "write"))

    def model(self, name, operation="read"):
        """:raises RecordError: the assistant, or the person, may not use it so"""
        known = self.models()
        if name not in known:
            named = {self.env[one]._description.lower(): one for one in known}
            named |= {
                label.lower(): one for one, label in labels.of_models(self.env, known).items()
            }
            if str(name).lower() not in named:
                raise unknown("model", name, known)
            name = named[str(name).lower()]
        if operation not in self.access[name].operations:
            raise RecordError(
                _lt(
                    "This assistant may not %(does)s records of %(model)s.",
                    does=VERBS[operation],
                    model=name,
                ),
                outcome="denied",
            )
        if not self._may(name, operation):
            raise RecordError(
                _lt(
                    "The user has no right to %(does)s records of %(model)s.",
                    does=VERBS[operation],
                    model=name,
                ),
                outcome="denied",
            )
        found = self.env[name]
        # Else Odoo reads every column of a record whose rules it checks.
        return found.with_context(prefetch_fields=False) if operation == "read" else found

    def records(self, model, ids, operation="read"):
        """
        :param ids: of the records, or names; several may have a name that is only read
        :raises RecordError: one of them does not exist, or not for this person
        """
        if not isinstance(ids, list) or not 0 < len(ids) <= MAX_NAMED:
            raise invalid(f"“ids” must be a list of 1 to {MAX_NAMED} ids or names of records.")
        ids = [number for one in ids for number in self._ids_of(model, one, operation)]
        _check_number(ids, MAX_NAMED)
        found = model.browse(dict.fromkeys(ids)).exists()
        readable = found._filtered_access("read")
        if missing := [str(i) for i in dict.fromkeys(ids) if i not in readable._ids]:
            raise RecordError(
                _lt(
                    "There is no record %(ids)s of %(model)s.",
                    ids=", ".join(missing),
                    model=model._name,
                )
            )
        right = RIGHTS.get(operation, "write")
        if right != "read" and (refused := readable - readable._filtered_access(right)):
            raise RecordError(
                _lt(
                    "The user has no right to %(does)s record %(ids)s of %(model)s.",
                    does=VERBS[operation],
                    ids=", ".join(map(str, refused.ids)),
                    model=model._name,
                ),
                outcome="denied",
            )
        return readable

    def record(self, model, record_id, operation="read"):
        """
        :param record_id: id, or the name that no other record has
        :raises RecordError: see `records`, or it has another's name
        """
        found = self.records(model, [record_id], operation)
        return self._single(found, record_id, "id")

    def _ids_of(self, model, value, operation):
        if (number := id_check.id_of(value)) is not None:
            if not 0 < number < 2**31:
                raise invalid(f"“{number}” is no id of a record.")
            return [number]
        name = value.strip() if isinstance(value, str) else ""
        if not 0 < len(name) <= MAX_TEXT:
            raise invalid(f"A record has an id, or a name of at most {MAX_TEXT} characters.")
        reads = operation == "read"
        ids = self._by_id(model, name) or self._by_name(model, name, "=", in_part=reads)
        if not ids:
            hint = self.elsewhere_named(model, name)
            raise unknown(model._name, name, self._alike(model, name), hint)
        return ids if reads else self._single(model.browse(ids), name, "ids").ids

    def called(self, model, name):
        """Conditions that find records by a name or a part of it, in the person's language and in others.

        :return: pairs of a condition for the whole name, and one for a part
        """
        whole, part = ("=ilike", convert.literal(name)), ("ilike", convert.literal(name))
        yield (
            self._named(model, *whole) | Domain("id", "in", self._by_told(model, name)),
            (self._named(model, *part)),
        )
        for one in self._in_other_languages(model):
            yield tuple(
                Domain("id", "in", one._search(self._named(one, *way), active_test=False))
                for way in (whole, part)
            )

    def elsewhere_named(self, model, name):
        """A sentence that tells the other models of the assistant with a record of this name; ``""`` without one."""
        having = [
            one
            for one in self.models()[:MAX_SEARCHED]
            if one != model._name and self._has_named(self.env[one], name)
        ]
        return f"One of {', '.join(having[:3])} has this name." if having else ""

    def _has_named(self, model, name):
        is_called = self._named(model, "=ilike", convert.literal(_without_id(name)))
        return bool(model.search(is_called, limit=1))

    # ------------------------------------------------------------ fields

    def fields(self, model):
        """``{name: field}`` that may be read, compared and shown."""
        if model._name not in self._fields:
            self._fields[model._name] = {
                name: field
                for name, field in model._fields.items()
                if self._is_field_visible(model, field)
            }
        return self._fields[model._name]

    def is_visible(self, model, name):
        """True if `fields` has this name."""
        return name in model._fields and self._is_field_visible(model, model._fields[name])

    def is_closed(self, model, name):
        """True if a field is hidden, secret or of other groups, or discloses one that is."""
        return name in self._closed.get(model._name, ())

    @cached_property
    def _closed(self):
        return self._rules._closed_to_groups(self._hidden, self.env.user._get_group_ids())

    @cached_property
    def _hidden(self):
        return frozenset(
            (name, field) for name, access in self.access.items() for field in access.hidden
        )

    @property
    def hides(self):
        """True if fields are hidden from the assistant, which other fields may disclose."""
        return bool(self._hidden)

    def pictures(self, model):
        """``{name: field}`` of pictures that may be shown and set; their contents are not read."""
        return {
            name: field
            for name, field in model._fields.items()
            if convert.is_picture(field)
            and not self.is_closed(model, name)
            and model._has_field_access(field, "read")
        }

    @property
    def _rules(self):
        return self.env["woow_paas_platform.record_access"]

    def _is_field_visible(self, model, field):
        if field.type in deny_list.UNREACHABLE_TYPES or self.is_closed(model, field.name):
            return False
        if field.relational and deny_list.is_denied(field.comodel_name):
            return False
        if not model._has_field_access(field, "read"):
            return False
        return not field.related or self._is_origin_reached(model, field)

    def _is_origin_reached(self, model, field):
        """True if the origin of a related field is in no denied model."""
        for name in field.related.split("."):
            origin = model._fields[name]
            if origin.relational:
                if deny_list.is_denied(origin.comodel_name):
                    return False
                model = self.env[origin.comodel_name]
        return True

    def field(self, model, name):
        known = self.fields(model)
        if name not in known:
            spelled = str(name).strip().lower()
            by_label = [
                one
                for one, field in known.items()
                if spelled in (field.string.lower(), field._description_string(self.env).lower())
            ]
            if len(by_label) != 1:
                raise unknown(
                    "field",
                    f"{model._name}.{name}",
                    [f"{model._name}.{one}" for one in known],
                    self._elsewhere(model, name),
                )
            name = by_label[0]
        return known[name]

    def _elsewhere(self, model, name):
        """A sentence that names the model with a field that this one lacks."""
        having = [
            one
            for one in self.models()[:MAX_SEARCHED]
            if one != model._name and name in self.fields(self.env[one])
        ]
        leading = [
            f"“{field.name}.{name}”"
            for field in self.fields(model).values()
            if field.type == "many2one"
            and field.comodel_name in having
            and field.name not in MAGIC_COLUMNS
        ]
        has = f"{', '.join(having[:3])} {'have' if len(having) > 1 else 'has'} it."
        lead = f"From here: {', '.join(leading[:3])}."
        return " ".join([has] * bool(having) + [lead] * bool(leading))

    def comodel(self, field):
        """The model behind a relation, as far as the assistant may look into it."""
        if field.comodel_name not in self.models():
            raise invalid(
                f"“{field.name}” leads to {field.comodel_name}, which this assistant may not use. "
                f"Compare “{field.name}” itself with an id or a name."
            )
        return self.env[field.comodel_name]

    def is_name_whole(self, model_name):
        """True if nothing hidden can be part of the names of its records."""
        return model_name not in self._rules._telling_names(self._hidden)

    def names_of(self, records):
        """``{id: name}`` of the records among these that the person may read; nothing hidden is part of a name."""
        readable = records._filtered_access("read")
        without = self._rules._out_of_names(self._hidden).get(records._name)
        try:
            if not without:
                return {one.id: one.display_name for one in readable}
            nothing = dict.fromkeys(without, False)
            drafts = [readable.new(nothing, origin=one) for one in readable]
            return {
                one._origin.id: one.display_name or f"#{one._origin.id}"
                for one in readable.browse().concat(*drafts)
            }
        except (AccessError, MissingError):  # a name may be made of what the person may not read
            return {one.id: f"#{one.id}" for one in readable}

    def named_as(self, record):
        """Name as results tell a record: ``Azure Interior (7)``."""
        return f"{self.names_of(record).get(record.id, f'#{record.id}')} ({record.id})"

    # ------------------------------------------------------------ conditions

    def domain(self, model, node):
        """A domain in which no step looks further than the person may.

        Each relation of a path becomes a search with the rules of the model that it leads to, also where
        Odoo itself would pass over them (`bypass_search_access`).
        """
        if isinstance(node, Group):
            parts = [self.domain(model, part) for part in node.parts]
            if node.operator == "!":
                return ~parts[0]
            return Domain.OR(parts) if node.operator == "|" else Domain.AND(parts)
        return self._condition(model, node.path, node)

    def _condition(self, model, path, condition: Condition):
        field = self.field(model, path[0])
        if len(path) > 1:
            if not field.relational:
                raise invalid(f"“{field.name}” is no relation, so nothing can follow it in a path.")
            comodel = self.comodel(field)
            inner = self._condition(comodel, path[1:], condition)
            return Domain(field.name, "in", comodel._search(inner, active_test=False))
        if field.name == "display_name":
            return self._named(model, condition.operator, condition.value)
        if field.relational:
            return self._relation(field, condition)
        if condition.operator in OF_TREES:
            if field.name != "id":
                raise invalid(f"“{condition.operator}” is for relations; “{field.name}” is none.")
            self._check_tree(model)
            return Domain("id", condition.operator, self._meant(model, condition.value, "in"))
        if field.translate and NEGATIVE.get(condition.operator, condition.operator) in OF_TEXTS:
            return self._translated(model, field, condition)
        return convert.leaf(model, field, condition.operator, condition.value)

    def _check_tree(self, model):
        """:raises RecordError: the person may not know what is above what"""
        if not self.is_visible(model, model._parent_name):
            raise invalid(f"Records of {model._name} are not above or below each other.")

    def _translated(self, model, field, condition):
        """A condition that holds in any language: people call things as they like."""
        negates = condition.operator in NEGATIVE
        operator = NEGATIVE.get(condition.operator, condition.operator)
        found = convert.leaf(model, field, operator, condition.value)
        for other in self._in_other_languages(model):
            leaf = convert.leaf(other, field, operator, condition.value)
            found |= Domain("id", "in", other._search(leaf, active_test=False))
        return ~found if negates else found

    def _in_other_languages(self, model):
        own = self.env.lang or "en_US"
        codes = [code for code, _name in self.env["res.lang"].get_installed() if code != own]
        return [model.with_context(lang=code) for code in codes[:MAX_LANGUAGES]]

    def _relation(self, field, condition):
        operator, value = condition.operator, condition.value
        if operator in OF_TREES:
            self._check_tree(comodel := self.comodel(field))
            return Domain(field.name, operator, self._meant(comodel, value, "in"))
        if operator not in OF_RELATIONS:
            raise invalid(f"“{operator}” cannot compare the relation “{field.name}”.")
        values = value if isinstance(value, list) else [value]
        positive = NEGATIVE.get(operator, operator)
        if positive in EXACT:
            values = [False if _is_blank(one) else one for one in values]
        parts = []
        if False in values:
            parts.append(Domain(field.name, "=", False))
        if field.name in values:
            raise invalid(f"“{field.name}” is compared with itself. For all records leave it out.")
        if wanted := [one for one in values if one is not False]:
            ids = self._meant(self.env[field.comodel_name], wanted, positive, field.model_name)
            parts.append(Domain(field.name, "in", ids))
        domain = Domain.OR(parts)
        return ~domain if operator in NEGATIVE else domain

    def _meant(self, comodel, values, operator, compared=""):
        """Ids of the records that these ids and names mean, among those that the person may read.

        :param compared: model whose relation it is
        :raises RecordError: a name means none, though it is not a part of one that is looked for, or all mean too many
        """
        found = []
        is_readable = comodel.has_access("read")
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, bool) or (operator in EXACT and _is_blank(value)):
                continue
            ids = is_readable and self._by_id(comodel, value)
            if not ids and isinstance(value, str):
                ids = is_readable and self._by_name(comodel, value, operator)
                if not ids and operator in EXACT:
                    near = self._alike(comodel, value) if is_readable else ()
                    hint = self._own_name_hint(compared, value)
                    raise unknown(
                        comodel._name, value, near, hint or self.elsewhere_named(comodel, value)
                    )
            found += ids or []
            _check_number(found, MAX_MEANT)
        return found

    def _own_name_hint(self, compared, name):
        """A sentence for a record's own name that was compared with a relation of it: an order with its customer."""
        field = self.env[compared]._rec_name if compared in self.models() else ""
        if not field or not self.is_visible(self.env[compared], field):
            return ""
        if not self._has_named(self.env[compared], name):
            return ""
        wanted = {"field": field, "operator": "=", "value": _without_id(name)}
        wanted = json.dumps(wanted, ensure_ascii=False)
        return f"It is the name of a record of {compared}: use {wanted}."

    def _alike(self, comodel, name):
        """Names of records that are spelled like this one, or all where there are few."""
        some = comodel.search([], order=self.order(comodel, ""), limit=MAX_ALIKE + 1)
        if len(some) > MAX_ALIKE:
            begins = {word[:BEGINNING] for word in name.split() if len(word) >= BEGINNING // 2}
            parts = [self._named(comodel, "ilike", one) for one in sorted(begins)[:MAX_WORDS]]
            some = comodel.search(Domain.OR(parts), limit=MAX_ALIKE) if parts else some[:0]
        return sorted(set(self.names_of(some).values()))

    def _by_id(self, comodel, value):
        """Record of ``7``, ``"7"``, ``"Azure Interior (7)"`` as results tell it, where that is its name, and “me”."""
        if value == ME and comodel._name in MINE:
            return MINE[comodel._name](self.env.user)
        number = id_check.id_of(value)
        if number is None:
            return self._by_told(comodel, value)
        return self._readable(comodel, number).ids

    def _readable(self, comodel, number):
        found = comodel.browse(number if 0 < number < 2**31 else ())
        return found.exists()._filtered_access("read")

    def _by_told(self, comodel, value):
        number = isinstance(value, str) and id_check.id_of(value.strip().rpartition(" (")[2][:-1])
        if not number:
            return []
        found = self._readable(comodel, number)
        told = {render.cell({"id": i, "name": n}) for i, n in self.names_of(found).items()}
        return found.ids if value.strip() in told else []

    def _by_name(self, comodel, name, operator, in_part=True):
        """Find by the name in the person's language, else in another one: exactly, else in part."""
        comodel = comodel.with_context(active_test=False)
        ways = [(operator, name)]
        if operator in EXACT:
            ways = [("=ilike", convert.literal(name)), ("ilike", name)][: 1 + in_part]
        for one in (comodel, *self._in_other_languages(comodel)):
            for way in ways:
                named = self._named(one, *way)
                if found := one.search(named, order="id", limit=MAX_MEANT + 1).ids:
                    return found
        return []

    def _named(self, model, operator, value):
        """Find by what Odoo finds a record's name by, as far as it is within reach."""
        names = model._rec_names_search or ([model._rec_name] if model._rec_name else [])
        known = self.fields(model)
        names = [name for name in names if name in known and known[name].type in ("char", "text")]
        if not names:
            return Domain.FALSE
        combine = Domain.AND if operator in NEGATIVE else Domain.OR
        return combine([Domain(name, operator, value) for name in names])

    def named(self, model, words, limit):
        """Records with these words in their names; first those whose names begin so."""
        begins = self._named(model, "=ilike", f"{convert.literal(words)}%")
        order = self.order(model, "")
        first = model.search(begins, order=order, limit=limit)
        if len(first) == limit:
            return first
        inside = self._named(model, "ilike", words) & Domain("id", "not in", first.ids)
        return first + model.search(inside, order=order, limit=limit - len(first))

    def one(self, comodel, value, field_name):
        """The one record that an id or a name means.

        :raises RecordError: none, or several
        """
        try:
            ids = list(dict.fromkeys(self._meant(comodel, [value], "=")))
        except RecordError as error:
            raise RecordError(
                _lt("“%(name)s”: %(reason)s", name=field_name, reason=str(error))
            ) from error
        if not ids:
            raise RecordError(
                _lt(
                    "“%(name)s”: there is no %(model)s “%(value)s”.",
                    name=field_name,
                    model=comodel._name,
                    value=str(value)[:100],
                )
            )
        return self._single(comodel.browse(ids), value, field_name)

    def _single(self, found, value, field_name):
        """:raises RecordError: there are several"""
        if len(found) == 1:
            return found
        some = ", ".join(self.named_as(one) for one in found[:5])
        raise RecordError(
            _lt(
                "“%(name)s”: “%(value)s” may mean several: %(some)s. Use an id.",
                name=field_name,
                value=str(value)[:100],
                some=some,
            )
        )

    def order(self, model, terms):
        """
        :param terms: ``field``, ``field desc``, several with commas between them; else the model's own order
        :return: an order in which no two records are equal, and which tells nothing of a field that is closed
        """
        parts = {}
        for part in (terms or "").split(","):
            name, _blank, direction = part.strip().partition(" ")
            if not name:
                continue
            field = self.field(model, name)
            if not self.is_sortable(field):
                raise invalid(
                    f"Records cannot be sorted by “{field.name}”. Use a stored field that leads to one record at most."
                )
            if direction.strip().lower() not in ("", "asc", "desc"):
                raise invalid("An order is a field's name, with “desc” after it or not.")
            parts[field.name] = f"{field.name} {direction.strip()}".strip()
        if not parts:
            parts = {
                name: term for name, term in _terms(model._order) if self._is_term_open(model, name)
            }
        parts.setdefault("id", "id")
        return ", ".join(parts.values())

    def is_sortable(self, field):
        if not (field.store or field.inherited) or field.type in ("one2many", "many2many"):
            return False
        return field.type != "many2one" or self.is_order_open(self.env[field.comodel_name])

    def is_order_open(self, model, seen=()):
        """True if the person may know the default order of a model's records."""
        return model.has_access("read") and all(
            self._is_term_open(model, name, seen) for name, _term in _terms(model._order)
        )

    def _is_term_open(self, model, name, seen=()):
        field = model._fields[name.partition(".")[0]]
        if not self.is_visible(model, field.name):
            return False
        if field.type != "many2one" or field in seen:
            return True
        return self.is_order_open(self.env[field.comodel_name], (*seen, field))


def _check_number(ids, limit):
    """:raises RecordError: names mean more records than that"""
    if len(ids) > limit:
        raise invalid(f"These names mean more than {limit} records. Use whole names.")


def _is_blank(value):
    """True for the text that small models write for no value."""
    return isinstance(value, str) and not value.strip()


def _without_id(name):
    """Name of a record that is told with its id.

    >>> _without_id("Azure Interior (7)"), _without_id("Azure (Interior)")
    ('Azure Interior', 'Azure (Interior)')
    """
    before, _blank, number = name.strip().rpartition(" (")
    return before if number[:-1].isdecimal() else name


def _terms(order):
    """``(field, term)`` of an order.

    >>> _terms("priority desc, id")
    [('priority', 'priority desc'), ('id', 'id')]
    """
    return [(term.split()[0], term.strip()) for term in order.split(",") if term.strip()]
