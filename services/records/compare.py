"""Texts of a change, without what is another one each time: numbers of sequences, tokens, ids of new records."""

import re
from collections.abc import Collection, Iterable

MAX_TEXT = 20_000  # characters that are looked through for tokens
_TOKEN = re.compile(
    r"\b[0-9a-f]{32,}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
    re.IGNORECASE,
)


# Ids in addresses and attributes, which begin with no zero; elsewhere a number is what it is.
_ID = re.compile(r"(?<=[/=#\"])[1-9]\d{0,9}(?![\w.])")

# Properties of iCalendar (RFC 5545) that say which copy it is and when it was made, with their folded lines.
_STAMPS = re.compile(r"^(?:UID|DTSTAMP|CREATED|LAST-MODIFIED)[;:].*(?:\n[ \t].*)*\n?", re.MULTILINE)


def comparable(value: str, numbers: Iterable[str] = (), ids: Collection[int] = ()) -> str:
    """
    :param ids: of records that are new each time

    >>> comparable("Order S00012 from S00012", ["S00012"]), comparable("id 0123456789abcdef0123456789ABCDEF.")
    ('Order number from number', 'id token.')
    >>> comparable("31 at /odoo/31/x?id=31, /odoo/32", ids={31})
    '31 at /odoo/id/x?id=id, /odoo/32'
    >>> comparable("BNK/2026/00031", ids={31})
    'BNK/2026/00031'
    """
    for number in numbers:
        value = value.replace(number, "number")
    if len(value) > MAX_TEXT:
        return value
    if ids:
        value = _ID.sub(lambda found: "id" if int(found[0]) in ids else found[0], value)
    return _TOKEN.sub("token", value)


def without_stamps(calendar: str) -> str:
    """
    :param calendar: an iCalendar file

    >>> without_stamps("UID:1\\n -2@host\\nSUMMARY:CREATED: today\\nDTSTAMP;VALUE=DATE-TIME:20261125T0900Z")
    'SUMMARY:CREATED: today\\n'
    """
    return _STAMPS.sub("", calendar) if len(calendar) <= MAX_TEXT else calendar
