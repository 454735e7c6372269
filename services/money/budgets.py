"""Budgets: periods in a time zone, how much of a limit is used, and the sentences about it."""

import functools
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from zoneinfo import ZoneInfo

from ..sentence import Sentence, _lt
from ..specs import Spending

_logger = logging.getLogger(__name__)

LEVELS = (100, 90, 75)  # percent of a limit at which people are told
SAVING = 90  # percent from which a cheaper model may answer
USED_UP = {
    "day": _lt("The budget “%(name)s” of %(limit)s a day is used up. It starts again at %(when)s."),
    "week": _lt(
        "The budget “%(name)s” of %(limit)s a week is used up. It starts again at %(when)s."
    ),
    "month": _lt(
        "The budget “%(name)s” of %(limit)s a month is used up. It starts again at %(when)s."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A budget as requests meet it.

    :ivar id: the host's
    :ivar limit: of a period, in `currency` or tokens
    :ivar unit: ``"day"``, ``"week"`` (from Monday) or ``"month"``
    :ivar tz: IANA name of the time zone in which the period begins at midnight
    :ivar currency: ISO code, empty of a budget in tokens
    :ivar is_hard: requests beyond the limit are refused
    :ivar is_saving: from `SAVING` percent on the fallback provider answers
    """

    id: int
    name: str
    limit: Decimal
    unit: str
    tz: str
    currency: str = ""
    is_hard: bool = True
    is_saving: bool = False


def period_of(moment: datetime, unit: str, tz: str) -> tuple[datetime, datetime]:
    """Beginning and end of the period that a moment lies in; all are UTC without a zone.

    >>> period_of(datetime(2026, 3, 29, 12), "day", "Europe/Berlin")
    (datetime.datetime(2026, 3, 28, 23, 0), datetime.datetime(2026, 3, 29, 22, 0))
    >>> period_of(datetime(2026, 11, 30, 17), "month", "Asia/Taipei")
    (datetime.datetime(2026, 11, 30, 16, 0), datetime.datetime(2026, 12, 31, 16, 0))
    """
    zone = _zone(tz)
    day = moment.replace(tzinfo=UTC).astimezone(zone).date()
    if unit == "day":
        first, after = day, day + timedelta(days=1)
    elif unit == "week":
        first = day - timedelta(days=day.weekday())
        after = first + timedelta(days=7)
    else:
        first = day.replace(day=1)
        after = (first + timedelta(days=32)).replace(day=1)
    return _midnight(first, zone), _midnight(after, zone)


@functools.cache
def _zone(name: str) -> tzinfo:
    """A time zone, as Odoo has it where the system no longer does, such as US/Eastern in Ubuntu 24.04."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        import pytz  # noqa: PLC0415
    try:
        with pytz.open_resource(str(pytz.timezone(name))) as file:  # pyright: ignore
            return ZoneInfo.from_file(file, key=name)
    except (KeyError, ValueError, OSError):
        _logger.warning("The time zone %s is unknown: UTC counts instead.", name)
        return UTC


def _midnight(day: date, zone: tzinfo) -> datetime:
    return datetime.combine(day, time(), zone).astimezone(UTC).replace(tzinfo=None)


def percent(used: Decimal, limit: Decimal) -> int:
    """Whole percent of the limit, rounded down, so that 100 means that nothing is left.

    >>> percent(Decimal("9.99"), Decimal(10)), percent(Decimal(12), Decimal(10))
    (99, 120)
    """
    return int(used * 100 / limit)


def level(used: Decimal, limit: Decimal) -> int:
    """The highest of `LEVELS` that is reached, 0 below the first one.

    >>> level(Decimal(74), Decimal(100)), level(Decimal(95), Decimal(100)), level(Decimal(200), Decimal(100))
    (0, 90, 100)
    """
    return next((step for step in LEVELS if percent(used, limit) >= step), 0)


def quantity(number: Decimal, currency: str) -> str:
    """An amount, or tokens, in words.

    >>> quantity(Decimal("1234.5"), "EUR"), quantity(Decimal(20000), "")
    ('1,234.50 EUR', '20,000 tokens')
    """
    if currency:
        return f"{number:,.2f} {currency}"
    return _lt("%(count)s tokens", count=f"{number:,.0f}")


def moment_in(moment: datetime, tz: str) -> str:
    """A moment of UTC as the clocks of a zone show it.

    >>> moment_in(datetime(2026, 11, 30, 16), "Asia/Taipei")
    '2026-12-01 00:00 (Asia/Taipei)'
    """
    local = moment.replace(tzinfo=UTC).astimezone(_zone(tz))
    return f"{local:%Y-%m-%d %H:%M} ({tz})"


def used_up(rule: Rule, stop: datetime) -> Sentence:
    """The refusal of a request: the rule, its amount, and when it begins anew.

    :param stop: end of the period
    """
    values = {
        "name": rule.name,
        "limit": quantity(rule.limit, rule.currency),
        "when": moment_in(stop, rule.tz),
    }
    return Sentence(USED_UP[rule.unit].source, values)


def nearly(rule: Rule, used: Decimal, stop: datetime) -> Sentence:
    """The warning before the end, for those whom the budget limits."""
    return _lt(
        "%(percent)s of the budget “%(name)s” is used. It starts again at %(when)s.",
        percent=f"{min(100, percent(used, rule.limit))} %",
        name=rule.name,
        when=moment_in(stop, rule.tz),
    )


def spending(states: Iterable[tuple[Rule, Decimal, datetime]]) -> Spending:
    """Tell a question how its budgets stand: a warning from `SAVING` percent on.

    :param states: ``(rule, used, end of the period)`` of each
    """
    low = [state for state in states if level(state[1], state[0].limit) >= SAVING]
    if not low:
        return Spending()
    least = max(low, key=lambda state: state[1] / state[0].limit)
    return Spending(warning=nearly(*least), is_saving=any(rule.is_saving for rule, *_ in low))
