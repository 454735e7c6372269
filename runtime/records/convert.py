"""Conversion of values: what a language model writes, as the ORM takes it."""

import math
from datetime import date, datetime, time
from typing import Any

import pytz
from dateutil.relativedelta import relativedelta
from odoo import fields
from odoo.fields import Domain

from ...services.records.errors import invalid, unknown

NUMBERS = {"integer": int, "many2one_reference": int, "float": float, "monetary": float}
UNITS = {"d": "days", "w": "weeks", "m": "months", "y": "years"}
DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}
BOOLS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def is_picture(field):
    """True if it is a picture that is set; smaller ones are computed of it."""
    return isinstance(field, fields.Image) and (not field.compute or bool(field.inverse))


def literal(text):
    """Text for ``=ilike``: nothing of it is a wildcard."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def leaf(model, field, operator, value):
    """A condition on a field that is no relation."""
    if operator.endswith("like"):
        if not isinstance(value, str):
            raise invalid(f"“{operator}” compares “{field.name}” with a text.")
        return Domain(field.name, operator, value)
    if isinstance(value, list):
        if field.type in ("date", "datetime"):
            found = Domain.OR(leaf(model, field, "=", one) for one in value)
            return ~found if operator == "not in" else found
        return Domain(field.name, operator, [scalar(model, field, one) for one in value])
    if field.type in ("date", "datetime") and (span := _span(model, value)):
        return _within(model, field, operator, *span)
    return Domain(field.name, operator, scalar(model, field, value))


def scalar(model, field, value):
    """Value of a field for the ORM; False where there is none.

    :raises RecordError: it is none of the field's
    """
    if value is None or value is False:
        return False
    try:
        if field.type == "boolean":
            return value if isinstance(value, bool) else BOOLS[str(value).strip().lower()]
        if field.type in NUMBERS or field.name == "id":
            return _finite(NUMBERS.get(field.type, int)(_without_thousands(value)))
        if field.type == "selection":
            return _choice(model, field, value)
        if field.type == "date":
            return fields.Date.to_date(_text(value).strip()[:10])
        if field.type == "datetime":
            return _utc(model, datetime.fromisoformat(_text(value).strip()))
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise invalid(
            f"“{str(value)[:100]}” is no value of “{field.name}” ({field.type}).{_hint(field, value)}"
        ) from error
    return _text(value)


def _finite(number):
    if isinstance(number, float) and not math.isfinite(number):
        raise ValueError
    return number


def _without_thousands(value):
    """
    >>> _without_thousands("10,000.50"), _without_thousands("1,5"), _without_thousands(7)
    ('10000.50', '1,5', 7)
    """
    first, *groups = str(value).strip().lstrip("+-").partition(".")[0].split(",")
    if groups and 1 <= len(first) <= 3 and all(len(one) == 3 for one in groups):
        return value.replace(",", "")
    return value


def _hint(field, value):
    if field.type in ("date", "datetime"):
        return _date_hint(str(value))
    if field.type not in NUMBERS or field.name == "id":
        return ""
    if any(sign.isdigit() for sign in str(value)):
        return " Write it as in 1234.50, without a currency."
    return f" For the highest or the lowest, sort by “{field.name} desc” or “{field.name}”, with limit 1."


def _date_hint(text):
    parts = text[: len("2026-11-31")].split("-")
    is_written_so = [len(one) for one in parts] == [4, 2, 2] and all(map(str.isdecimal, parts))
    return " There is no such day." if is_written_so else " Write YYYY-MM-DD."


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
    raise unknown(
        f"value of {field.name}", value, [f"{key} ({label})" for key, label in known.items()]
    )


def _zone(model):
    return pytz.timezone(model.env.context.get("tz") or "UTC")


def _utc(model, moment):
    """A moment as the person's clock shows it, for the database."""
    try:
        if moment.tzinfo is None:
            moment = _zone(model).localize(moment)
        return moment.astimezone(pytz.utc).replace(tzinfo=None)
    except OverflowError as error:
        raise _out_of_range(moment.date()) from error


def _out_of_range(day):
    return invalid(f"“{day}” is too early or too late. For all days leave the filter out.")


def local(model, moment):
    return pytz.utc.localize(moment).astimezone(_zone(model)).strftime("%Y-%m-%d %H:%M")


def _span(model, value):
    """The days that a text means, as the first one and the one after the last; None if it means none.

    A day, a month (2026-11), a year (2026), yesterday, today, tomorrow, or so many days, weeks, months or years
    from today on (-7d).
    """
    text = value.strip().lower() if isinstance(value, str) else ""
    today = datetime.now(_zone(model)).date()
    number = text[1:-1]
    lasts = relativedelta(days=1)
    try:
        if text in DAYS:
            begin = today + relativedelta(days=DAYS[text])
        elif text[:1] in ("+", "-") and text[-1] in UNITS and number.isdecimal():
            offset: dict[str, Any] = {UNITS[text[-1]]: int(f"{text[0]}{number[:5]}")}
            begin = today + relativedelta(**offset)
        elif len(text) == len("2026") and text.isdecimal():
            begin, lasts = date(int(text), 1, 1), relativedelta(years=1)
        elif len(text) == len("2026-11"):
            begin, lasts = date.fromisoformat(f"{text}-01"), relativedelta(months=1)
        elif 0 < len(text) <= len("2026-11-24"):
            begin = date.fromisoformat(text)
        else:
            return None
    except (ValueError, OverflowError) as error:
        raise invalid(f"“{text}” is no date.{_date_hint(text)}") from error
    try:
        return begin, begin + lasts
    except (ValueError, OverflowError) as error:
        raise _out_of_range(text) from error


def _within(model, field, operator, first, after):
    """Days of the person, compared with a day or with a moment."""
    if field.type == "datetime":
        first, after = (_utc(model, datetime.combine(one, time.min)) for one in (first, after))
    within = Domain(field.name, ">=", first) & Domain(field.name, "<", after)
    return {
        "=": within,
        "!=": ~within,
        ">=": Domain(field.name, ">=", first),
        "<": Domain(field.name, "<", first),
        ">": Domain(field.name, ">=", after),
        "<=": Domain(field.name, "<", after),
    }[operator]
