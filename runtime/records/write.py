"""Record tools that change: each is a function of the person's scope and the arguments.

They run in a transaction of the caller, which keeps all of it or nothing.
"""

from odoo.fields import Command, Domain

from ...services import text
from ...services.records import render
from ...services.records.errors import RecordError, invalid, unknown
from ...services.sentence import _lt
from . import actions, chatter, convert, read, vals, values
from .read import LISTED
from .record_scope import MAX_NAMED

MAX_FOUND = 500  # records of one call that filters name
NAME = 100  # characters of a record's name


def create_record(scope, given):
    model = scope.model(given["model"], "create")
    record = model.create(vals.of(scope, model, given["values"]))
    return read.changed(scope, "Created", record, given["values"])


def update_records(scope, given):
    model = scope.model(given["model"], "update")
    records = _meant(scope, model, given, "update")
    found = vals.of(scope, model, given["values"], records)
    touched = list(_touched(records, found))
    before = _told(scope, touched)
    records.write(found)
    replaced = _replaced(before, _told(scope, touched))
    answer, data = read.changed(scope, "Updated", records, given["values"])
    answer = text.cap(answer + _said_before(replaced), render.CAP)
    return answer, {**data, "before": replaced}


def archive_records(scope, given):
    model = scope.model(given["model"], "archive")
    if not model._active_name:
        raise RecordError(_lt("Records of %(model)s cannot be archived.", model=model._name))
    restores = given.get("restore") is True
    within = {model._active_name: False} if restores else {}
    records = _meant(scope, model, given, "archive", **within)
    if restores:
        records.action_unarchive()
    else:
        records.action_archive()
    return read.changed(scope, "Restored" if restores else "Archived", records)


def delete_records(scope, given):
    model = scope.model(given["model"], "delete")
    records = scope.records(model, given["ids"], "delete")
    answer, data = read.changed(scope, "Deleted", records)
    records.unlink()
    return answer, {**data, "rows": [{**row, "url": None} for row in data["rows"]]}


def run_action(scope, given):
    model = scope.model(given["model"], "action")
    released = scope.access[model._name].actions
    if given["action"] not in released:
        raise unknown("released action", given["action"], released)
    records = _meant(scope, model, given, "action")
    if action_id := released[given["action"]]:
        context = {
            "active_model": model._name,
            "active_ids": records.ids,
            "active_id": records.ids[0],
        }
        # The action checks its groups, or the person's right to write, by itself.
        scope.env["ir.actions.server"].browse(action_id).with_context(**context).run()
        made = None
    else:
        made = actions.run(scope, records, given["action"], given.get("values") or {})
    answer, data = read.changed(scope, f"Ran “{given['action']}” on", records.exists())
    if not made:
        return answer, data
    names = ", ".join(one["name"] for one in made)
    return f"{answer} The user has the file: {names}. Messages can attach it.", {
        **data,
        "files": made,
    }


# ------------------------------------------------------------ which records


def _meant(scope, model, given, operation, **also):
    """The records with these ids, or as many as are expected that these filters match.

    :param also: values that those that are found must have
    """
    if given.get("ids") and given.get("filters"):
        raise invalid("Say by “ids” or by “filters” which records are meant, not by both.")
    if not given.get("filters"):
        return scope.records(model, given.get("ids") or [], operation)
    expected = read.within(given.get("count"), 1, 1, MAX_FOUND)
    domain = read.search_domain(scope, scope.model(given["model"]), {"filters": given["filters"]})
    if also:
        model = model.with_context(active_test=False)
        domain &= Domain([(name, "=", value) for name, value in also.items()])
    found = model.search(domain, order=scope.order(model, ""), limit=MAX_FOUND + 1)
    if len(found) != expected:
        raise invalid(_not_expected(scope, found, expected))
    parts = [found.ids[at : at + MAX_NAMED] for at in range(0, len(found), MAX_NAMED)]
    return model.union(*(scope.records(model, ids, operation) for ids in parts))


def _not_expected(scope, found, expected):
    count = f"more than {MAX_FOUND}" if len(found) > MAX_FOUND else len(found)
    if not found:
        return f"The filters match no records of {found._name}."
    names = scope.names_of(found[:LISTED])
    some = ", ".join(f"{text.one_line(name, NAME)} ({i})" for i, name in names.items())
    more = ", …" if len(found) > LISTED else ""
    return (
        f"The filters match {count} records of {found._name}, not {expected}: {some}{more}."
        f" Use narrower filters, or ids; to change all of them set “count”, at most {MAX_FOUND}."
    )


# ------------------------------------------------------------ what was there before


def _touched(records, found):
    """``(records, names)`` of the fields that are about to be written, also of lines."""
    yield records, found.keys()
    for name, given in found.items():
        if records._fields[name].type == "one2many":
            lines = records.env[records._fields[name].comodel_name]
            for command, line, more in given:
                if command == Command.UPDATE:
                    yield from _touched(lines.browse(line), more)


def _told(scope, touched):
    """``{(model, id): {field: what is told of it}}``"""
    told = {}
    for records, names in touched:
        limit = render.VALUE if len(records) == 1 else render.CELL
        for name in names:
            if convert.is_picture(records._fields[name]):
                continue
            column = values.column(scope, records.exists(), records._fields[name], limit)
            for record_id, value in column.items():
                told.setdefault((records._name, record_id), {})[name] = value
    return told


def _replaced(before, after):
    """Former values, so that they can be written back: ``[{"model", "id", "values"}]``."""
    found = []
    for (model, record_id), row in before.items():
        now = after.get((model, record_id), {})
        changed = {name: value for name, value in row.items() if now.get(name) != value}
        if changed:
            found.append({"model": model, "id": record_id, "values": changed})
    return found


def _said_before(replaced):
    told = [
        f"{one['model']} {one['id']}: "
        + ", ".join(
            f"{name} “{render.cell(value, render.VALUE)}”" for name, value in one["values"].items()
        )
        for one in replaced[:LISTED]
    ]
    return f"\nBefore: {render.some(told, LISTED, len(replaced), '; ')}." if told else ""


TOOLS = {
    tool.__name__: tool
    for tool in (create_record, update_records, archive_records, delete_records, run_action)
} | chatter.WRITES
