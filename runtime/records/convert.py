"""Conversion of values: what a language model writes, as the ORM takes it."""

from datetime import date, datetime, time, timedelta

import pytz
from odoo import fields
from odoo.fields import Domain

from ...services.records.errors import invalid, unknown

NUMBERS = {"integer": int, "many2one_reference": int, "float": float, "monetary": float}
BOOLS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def literal(text):
    """For ``=ilike``: nothing of the text is a wildcard."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def leaf(model, field, operator, value):
    """A condition on a field that is no relation."""
    if operator.endswith("like"):
        if not isinstance(value, str):
            raise invalid(f"“{operator}” compares “{field.name}” with a text.")
        return Domain(field.name, operator, value)
    if (
        field.type == "datetime"
        and isinstance(value, str)
        and len(value.strip()) <= len("2026-01-31")
    ):
        return _day(model, field, operator, value)
    if isinstance(value, list):
        return Domain(field.name, operator, [scalar(model, field, one) for one in value])
    return Domain(field.name, operator, scalar(model, field, value))


def scalar(model, field, value):
    """What one value of a field is for the ORM; False where there is none.

    :raises RecordError: it is none of the field's
    """
    if value is None or value is False:
        return False
    try:
        if field.type == "boolean":
            return value if isinstance(value, bool) else BOOLS[str(value).strip().lower()]
        if field.type in NUMBERS or field.name == "id":
            return NUMBERS.get(field.type, int)(value)
        if field.type == "selection":
            return _choice(model, field, value)
        if field.type == "date":
            return fields.Date.to_date(_text(value).strip()[:10])
        if field.type == "datetime":
            return _utc(model, datetime.fromisoformat(_text(value).strip()))
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        hint = (
            f" For the highest or the lowest, sort by “{field.name} desc” or “{field.name}”, with limit 1."
            if field.type in NUMBERS and field.name != "id"
            else ""
        )
        raise invalid(
            f"“{str(value)[:100]}” is no value of “{field.name}” ({field.type}).{hint}"
        ) from error
    return _text(value)


def _text(value):
    if isinstance(value, list | dict):
        raise TypeError
    return str(value)


def choices(model, field):
    """``{key: label}``"""
    return dict(field._description_selection(model.env))


def _choice(model, field, value):
    known = choices(model, field)
    if value in known:
        return value
    spelled = str(value).strip().lower()
    for key, label in known.items():
        if spelled in (str(key).lower(), str(label).lower()):
            return key
    raise unknown(f"value of {field.name}", value, map(str, known))


def _zone(model):
    return pytz.timezone(model.env.context.get("tz") or "UTC")


def _utc(model, moment):
    """A moment as the person's clock shows it, for the database."""
    if moment.tzinfo is None:
        moment = _zone(model).localize(moment)
    return moment.astimezone(pytz.utc).replace(tzinfo=None)


def local(model, moment):
    return pytz.utc.localize(moment).astimezone(_zone(model)).strftime("%Y-%m-%d %H:%M")


def _day(model, field, operator, value):
    """A whole day of the person, compared with a moment."""
    try:
        day = date.fromisoformat(value.strip())
    except ValueError as error:
        raise invalid(f"“{value[:50]}” is no date. Write YYYY-MM-DD.") from error
    begin = _utc(model, datetime.combine(day, time.min))
    end = _utc(model, datetime.combine(day + timedelta(days=1), time.min))
    within = Domain(field.name, ">=", begin) & Domain(field.name, "<", end)
    return {
        "=": within,
        "!=": ~within,
        ">=": Domain(field.name, ">=", begin),
        "<": Domain(field.name, "<", begin),
        ">": Domain(field.name, ">=", end),
        "<=": Domain(field.name, "<", end),
    }[operator]
