"""Values that a model writes, as the ORM takes them; each is of a field that the person may write."""

import base64
import re

from markupsafe import Markup
from odoo.fields import Command
from odoo.models import MAGIC_COLUMNS

from ...services.errors import EngineError
from ...services.llm import files
from ...services.records import deny_list
from ...services.records.errors import RecordError, invalid, unknown
from ...services.render import html_text, markdown
from ...services.sentence import _lt
from . import convert

MAX_VALUES = 100  # fields of one record
MAX_LINES = 50  # lines or linked records of one value
MAX_FILES = 10  # of one message
MAX_TEXT = 100_000  # characters of a value
LISTED = 20  # ids that a sentence tells
_DEFAULT = re.compile(r"""['"]default_(\w+)['"]\s*:\s*['"](\w+)['"]""")
UNNUMBERED = ("New", "/")  # defaults of a name for which a number is drawn
LOST = {
    ("pictures",): _lt("pictures"),
    ("formatting",): _lt("formatting"),
    ("pictures", "formatting"): _lt("pictures and formatting"),
}
HOW_LINKS = 'Write {"add": […]}, {"remove": […]}, or {"set": […]} to replace all of them.'
HOW_LINES = 'Write objects: with “id” to change that line, without to add one; {"remove": [ids]} removes lines.'


def of(scope, model, given, records=None):
    """Values for the ORM of those that a model wrote; each field is one that the person may write.

    :param records: those that are changed, None where one is created
    """
    if not isinstance(given, dict) or not given or len(given) > MAX_VALUES:
        raise invalid(f"“values” must be an object of 1 to {MAX_VALUES} fields.")
    found = {}
    for name, value in given.items():
        field = scope.pictures(model).get(name) or scope.field(model, name)
        if not is_writable(model, field):
            if records is not None or field.type != "selection":
                raise _not_writable(model, field)
            found[field.name] = _kind(model, field, value)
            continue
        if records is not None and field.name == model._active_name:
            scope.model(model._name, "archive")  # raises if that may not be
        found[field.name] = _value(scope, model, field, value, records)
    return found


def _value(scope, model, field, value, records):
    if field.type == "many2one":
        return False if value in (None, False, "") else _one(scope, field, value).id
    if field.type == "one2many":
        return _lines(scope, field, value, records)
    if field.type == "many2many":
        return _links(scope, field, value, records)
    if convert.is_picture(field):
        return _picture(scope, field, value)
    if field.type in ("html", "text"):
        return _long_text(scope, field, value, records)
    value = convert.scalar(model, field, value)
    return text(value) if isinstance(value, str) else value


def _one(scope, field, value):
    if isinstance(value, dict):
        value = value.get("id") or value.get("name")
    return scope.one(scope.env[field.comodel_name], value, field.name)


def _parts(field, value, names, how):
    """The lists of such a value by their names; a bare list is the first one's."""
    value = value or []
    if isinstance(value, list):
        value = {names[0]: value}
    if not isinstance(value, dict) or not value.keys() <= set(names):
        raise invalid(f"“{field.name}” holds several records. {how}")
    parts = [value.get(name) or [] for name in names]
    if not all(isinstance(part, list) for part in parts) or sum(map(len, parts)) > MAX_LINES:
        raise invalid(f"“{field.name}” takes a list of at most {MAX_LINES} items.")
    return parts


def _links(scope, field, value, records):
    """The records that it is linked to from now on, or those that are added and removed."""
    if records is not None and not isinstance(value, dict):
        raise invalid(f"“{field.name}” holds several records. {HOW_LINKS}")
    wanted, added, removed = _parts(field, value, ("set", "add", "remove"), HOW_LINKS)
    if records is not None and not (added or removed or "set" in value):
        raise invalid(f"“{field.name}”: nothing is added or removed. {HOW_LINKS}")
    commands = []
    if records is None or "set" in value:
        commands.append(Command.set([_one(scope, field, one).id for one in wanted]))
    commands += [Command.link(_one(scope, field, one).id) for one in added]
    for one in removed:
        linked = _one(scope, field, one)
        if records is None or linked not in records[field.name]:
            raise invalid(f"“{field.name}” does not hold {scope.named_as(linked)}.")
        commands.append(Command.unlink(linked.id))
    return commands


def _lines(scope, field, value, records):
    """Lines of a record: those that are added, changed and removed; all others stay."""
    lines, removed = _parts(field, value, ("add", "remove"), HOW_LINES)
    if records is not None and not (lines or removed):
        raise invalid(f"“{field.name}”: an empty list changes nothing. {HOW_LINES}")
    if not all(isinstance(line, dict) for line in lines):
        raise invalid(f"“{field.name}” takes objects with the fields of {field.comodel_name}.")
    if any(field.inverse_name in line for line in lines):
        raise invalid(f"“{field.inverse_name}” of a line is filled in by itself.")
    commands = []
    for line in lines:
        if line.get("id"):
            one = _line(scope, field, line["id"], records, "update")
            rest = {name: given for name, given in line.items() if name != "id"}
            commands.append(Command.update(one.id, of(scope, one.browse(), rest, one)))
        else:
            comodel = scope.model(field.comodel_name, "create")
            rest = {name: given for name, given in line.items() if name != "id"}
            commands.append(Command.create(of(scope, comodel, rest)))
    is_part = scope.env[field.comodel_name]._fields[field.inverse_name].ondelete == "cascade"
    for one in removed:
        line = _line(scope, field, one, records, "delete" if is_part else "update")
        commands.append(Command.unlink(line.id))
    return commands


def _line(scope, field, record_id, records, operation):
    """A line of the one record that is changed."""
    if records is None or len(records) != 1:
        raise invalid(f"“{field.name}”: only lines of one record that is there have an “id”.")
    if isinstance(record_id, dict):
        record_id = record_id.get("id")
    lines = records[field.name]._filtered_access("read")
    found = lines.filtered(lambda line: str(line.id) == str(record_id).strip())
    if not found:
        ids = ", ".join(map(str, lines.ids[:LISTED]))
        raise invalid(
            f"“{field.name}” has no line {str(record_id)[:20]}. Its lines: {ids or 'none'}."
        )
    return scope.records(scope.model(field.comodel_name, operation), found.ids, operation)


# ------------------------------------------------------------ texts


def _long_text(scope, field, value, records):
    """A text; for rich text Markdown as HTML. What is there stays in front of what is appended."""
    is_html, before = field.type == "html", ""
    if isinstance(value, dict):
        if value.keys() not in ({"append"}, {"set"}):
            raise invalid(
                f'“{field.name}” takes a text, or {{"append": "…"}}, or {{"set": "…"}} to replace all of it.'
            )
        if "append" in value:
            if records is not None and len(records) != 1:
                raise invalid(f"“{field.name}”: append to one record at a time.")
            before = (records and records[field.name]) or ""
        value = next(iter(value.values()))
    elif is_html and records is not None:
        _keep_what_is_lost(scope, field, records)
    said = text(value) if value else ""
    if is_html:
        said = rich(said)
    return f"{before}{'' if is_html or not before else chr(10)}{said}" or False


def _keep_what_is_lost(scope, field, records):
    for record in records:
        if lost := html_text.losses(record[field.name] or ""):
            raise RecordError(
                _lt(
                    "“%(field)s” of %(name)s has %(what)s, which a new text would lose."
                    ' Add to it with {"append": "…"}, or replace all of it with {"set": "…"}.',
                    field=field.name,
                    name=scope.named_as(record),
                    what=LOST[tuple(lost)],
                )
            )


def rich(said):
    """Markdown as HTML; tags in it stay text."""
    return Markup(markdown.render(said, breaks=True).strip())  # noqa: S704  it leaves no tag of the text a tag


def text(value):
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise invalid(f"A text has at most {MAX_TEXT} characters.")
    return value


# ------------------------------------------------------------ files


def one_of(records, wanted, what, names=None):
    """The one that an id or a name means; the only one where nothing is said.

    :param names: ``{id: name}``, as far as they may be told; else the records' own
    """
    wanted = str(wanted or "").strip()
    names = {one.id: one.name or "" for one in records} if names is None else names
    told = {i: f"{name} ({i})" for i, name in names.items()}
    found = [i for i, name in names.items() if wanted in (str(i), name, told[i])]
    found = found or [i for i, name in names.items() if wanted.lower() in name.lower()]
    if len(found) == 1:
        return records.browse(found)
    raise unknown(what, wanted, [told[i] for i in found or told])


def files_of_conversation(scope, wanted):
    """``[(name, content)]`` of files that the person has sent, or that tools have returned, in this conversation."""
    if not isinstance(wanted, list) or len(wanted) > MAX_FILES:
        raise invalid(f"“files” takes a list of at most {MAX_FILES} names.")
    if not wanted:
        return []
    channel = scope.turn.channel_id.with_env(scope.env)
    # sudo: tool_call, ir.attachment - files of the person's own conversation
    known = channel._own_files() | channel.sudo().woow_turn_ids.call_ids.attachment_ids
    found = [one_of(known.sorted("id", reverse=True), one, "file") for one in wanted]
    return [(one.name, one.raw or b"") for one in found]


def _picture(scope, field, value):
    """A picture of the conversation, as Odoo takes it; Odoo itself makes it smaller."""
    if not isinstance(value, str) or not value.strip():
        raise invalid(f"“{field.name}” takes the name of a picture of this conversation.")
    ((name, content),) = files_of_conversation(scope, [value])
    if files.mimetype_of(name, content) not in files.PICTURES:
        raise invalid(f"“{name}” is no picture that Odoo can show.")
    try:
        files.read(name, content, (scope.env.cr.dbname, scope.env.uid))
    except EngineError as error:
        raise RecordError(str(error)) from error
    return base64.b64encode(content)


# ------------------------------------------------------------ fields


def is_writable(model, field, kinds=()):
    """:param kinds: names of `kinds`, of a new record"""
    return not (
        (field.readonly and field.name not in kinds)
        or field.name in MAGIC_COLUMNS
        or field.name in ("display_name", "parent_path")
        # It would change a record of that model.
        or (field.related and field.related_field.model_name in deny_list.READ_ONLY)
        or not model._has_field_access(field, "write")
        or is_number(model, field)
    )


def _not_writable(model, field):
    if is_number(model, field):
        said = _lt(
            "“%(field)s” of %(model)s is a number that Odoo gives. Leave it out.",
            field=field.name,
            model=model._name,
        )
    else:
        said = _lt(
            "“%(field)s” of %(model)s cannot be written.", field=field.name, model=model._name
        )
    return RecordError(said)


def is_number(model, field):
    """True for the name of a record, such as an order, that a sequence gives when it is created.

    Forms show it as it is; the ORM would take any text instead of the number, and leave the document without one.
    """
    if field.name != model._rec_name or not callable(field.default):
        return False
    return field.default(model.with_context(lang=None)) in UNNUMBERED


def kinds(model):
    """``{field: values}`` that Odoo's own actions give new records, such as the kind of an invoice, and no form."""
    # sudo: ir.actions.act_window - contexts of menus, of which names and values of fields are looked for
    Action = model.env["ir.actions.act_window"].sudo()
    found = {}
    about = [("res_model", "=", model._name), ("context", "like", "default_")]
    for context in Action.search(about).mapped("context"):
        for name, value in _DEFAULT.findall(context):
            field = model._fields.get(name)
            if field is not None and field.type == "selection" and field.readonly and field.store:
                found.setdefault(name, set()).add(value)
    return found


def _kind(model, field, value):
    known = kinds(model)
    if not is_writable(model, field, known):
        raise _not_writable(model, field)
    chosen = convert.scalar(model, field, value)
    if chosen not in known[field.name]:
        raise unknown(f"{field.name} of a new record", value, sorted(known[field.name]))
    return chosen
