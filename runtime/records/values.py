"""Records as plain data, each value with the rights of the person who reads it."""

from odoo.exceptions import AccessError, UserError

from ...services import text
from ...services.records import render
from ...services.render import html_text
from . import convert

NO_ACCESS = {"name": "(no access)"}
MAX_HTML = 200_000  # characters of a value that are read
NOTE = 100  # characters of what is said of a text that is cut
MAX_LINKS = 20  # records of one value that are named
PICTURES = ("avatar_128", "image_128")
MAX_COUNTED = 10  # records of one model that are named where they are only counted
MAX_NAME = 200  # characters of such a name
# What says most of what no assistant reaches: who follows, how a file or a parameter is called, whose telephone rings.
SAID_BY = {
    "mail.followers": "partner_id",
    "ir.attachment": "name",
    "ir.config_parameter": "key",
    "res.groups": "display_name",
    "sms.sms": "number",
}
PREFERRED = (  # what a table shows when nobody asks for more
    "state",
    "stage_id",
    "partner_id",
    "user_id",
    "email",
    "phone",
    "city",
    "date_order",
    "date_deadline",
    "invoice_date",
    "expected_revenue",
    "amount_total",
)


def default_columns(scope, model):
    return [name for name in PREFERRED if scope.is_visible(model, name)]


def default_fields(scope, model):
    """Default fields of a record that is read."""
    names = [
        name
        for name, field in scope.fields(model).items()
        if (field.store or field.name == "display_name")
        and field.type != "one2many"
        and name not in ("id", "create_uid", "write_uid", "create_date", "write_date")
    ]
    return sorted(names, key=lambda name: name not in PREFERRED)


def column(scope, records, field, limit, start=0):
    """:param limit: characters of a text
    :param start: characters of it that were read already
    :return: ``{record id: value}``: None, bool, number, text, ``{"id", "name"}``, a list of those, or an amount."""
    try:
        if field.name == "display_name":
            names = scope.names_of(records)
            return {one: names.get(one, NO_ACCESS) for one in records.ids}
        if field.relational:
            return _relations(scope, records, field)
        return {one.id: _plain(scope, one, field, limit, start) for one in records}
    except (AccessError, UserError):
        return dict.fromkeys(records.ids, NO_ACCESS)


def _relations(scope, records, field):
    comodel = scope.env[field.comodel_name].with_context(prefetch_fields=False)
    if not comodel.has_access("read"):
        return {
            one.id: NO_ACCESS if field.type == "many2one" and one[field.name] else None
            for one in records
        }
    in_order = list if scope.is_order_open(comodel) else sorted
    ids_of = {one.id: in_order(one[field.name].ids) for one in records}
    names = scope.names_of(
        comodel.browse(dict.fromkeys(i for ids in ids_of.values() for i in ids[: MAX_LINKS + 1]))
    )

    def shown(one):
        ids = ids_of[one.id]
        if field.type == "many2one":
            return _link(names, ids[0]) if ids else None
        known = [i for i in ids if i in names]
        links = [_link(names, i) for i in known[:MAX_LINKS]]
        return [*links, {"name": f"… of {len(ids)}"}] if len(ids) > MAX_LINKS else links

    return {one.id: shown(one) for one in records}


def _link(names, record_id):
    return {"id": record_id, "name": names[record_id]} if record_id in names else NO_ACCESS


def _plain(scope, record, field, limit, start):
    value = record[field.name]
    if field.type == "boolean":
        return bool(value)
    if field.type == "monetary":
        held = currency(scope, record, field)
        return amount(value, held.name, held.decimal_places) if held else amount(value, "", 0)
    if field.type in convert.NUMBERS:
        return value
    if value is False or value is None:
        return None
    if field.type == "selection":
        label = convert.choices(record, field).get(value)
        return {"key": value, "name": f"{label or value}"}
    if field.type == "datetime":
        return convert.local(record, value)
    if field.type == "date":
        return value.isoformat()
    if field.type == "html":
        value = html_text.markdown(value[:MAX_HTML])
    return _part(str(value), limit, start) or None


def _part(value, limit, start):
    """So much of a long text, and where records are read one by one how to go on."""
    if limit < render.VALUE or (len(value) <= limit and not start):
        return text.cap(value, limit)
    end = min(start + limit - NOTE, len(value))
    part = value[start:end]
    if end < len(value):
        part += f"\n[{end} of {len(value)} characters; to read on: this field alone, offset {end}]"
    return part


def currency(scope, record, field):
    """The `res.currency` of an amount, None where there is none, or the person may not read it."""
    name = field.get_currency_field(record)
    try:
        found = record[name] if name and scope.is_visible(record, name) else None
        return found if found and found.name else None
    except AccessError:
        return None


def amount(value, currency, digits):
    name = f"{render.number(value, digits)} {currency}".strip()
    return {"amount": value, "currency": currency, "name": name}


def picture(scope, record):
    """URL of a record's picture, if its model has one that the person may see."""
    for name in PICTURES:
        field = record._fields.get(name)
        if field is None or scope.is_closed(record, name):
            continue
        if record._has_field_access(field, "read"):
            return f"/web/image/{record._name}/{record.id}/{name}"
    return None


def described(scope, model, field):
    """A field as `describe_model` tells of it, and as columns are named."""
    found = {"name": field.name, "label": field._description_string(scope.env), "type": field.type}
    if field.type == "selection":
        found["choices"] = {
            str(key): str(label) for key, label in convert.choices(model, field).items()
        }
    if field.relational:
        found["model"] = field.comodel_name
    return found


def names_of_counted(scope, env, model, ids):
    """Names of records that a card only counts, because no assistant reaches their model.

    :param env: with all rights
    :return: as far as the person may know them: of a follower and of a number that takes the right to read the contact,
        of the others to read themselves
    """
    field = SAID_BY.get(model)
    if not field:
        return []
    found = env[model].browse(list(ids)[:MAX_COUNTED]).exists()
    if field in ("partner_id", "number"):
        known = scope.names_of(scope.env["res.partner"].browse(found.partner_id.ids))
        numbers = {one.id: one.number for one in found} if field == "number" else {}

        def of(one):
            if one.partner_id and one.partner_id.id not in known:
                return scope.env._("(no access)")
            return numbers.get(one.id) or known.get(one.partner_id.id)

        said = map(of, found)
    else:
        said = scope.env[model].browse(found.ids)._filtered_access("read").mapped(field)
    return [text.one_line(text.visible(one), MAX_NAME) for one in said if one]
