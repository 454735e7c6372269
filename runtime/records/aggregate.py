"""Record tools that aggregate, and that open a view of Odoo; as those of `read`."""

from datetime import date, datetime

from odoo.fields import Domain

from ...services.records import render
from ...services.records.errors import invalid, unknown
from ...tools import labels
from . import convert, read, values

LIMIT = 80  # groups when nobody asks for more
MAX_PIVOT = 2_000  # records that a view is told one by one
GRANULARITIES = (
    *("hour", "day", "week", "month", "quarter", "year"),
    *(
        "year_number",
        "quarter_number",
        "month_number",
        "iso_week_number",
        "day_of_month",
        "day_of_week",
    ),
)
COUNTS = ("__count", "count", "count(*)", "COUNT(*)")  # of the records themselves
IN_COMPANYS = "sum_currency"  # Odoo's own sum at today's rates
MAX_GROUPS = 1_000  # in which a currency that is computed is looked for
NUMERIC = ("sum", "avg", "min", "max", IN_COMPANYS)
OF_ALL = ("count", "count_distinct")
SUMMED = ("integer", "float", "monetary")
GROUPED = (*SUMMED, "char", "selection", "boolean", "date", "datetime", "many2one", "many2many")


def groups_of(scope, model, given):
    """``field`` or ``field:granularity``, each checked."""
    found = []
    for spec in given or ():
        if spec in COUNTS:
            continue
        name, _colon, granularity = str(spec).partition(":")
        field = scope.field(model, _relation(name))
        if field.type not in GROUPED or not (field.store or field.inherited):
            raise invalid(f"Records cannot be grouped by “{field.name}” ({field.type}).")
        if field.type in ("date", "datetime"):
            granularity = granularity or "month"
            if granularity not in GRANULARITIES:
                raise unknown("granularity", granularity, GRANULARITIES)
        elif granularity:
            raise invalid(f"Only dates have a granularity; “{field.name}” is none.")
        found.append((f"{field.name}:{granularity}" if granularity else field.name, field))
    if len(found) > 4:
        raise invalid("Records can be grouped by at most 4 fields.")
    return found


def _relation(name):
    """Relation whose records a path to their names groups; of any other field its name.

    >>> _relation("partner_id.name"), _relation("partner_id"), _relation("name")
    ('partner_id', 'partner_id', 'name')
    """
    relation, _dot, field = name.rpartition(".")
    return relation if relation and field in ("id", "name", "display_name") else name


def _measures(scope, model, given):
    found = []
    for spec in given or ("__count",):
        if spec in COUNTS:
            found.append(("__count", None))
            continue
        name, function = _measure(str(spec))
        field = scope.field(model, name)
        if function not in (*NUMERIC, *OF_ALL):
            raise unknown("function", function, (*NUMERIC, *OF_ALL))
        allowed = (*SUMMED, "date", "datetime") if function in ("min", "max") else SUMMED
        if function == IN_COMPANYS:
            allowed = ("monetary",)
        if function in NUMERIC and field.type not in allowed:
            raise invalid(f"“{field.name}” is {field.type}: there is no {function} of it.")
        if not (field.store or field.inherited):
            raise invalid(f"“{field.name}” is computed and cannot be summed up.")
        found.append((f"{field.name}:{function}", field))
    if len(found) > 8:
        raise invalid("At most 8 measures can be asked for at once.")
    return list(dict.fromkeys(found))


def _measure(spec):
    """A field's name and the function: of ``amount_total:sum``, and of ``sum(amount_total)`` as in SQL.

    >>> _measure("amount_total:avg"), _measure("SUM(amount_total)"), _measure("amount_total")
    (('amount_total', 'avg'), ('amount_total', 'sum'), ('amount_total', 'sum'))
    """
    function, bracket, inside = spec.strip().partition("(")
    if bracket and inside.endswith(")"):
        return inside[:-1].strip(), function.strip().lower()
    name, _colon, function = spec.partition(":")
    return name, function or "sum"


def aggregate_records(scope, given):
    model = scope.model(given["model"])
    domain = read.search_domain(scope, model, given)
    groups = groups_of(scope, model, given.get("group_by"))
    measures = _measures(scope, model, given.get("measures"))
    limit = read.within(given.get("limit") or None, LIMIT, 1, render.MAX_ROWS)
    money = Currencies(scope, model, domain, measures)
    split = [one for one in money.groups if one not in groups]
    groups += split
    offset = read.within(given.get("offset"), 0, 0, read.COUNTED) if groups else 0
    group_by, asked = [spec for spec, _ in groups], [spec for spec, _ in measures]
    found = model.formatted_read_group(
        domain,
        group_by,
        list(dict.fromkeys([*asked, "__count"])),
        offset=offset,
        limit=limit,
        order=_order(scope, given.get("order"), groups, asked),
    )
    found = [_measured(model, row, asked) for row in found]
    total = _count(model, domain, group_by, offset, limit, len(found))
    shown = {spec: _labels(scope, field, spec, found) for spec, field in groups}
    keys = [[shown[spec](row[spec]) for spec in group_by] for row in found]
    columns = [*group_by, *asked]
    data = {
        "model": model._name,
        "label": labels.of_model(model),
        "group_by": [
            {**values.described(scope, model, field), "spec": spec} for spec, field in groups
        ],
        "measures": [
            {"spec": spec, "label": _label(scope, field, money.name(spec))}
            for spec, field in measures
        ],
        "groups": [
            dict(zip(columns, [*key, *(row[one] for one in asked)], strict=True))
            for key, row in zip(keys, found, strict=True)
        ],
        "total": total,
        "action": _pivot(scope, model, domain, group_by, asked),
    }
    if not total or not (group_by or found[0]["__count"]):
        return f"No records of {model._name} match.", data
    rows = (
        [*key, *(money.told(one, row) for one in asked)]
        for key, row in zip(keys, found, strict=True)
    )
    head = f"{model._name} ({model._description})"
    groups_of_all = f"{read.counted(total)} groups"
    if total > len(found):
        head += f": {groups_of_all}"
    if total > 1:
        head += _together(model, domain, money, measures, is_all=groups == split)
    table = render.table(head, columns, rows, total, groups_of_all, offset)
    if split:
        names = ", ".join(spec for spec, _ in split)
        table += (
            f"\nThe amounts are in {', '.join(money.names)}, so there are groups by {names}, too."
        )
    return table, data


def _measured(model, row, asked):
    """A group with its measures as they are told; nothing to measure is no number."""

    def told(spec, value):
        if value is False and spec.rpartition(":")[2] in NUMERIC:
            return None
        if isinstance(value, datetime):
            return convert.local(model, value)
        return value.isoformat() if isinstance(value, date) else value

    return {**row, **{spec: told(spec, row[spec]) for spec in asked}}


def _label(scope, field, currency):
    label = field._description_string(scope.env) if field else scope.env._("Count")
    return f"{label} ({currency})" if currency else label


def _count(model, domain, group_by, offset, limit, found):
    """The number of all groups, as far as they are counted."""
    if found < limit and (found or not offset):
        return offset + found
    return len(model._read_group(domain, group_by, [], limit=read.COUNTED)) if group_by else 1


def _together(model, domain, money, measures, is_all):
    """The measures of all groups, for each currency where there are several.

    :param is_all: whether the groups are the currencies
    """
    told, asked = [], [spec for spec, _ in measures]
    by = [spec for spec, _ in money.groups]
    for row in () if is_all else model.formatted_read_group(domain, by, asked):
        row = _measured(model, row, asked)
        told.append("; ".join(f"{one} {render.cell(money.told(one, row))}" for one in asked))
    lines = [f"\nOf all groups together: {' | '.join(told)}"] * bool(told)
    return "".join([*lines, money.converted(measures)])


def _pivot(scope, model, domain, group_by, measures):
    """The same sums in Odoo's own view; None where there is no such view, or too much to say which records."""
    if not scope.env.user._is_internal():
        return None
    ids = [] if domain.is_true() else model.search(domain, limit=MAX_PIVOT + 1).ids
    if len(ids) > MAX_PIVOT:
        return None
    context = {
        "pivot_row_groupby": group_by,
        "pivot_measures": [one.partition(":")[0] for one in measures],
    }
    return _window(model, "pivot", [] if domain.is_true() else [("id", "in", ids)], context)


def _window(model, view, domain, context):
    return {
        "type": "ir.actions.act_window",
        "name": labels.of_model(model),
        "res_model": model._name,
        "view_mode": view,
        "views": [[False, view]],
        "domain": domain,
        "context": context,
    }


def _order(scope, order, groups, measures):
    """The requested order, else days as they follow, or the largest first; ties are broken the same way each time."""
    parts, specs = [], [spec for spec, _ in groups]
    for part in (order or "").split(","):
        name, _blank, direction = part.strip().partition(" ")
        if not name:
            continue
        if name.lower() in ("asc", "desc"):  # of what is measured
            name, direction = measures[0], name
        name = "__count" if name in COUNTS else _relation(name)
        spec = next(
            (one for one in (*specs, *measures) if name in (one, one.partition(":")[0])), None
        )
        if spec is None:
            raise unknown("measure or group to sort by", name, [*specs, *measures])
        if direction.strip().lower() not in ("", "asc", "desc"):
            raise invalid("An order is a name, with “desc” after it or not.")
        for of_spec, field in groups:
            if of_spec == spec and not scope.is_sortable(field):
                raise invalid(f"Groups cannot be sorted by “{spec}”.")
        parts.append(f"{spec} {direction.strip().lower()}".strip())
    if not parts:
        parts = [spec for spec, field in groups if scope.is_sortable(field)]
        if groups and not any(field.type in ("date", "datetime") for _spec, field in groups):
            parts.insert(0, f"{measures[0]} desc nulls last")
    return ", ".join([*parts, *(["id:min"] if groups else [])]) or None


def _labels(scope, field, spec, found):
    """Labels of a group's values; names of records only for those who may read them."""
    if field.relational or field.name == "id":
        comodel = scope.env[field.comodel_name or field.model_name]
        ids = {row[spec][0] for row in found if row[spec]}
        names = scope.names_of(comodel.browse(ids)) if comodel.has_access("read") else {}
        return lambda value: values._link(names, value[0]) if value else None
    if field.type == "selection":
        choices = dict(field._description_selection(scope.env))
        return lambda value: {"key": value, "name": choices.get(value, value)} if value else None
    if field.type in ("date", "datetime"):
        return lambda value: value[1] if isinstance(value, list | tuple) else _or_none(value)
    return bool if field.type == "boolean" else _or_none


def _or_none(value):
    """None for the False of a group without a value; zero is one."""
    return None if value is False else value


# ------------------------------------------------------------ currencies


class Currencies:
    """Amounts of several currencies are never added up, and each sum names its own.

    :param measures: ``(spec, field)``
    :ivar groups: ``(spec, field)`` to group by so that no group has two currencies; empty where there is one
    :ivar names: of the currencies of all amounts
    """

    def __init__(self, scope, model, domain, measures):
        self._scope, self._model, self._domain = scope, model, domain
        self._company = scope.env.company.currency_id
        self._fields = {
            spec: field.get_currency_field(model)
            for spec, field in measures
            if field is not None and field.type == "monetary" and spec.rpartition(":")[2] in NUMERIC
        }
        self._found, groups, names = {}, {}, {}
        for spec, name in self._fields.items():
            if _is_converted(spec) or name in self._found:
                continue
            keys, found = self._found[name] = self._look(spec, name)
            several = set(found.values())  # no currency is one of its own
            if scope.is_visible(model, name):
                names |= {_name(one) or "no currency": None for one in several}
            if len(several) > 1:
                groups |= {one.name: one for one in self._groupable(spec, keys)}
        self.groups, self.names = list(groups.items()), list(names)

    def _look(self, spec, name):
        """The fields that decide on a currency, and ``{their values: currency}`` of what matches.

        :raises RecordError: they have too many values
        """
        field = self._model._fields[name]
        # Such as the currency of a line's order.
        is_joined = field.related and field._description_groupable(self._model.env)
        if field.store or field.inherited or is_joined:
            found = self._model._read_group(self._domain, [name], [])
            return [field], {(one.id,): one for (one,) in found}
        # Of a company, mostly.
        first = {path.partition(".")[0] for path in self._model.pool.field_depends[field]}
        keys = [self._model._fields[one] for one in sorted(first)]
        keys = [one for one in keys if one.store and one.type == "many2one"]
        rows = self._model._read_group(
            self._domain, [one.name for one in keys], ["id:min"], limit=MAX_GROUPS + 1
        )
        if len(rows) > MAX_GROUPS:
            raise _could_add_up(spec)
        return keys, {
            tuple(one.id for one in row[:-1]): self._model.browse(row[-1])[name] for row in rows
        }

    def _groupable(self, spec, keys):
        if not keys or not all(self._scope.is_visible(self._model, one.name) for one in keys):
            raise _could_add_up(spec)
        return keys

    def name(self, spec):
        """Name of the one currency of a measure, ``""`` where it has none or several."""
        return self._of(spec, {})[0] if spec in self._fields and not self._is_split(spec) else ""

    def _is_split(self, spec):
        if _is_converted(spec):
            return False
        return len(set(self._found[self._fields[spec]][1].values())) > 1

    def _of(self, spec, row):
        """The name of the currency of a group's measure, and its digits."""
        name = self._fields[spec]
        if _is_converted(spec):
            return _name(self._company), self._company.decimal_places
        if not self._scope.is_visible(self._model, name):
            return "", 0
        keys, found = self._found[name]
        if self._is_split(spec):
            one = found.get(tuple(_id(row[key.name]) for key in keys))
        else:
            one = next(filter(None, found.values()), None)
        return (_name(one), one.decimal_places) if one else ("", 0)

    def told(self, spec, row):
        """A measure of a group as the model reads it."""
        value = row[spec]
        if value is None or spec not in self._fields:
            return value
        name, digits = self._of(spec, row)
        return values.amount(value, name, digits)

    def converted(self, measures):
        """The sums of all in the company's currency, as a sentence, where their currencies are columns."""
        name, digits, told = _name(self._company), self._company.decimal_places, []
        for spec, field in measures:
            if not (spec.endswith(":sum") and spec in self._fields and self._is_split(spec)):
                continue
            currency, converted = self._fields[spec], f"{field.name}:{IN_COMPANYS}"
            if self._model._fields[currency].store:
                domain = self._domain & Domain(currency, "!=", False)
                (whole,) = self._model.formatted_read_group(domain, [], [converted])
                amount = values.amount(whole[converted] or 0, name, digits)
                told.append(f"{converted} {render.cell(amount)}")
        return f"\nIn {name}, at today's rates: {'; '.join(told)}" if told else ""


def _could_add_up(spec):
    return invalid(
        f"“{spec}” could add up several currencies. Use narrower filters, such as one company."
    )


def _is_converted(spec):
    return spec.endswith(f":{IN_COMPANYS}")


def _name(currency):
    return currency.name or ""


def _id(value):
    """Id in a group's value, as `formatted_read_group` gives it."""
    return value[0] if value else False


# ------------------------------------------------------------ views


def open_view(scope, given):
    """Data of the button that opens the view; everything in it is checked as in a search."""
    model = scope.model(given["model"])
    view = given["view"]
    groups = [spec for spec, _ in groups_of(scope, model, given.get("group_by"))]
    if not scope.env.user._is_internal():
        raise invalid("This person has no backend. Use search_records: its rows carry links.")
    ids = scope.records(model, given["ids"]).ids if given.get("ids") else []
    if view == "form" and len(ids) != 1:
        raise invalid("A form shows one record: give one id.")
    domain = [("id", "in", ids)] if ids else _plain_domain(scope, model, given)
    action = _window(model, view, domain, {"group_by": groups} if groups else {})
    if view == "form":
        action["res_id"] = ids[0]
    return f"A button that opens the {view} of {model._name} is shown to the user.", {
        "action": action
    }


def _plain_domain(scope, model, given):
    """The ids that match now: names and paths were resolved with the person's rights."""
    domain = read.search_domain(scope, model, given)
    if domain.is_true():
        return []
    ids = model.search(domain, limit=read.COUNTED + 1).ids
    if len(ids) > read.COUNTED:
        raise invalid(f"More than {read.COUNTED} records match. Use narrower filters.")
    return [("id", "in", ids)]


TOOLS = {tool.__name__: tool for tool in (aggregate_records, open_view)}
