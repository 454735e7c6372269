"""Record tools that aggregate, and that open a view of Odoo; as those of `read`."""

from ...services.records import render
from ...services.records.errors import invalid, unknown
from ...tools import labels
from . import read, values

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
NUMERIC = ("sum", "avg", "min", "max")
OF_ALL = ("count", "count_distinct")
SUMMED = ("integer", "float", "monetary")
GROUPED = (*SUMMED, "char", "selection", "boolean", "date", "datetime", "many2one", "many2many")


def groups_of(reach, model, given):
    """``field`` or ``field:granularity``, each checked."""
    found = []
    for spec in given or ():
        name, _colon, granularity = str(spec).partition(":")
        field = reach.field(model, name)
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


def _measures(reach, model, given):
    found = []
    for spec in given or ("__count",):
        if spec in COUNTS:
            found.append(("__count", None))
            continue
        name, function = _measure(str(spec))
        field = reach.field(model, name)
        if function not in (*NUMERIC, *OF_ALL):
            raise unknown("function", function, (*NUMERIC, *OF_ALL))
        allowed = (*SUMMED, "date", "datetime") if function in ("min", "max") else SUMMED
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


def aggregate_records(reach, given):
    model = reach.model(given["model"])
    domain = read.search_domain(reach, model, given)
    groups = groups_of(reach, model, given.get("group_by"))
    measures = _measures(reach, model, given.get("measures"))
    limit = read.within(given.get("limit") or None, LIMIT, 1, render.MAX_ROWS)
    group_by, asked = [spec for spec, _ in groups], [spec for spec, _ in measures]
    found = model.formatted_read_group(
        domain, group_by, asked, limit=limit, order=_order(given.get("order"), group_by, asked)
    )
    shown = {spec: _labels(reach, field, spec, found) for spec, field in groups}
    rows = [
        [*(shown[spec](row[spec]) for spec in group_by), *(row[spec] for spec in asked)]
        for row in found
    ]
    columns = [*group_by, *asked]
    data = {
        "model": model._name,
        "label": labels.of_model(model),
        "group_by": [
            {**values.described(reach, model, field), "spec": spec} for spec, field in groups
        ],
        "measures": [
            {
                "spec": spec,
                "label": field._description_string(reach.env) if field else reach.env._("Count"),
            }
            for spec, field in measures
        ],
        "groups": [dict(zip(columns, row, strict=True)) for row in rows],
        "action": _pivot(reach, model, domain, group_by, asked),
    }
    if not rows:
        return f"No records of {model._name} match.", data
    table = render.table(f"{model._name} ({model._description})", columns, rows, None)
    if len(rows) > 1:
        (whole,) = model.formatted_read_group(domain, [], asked)
        told = "; ".join(f"{spec} {render.cell(whole[spec])}" for spec in asked)
        table += f"\nOf all groups together: {told}"
    return table, data


def _pivot(reach, model, domain, group_by, measures):
    """The same sums in Odoo's own view; None where there is no such view, or too much to say which records."""
    if not reach.env.user._is_internal():
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


def _order(order, group_by, measures):
    parts = []
    for part in (order or "").split(","):
        name, _blank, direction = part.strip().partition(" ")
        if not name:
            continue
        spec = next(
            (one for one in (*group_by, *measures) if name in (one, one.partition(":")[0])), None
        )
        if spec is None:
            raise unknown("measure or group to sort by", name, [*group_by, *measures])
        if direction.strip().lower() not in ("", "asc", "desc"):
            raise invalid("An order is a name, with “desc” after it or not.")
        parts.append(f"{spec} {direction.strip().lower()}".strip())
    return ", ".join(parts) or None


def _labels(reach, field, spec, found):
    """How the values of a group are told; the names of records only to who may read them."""
    if field.relational:
        comodel = reach.env[field.comodel_name]
        ids = {row[spec][0] for row in found if row[spec]}
        names = reach.names_of(comodel.browse(ids)) if comodel.has_access("read") else {}
        return lambda value: values._link(names, value[0]) if value else None
    if field.type == "selection":
        choices = dict(field._description_selection(reach.env))
        return lambda value: {"key": value, "name": choices.get(value, value)} if value else None
    if field.type in ("date", "datetime"):
        return lambda value: value[1] if isinstance(value, list | tuple) else value or None
    return lambda value: value


# ------------------------------------------------------------ views


def open_view(reach, given):
    """What a button opens; everything in it is data that is checked as in a search."""
    model = reach.model(given["model"])
    view = given["view"]
    groups = [spec for spec, _ in groups_of(reach, model, given.get("group_by"))]
    if not reach.env.user._is_internal():
        raise invalid("This person has no backend. Use search_records: its rows carry links.")
    ids = reach.records(model, given["ids"]).ids if given.get("ids") else []
    if view == "form" and len(ids) != 1:
        raise invalid("A form shows one record: give one id.")
    domain = [("id", "in", ids)] if ids else _plain_domain(reach, model, given)
    action = _window(model, view, domain, {"group_by": groups} if groups else {})
    if view == "form":
        action["res_id"] = ids[0]
    return f"A button that opens the {view} of {model._name} is shown to the user.", {
        "action": action
    }


def _plain_domain(reach, model, given):
    """The ids that match now: names and paths were resolved with the person's rights."""
    domain = read.search_domain(reach, model, given)
    if domain.is_true():
        return []
    return [("id", "in", model.search(domain, limit=read.COUNTED).ids)]


TOOLS = {tool.__name__: tool for tool in (aggregate_records, open_view)}
