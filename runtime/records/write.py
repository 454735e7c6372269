"""Record tools that change: each is a function of the person's reach and the arguments.

They run in a transaction of the caller, which keeps all of it or nothing.
"""

from odoo.fields import Command
from odoo.tools import plaintext2html

from ...services.records.errors import RecordError, invalid, unknown
from . import convert, read

MAX_VALUES = 100  # fields of one record
MAX_LINES = 50  # records that are created within one
MAX_TEXT = 100_000  # characters of a value


def create_record(reach, given):
    model = reach.model(given["model"], "create")
    record = model.create(_vals(reach, model, given["values"]))
    return _changed(reach, "Created", record, given["values"])


def update_records(reach, given):
    model = reach.model(given["model"], "update")
    records = reach.records(model, given["ids"], "update")
    records.write(_vals(reach, model, given["values"]))
    return _changed(reach, "Updated", records, given["values"])


def archive_records(reach, given):
    model = reach.model(given["model"], "archive")
    if not model._active_name:
        raise RecordError(f"Records of {model._name} cannot be archived.")
    restores = given.get("restore") is True
    records = reach.records(model, given["ids"], "archive")
    if restores:
        records.action_unarchive()
    else:
        records.action_archive()
    return _changed(reach, "Restored" if restores else "Archived", records)


def delete_records(reach, given):
    model = reach.model(given["model"], "delete")
    records = reach.records(model, given["ids"], "delete")
    answer, data = _changed(reach, "Deleted", records)
    records.unlink()
    return answer, {**data, "rows": [{**row, "url": None} for row in data["rows"]]}


def post_message(reach, given):
    model = reach.model(given["model"], "message")
    if "message_ids" not in model._fields or not hasattr(model, "message_post"):
        raise RecordError(f"Records of {model._name} have no chatter.")
    record = reach.records(model, [given["id"]], "message")
    is_note = given.get("is_note") is True
    record.message_post(
        body=plaintext2html(_text(given["body"])),
        message_type="comment",
        subtype_xmlid="mail.mt_note" if is_note else "mail.mt_comment",
    )
    return _changed(reach, "Posted a note on" if is_note else "Posted a message on", record)


def schedule_activity(reach, given):
    model = reach.model(given["model"], "activity")
    if not hasattr(model, "activity_schedule"):
        raise RecordError(f"Records of {model._name} have no activities.")
    record = reach.records(model, [given["id"]], "activity")
    Activity = reach.env["mail.activity"]
    values = {
        "summary": _text(given["summary"]),
        "note": plaintext2html(_text(given.get("note") or "")),
    }
    if given.get("type"):
        values["activity_type_id"] = reach.one(
            reach.env["mail.activity.type"], given["type"], "type"
        ).id
    if given.get("user"):
        values["user_id"] = reach.one(reach.env["res.users"], given["user"], "user").id
    else:
        values["user_id"] = reach.env.uid
    if given.get("date"):
        values["date_deadline"] = convert.scalar(
            Activity, Activity._fields["date_deadline"], given["date"]
        )
    by_type = (
        {} if "activity_type_id" in values else {"act_type_xmlid": "mail.mail_activity_data_todo"}
    )
    record.activity_schedule(**by_type, **values)
    return _changed(reach, "Scheduled an activity on", record)


def run_action(reach, given):
    model = reach.model(given["model"], "action")
    actions = reach.access[model._name].actions
    if given["action"] not in actions:
        raise unknown("released action", given["action"], actions)
    records = reach.records(model, given["ids"], "action")
    context = {"active_model": model._name, "active_ids": records.ids, "active_id": records.ids[0]}
    # The action checks its groups, or the person's right to write, by itself.
    action = reach.env["ir.actions.server"].browse(actions[given["action"]])
    action.with_context(**context).run()
    return _changed(reach, f"Ran “{given['action']}” on", records.exists())


def _changed(reach, done, records, given=()):
    wanted = [one for one in read.columns_of(reach, records, given, ()) if one.name != "name"]
    _said, data = read.shown(reach, records, wanted, len(records))
    named = ", ".join(f"{row['name']} ({row['id']})" for row in data["rows"][:20])
    return f"{done} {records._name}: {named or 'nothing that is left'}.", {**data, "done": done}


# ------------------------------------------------------------ values


def _vals(reach, model, given):
    """What a model wrote of a record, as the ORM takes it; each field is one that the person may write."""
    if not isinstance(given, dict) or not given or len(given) > MAX_VALUES:
        raise invalid(f"“values” must be an object of 1 to {MAX_VALUES} fields.")
    vals = {}
    for name, value in given.items():
        field = reach.field(model, name)
        if not read.is_writable(model, field):
            raise RecordError(f"“{field.name}” of {model._name} cannot be written.")
        vals[field.name] = _value(reach, model, field, value)
    return vals


def _value(reach, model, field, value):
    if field.type == "many2one":
        return False if value in (None, False, "") else _one(reach, field, value).id
    if field.relational:
        return _links(reach, field, value)
    if field.type == "html":
        return plaintext2html(_text(value)) if value else False
    value = convert.scalar(model, field, value)
    return _text(value) if isinstance(value, str) else value


def _one(reach, field, value):
    if isinstance(value, dict):
        value = value.get("id") or value.get("name")
    return reach.one(reach.env[field.comodel_name], value, field.name)


def _links(reach, field, value):
    """Lines that are created with the record, or the records that it is linked to from now on."""
    value = value or []
    if not isinstance(value, list) or len(value) > MAX_LINES:
        raise invalid(f"“{field.name}” takes a list of at most {MAX_LINES} items.")
    if field.type == "one2many":
        if not all(isinstance(line, dict) for line in value):
            raise invalid(f"“{field.name}” takes objects with the fields of {field.comodel_name}.")
        comodel = reach.model(field.comodel_name, "create") if value else None
        inverse = {field.inverse_name}
        if any(inverse & line.keys() for line in value):
            raise invalid(f"“{field.inverse_name}” of a line is filled in by itself.")
        return [Command.create(_vals(reach, comodel, line)) for line in value]
    return [Command.set([_one(reach, field, one).id for one in value])]


def _text(value):
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise invalid(f"A text has at most {MAX_TEXT} characters.")
    return value


TOOLS = {
    tool.__name__: tool
    for tool in (
        *(create_record, update_records, archive_records, delete_records),
        *(post_message, schedule_activity, run_action),
    )
}
