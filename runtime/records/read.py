"""Record tools that read: each is a function of the person's scope and the arguments.

They return what the model reads and, for people, the same as data that a view can show.
"""

import contextlib

from odoo.exceptions import AccessError, MissingError
from odoo.fields import Domain

from ...services import const, text
from ...services.records import actions, conditions, render
from ...services.records.catalog import WRITES
from ...services.records.errors import invalid, unknown
from ...tools import labels
from . import columns, vals, values

LIMIT = 20  # records when nobody asks for more
MAX_FIELDS = 60
SHEETS = 5  # records that are told one by one; more become a table
MAX_DESCRIBED = 120  # fields of one answer
CHOICES = 30  # of a field that are described
QUERY_CHARS = 200  # of a question about fields
LISTED = 20  # records that a sentence tells
COUNTED = 10_000  # records, then nobody counts on


def find_models(scope, given):
    query = str(given.get("query") or "").strip().lower()
    found = []
    for name in scope.models():
        label = scope.env[name]._description
        if query and query not in name and query not in label.lower():
            continue
        can = [one for one in WRITES if one != "action" and name in scope.models(one)]
        released = sorted(scope.access[name].actions) if name in scope.models("action") else []
        found.append(
            {
                "model": name,
                "label": label,
                "can": ["read", *can],
                "actions": actions.told(name, released),
            }
        )
    if not found and query:
        return find_models(scope, {})
    lines = [
        f"{one['model']} ({one['label']}): {', '.join(one['can'])}"
        + (f"; actions: {', '.join(one['actions'])}" if one["actions"] else "")
        for one in found
    ]
    return "\n".join(lines) or "There are no models that the user may read.", {"models": found}


def describe_model(scope, given):
    model = scope.model(given["model"])
    query = str(given.get("query") or "").strip().lower()[:QUERY_CHARS]
    access = scope.access[model._name]
    kinds = vals.kinds(model) if "create" in access.operations else {}
    can_write = access.operations & {"create", "update"}
    pictures = {
        name: field
        for name, field in scope.pictures(model).items()
        if can_write and vals.is_writable(model, field)
    }
    fields = scope.fields(model) | pictures
    described = [values.described(scope, model, field) for field in fields.values()]
    described, note = _matching(scope, model, described, query)
    for one in described:
        field = fields[one["name"]]
        if vals.is_writable(model, field, kinds) and can_write:
            one["required" if field.required else "writable"] = True
    described.sort(key=lambda one: (not one.get("required"), one["name"] in _LESS, one["name"]))
    shown = described[:MAX_DESCRIBED]
    lines = [f"{model._name} ({model._description}); * is required, + may be written"]
    for one in shown:
        mark = "*" if one.get("required") else "+" if one.get("writable") else ""
        extra = f" -> {one['model']}" if "model" in one else ""
        if "choices" in one:
            extra = f" [{render.some([f'{k}={v}' for k, v in one['choices'].items()], CHOICES)}]"
        if one["name"] in pictures:
            extra = ", the name of a file of this conversation"
        lines.append(f"{one['name']}{mark}: {one['type']}{extra} “{one['label']}”")
    if len(described) > len(shown):
        lines.append(f"[{len(described) - len(shown)} more; ask with query]")
    return text.cap("\n".join([*note, *lines]), render.CAP), {"model": model._name, "fields": shown}


def _matching(scope, model, described, query):
    """Fields with a name or label that holds the query; else those that it names, as a question does, or the usual.

    :param described: of `values.described`
    :return: some of them, and lines that say that none is what was asked for
    """
    if not query:
        return described, []
    if found := [one for one in described if query in one["name"] or query in one["label"].lower()]:
        return found, []
    spaced = "".join(one if one.isalnum() or one == "_" else " " for one in f" {query} ")

    def is_named(word):
        return f" {word} " in spaced if word.isascii() else word in query

    usual = {"name", *values.default_columns(scope, model)}
    named = [one for one in described if is_named(one["name"]) or is_named(one["label"].lower())]
    found = named or [one for one in described if one["name"] in usual]
    return found, [str(unknown("field", query, [one["name"] for one in described]))]


_LESS = frozenset({"create_uid", "create_date", "write_uid", "write_date", "display_name"})


def columns_of(scope, model, names, default):
    """The columns that are shown: those that are asked for, each checked, or the usual ones."""
    names = list(dict.fromkeys(names or default))
    if len(names) > MAX_FIELDS:
        names = names[:MAX_FIELDS]
    found = [columns.column(scope, model, str(name)) for name in names]
    return [column for column in found if column.name not in ("id", "display_name")]


def search_domain(scope, model, given):
    tree = _tree(given)
    return scope.domain(model, tree) if tree.parts else Domain.TRUE


def _tree(given):
    return conditions.parse(given.get("domain"), given.get("filters"))


def search_records(scope, given):
    model = scope.model(given["model"])
    name = vals.text(given.get("name") or "").strip()
    domain = search_domain(scope, model, given)
    named, note = _of_name(scope, model, domain, name)
    domain &= named
    order = scope.order(model, given.get("order"))
    limit = within(given.get("limit") or None, LIMIT, 1, render.MAX_ROWS)
    offset = within(given.get("offset"), 0, 0, 1_000_000)
    wanted = columns_of(scope, model, given.get("fields"), values.default_columns(scope, model))
    found = model.search(domain, order=order, limit=limit, offset=offset)
    total = offset + len(found)
    if len(found) == limit or (offset and not found):
        total = model.search_count(domain, limit=COUNTED)
    answer, data = shown(scope, found, wanted, total, offset)
    if not found and not offset:
        answer += _choices_instead(scope, model, _tree(given)) or _elsewhere(
            scope, model, name, given
        )
    return answer + note if found else answer, data


def _of_name(scope, model, domain, name):
    """Condition that finds records by their name, else by what their other texts hold, and a sentence that says so.

    :param domain: other conditions of the search
    """
    if not name:
        return Domain.TRUE, ""
    if len(name) > conditions.MAX_TEXT:
        raise invalid(f"“name” has at most {conditions.MAX_TEXT} characters.")
    for whole, part in scope.called(model, name):
        if model.search(domain & whole, limit=1):
            others = model.search_count(domain & part & ~whole, limit=COUNTED)
            return whole, f"\n[{counted(others)} more have it in their names.]" if others else ""
        if model.search(domain & part, limit=1):
            return part, ""
    texts = [
        one for one in values.default_columns(scope, model) if model._fields[one].type == "char"
    ]
    holding = Domain.OR(Domain(one, "ilike", name) for one in texts)
    # Without the name: a number in it would count as an id that somebody has told.
    return holding, f"\n[No record has this name. These hold it in {' or '.join(texts)}.]"


def _elsewhere(scope, model, name, given):
    """Name of another model with a record of the name that was looked for, in a sentence; ``""`` without one."""
    for one in _tree(given).parts:
        if not isinstance(one, conditions.Condition) or one.path != (model._rec_name,):
            continue
        if isinstance(one.value, str) and one.operator in ("=", "ilike"):
            name = name or one.value
    return f" {scope.elsewhere_named(model, name)}".rstrip() if name else ""


def _choices_instead(scope, model, tree):
    """Choices of the records that all other conditions find: quotations are drafts, or were sent."""
    for one in tree.parts:
        if not isinstance(one, conditions.Condition) or len(one.path) != 1:
            continue
        field = scope.field(model, one.path[0])
        if field.type == "selection" and field.store:
            rest = tuple(part for part in tree.parts if part is not one)
            domain = scope.domain(model, conditions.Group("&", rest)) if rest else Domain.TRUE
            groups = model._read_group(domain, [field.name], ["__count"])
            told = [f"{choice} ({counted(count)})" for choice, count in groups if choice]
            others = f" There are others, by {field.name}: {render.some(told, CHOICES)}."
            return f"{others} Call search_records again without this filter." if told else ""
    return ""


def read_records(scope, given):
    model = scope.model(given["model"])
    found = scope.records(model, given["ids"])
    wanted = columns_of(scope, model, given.get("fields"), values.default_fields(scope, model))
    start = within(given.get("offset"), 0, 0, values.MAX_HTML)
    answer, data = shown(scope, found, wanted, len(found), start=start)
    if len(found) > SHEETS:
        return answer, data
    sheets = [
        render.sheet(f"{model._name} {row['id']}: {row['name']}", row["values"])
        for row in data["rows"]
    ]
    return text.cap("\n\n".join(sheets), render.CAP), data


def shown(scope, records, wanted, total, offset=0, start=0):
    """A table of records: text, and data for people.

    :param wanted: a list of `columns.Column`
    :param offset: records before these
    :param start: characters of long texts that were read already
    """
    records = _fetched(records, wanted)
    names = scope.names_of(records)
    limit = render.VALUE if len(records) <= SHEETS else render.CELL
    by_column = {one.name: columns.told(scope, records, one, limit, start) for one in wanted}
    is_portal = not scope.env.user._is_internal()
    rows = [
        {
            "id": one.id,
            "name": names.get(one.id, f"#{one.id}"),
            "values": {column.name: by_column[column.name][one.id] for column in wanted},
            "url": labels.link(one, is_portal),
            **({"image": values.picture(scope, one)} if len(records) <= SHEETS else {}),
        }
        for one in records
    ]
    model = records.browse()
    data = _data(scope, model, wanted, rows, total)
    if not rows:
        return f"No records of {model._name} match.", data
    whole = "1 record" if total == 1 else f"{counted(total)} records"
    table = render.table(
        f"{model._name} ({model._description}): {whole}",
        ["id", "name", *(column.name for column in wanted)],
        ([row["id"], row["name"], *row["values"].values()] for row in rows),
        total,
        whole,
        offset,
    )
    return table, data


def changed(scope, done, records, given=()):
    shown_as_values = [name for name in given if name not in scope.pictures(records)]
    wanted = columns_of(scope, records, shown_as_values, ())
    wanted = [one for one in wanted if one.name != "name"]
    _said, data = shown(scope, records, wanted, len(records))
    told = [f"{row['name']} ({row['id']})" for row in data["rows"][:LISTED]]
    named = render.some(told, LISTED, len(records))
    return f"{done} {records._name}: {named or 'nothing that is left'}.", {**data, "done": done}


def counted(total):
    """A number of records or groups that nobody has counted to the end is “at least so many”."""
    return f"{total}{'+' * (total >= COUNTED)}"


def _fetched(records, wanted):
    """Fetch what is shown, and nothing else: Odoo would read every other column beside the first."""
    records = records.with_context(prefetch_fields=False)
    own = dict.fromkeys((*one.steps, one.field)[0].name for one in wanted)
    with contextlib.suppress(
        AccessError, MissingError
    ):  # then each value says by itself that it is closed
        records.fetch(["display_name", *own])
    return records


def _data(scope, model, wanted, rows, total):
    return {
        "model": model._name,
        "label": labels.of_model(model),
        "columns": [
            columns.described(scope, one) | ({"key": True} if one.name in values.PREFERRED else {})
            for one in wanted
        ],
        "rows": _as_many_as_fit(rows),
        "total": total,
    }


def _as_many_as_fit(rows):
    while len(rows) > 1 and text.weight(rows, const.UI_RESULT_CAP) >= const.UI_RESULT_CAP:
        rows = rows[: len(rows) // 2]
    return rows


def within(value, default, low, high):
    if value is None or isinstance(value, bool):
        return default
    return min(max(int(value), low), high)


TOOLS = {
    tool.__name__: tool for tool in (find_models, describe_model, search_records, read_records)
}
