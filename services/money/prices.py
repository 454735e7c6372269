"""Prices of requests to language models: exact decimals; the most specific price counts, then the newest."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

PLACES = Decimal("1e-9")  # of an amount; less than a token of the cheapest model costs
MILLION = 1_000_000
ANY = "*"  # stands for any end of a model's name
EXPECTED_OUTPUT = 500  # tokens of an answer of which nothing is known yet
DAY_DIGITS = 8  # of the day behind a model's name


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """A price list's row.

    :ivar id: the host's
    :ivar model: a model's name, or how it begins, with ``*``
    :ivar valid_from: the first day
    :ivar input, cached, output: of a million tokens
    :ivar rank: of prices that fit otherwise alike the highest counts
    """

    id: int
    model: str
    valid_from: date
    input: Decimal
    cached: Decimal
    output: Decimal
    rank: int = 0


def fits(pattern: str, model: str) -> bool:
    """Tell whether a price is for this model; a name is also that of its versions of a day.

    >>> fits("gpt-5", "gpt-5-2025-08-07"), fits("gpt-5", "gpt-5-mini"), fits("gpt-5*", "GPT-5-mini")
    (True, False, True)
    """
    pattern, model = pattern.casefold(), model.casefold()
    if pattern.endswith(ANY):
        return model.startswith(pattern.removesuffix(ANY))
    if not model.startswith(pattern):
        return False
    rest = model.removeprefix(pattern)
    if not rest:
        return True
    digits = rest.replace("-", "")
    return (
        rest[0] in "-@" and digits.strip("@").isdecimal() and len(digits.strip("@")) == DAY_DIGITS
    )


def of_model(prices: Iterable[Price], model: str, day: date) -> Price | None:
    """The price of this model on this day, None where there is none.

    The highest rank comes first, then a whole name, then the longest beginning, then the newest.

    :param model: as the provider is asked for it
    """
    valid = (one for one in prices if one.valid_from <= day and fits(one.model, model))
    return max(valid, key=_order, default=None)


def _order(price: Price) -> tuple:
    is_whole = not price.model.endswith(ANY)
    return price.rank, is_whole, len(price.model), price.valid_from, price.id


def amount(price: Price, usage: Mapping[str, Any]) -> Decimal:
    """Amount of a request in the price's currency.

    :param usage: ``{"input_tokens", "cached_tokens", "output_tokens"}``; the cached ones are part of the input

    >>> price = Price(id=1, model="m", valid_from=date(2026, 1, 1), input=Decimal("2.5"), cached=Decimal("0.25"),
    ...     output=Decimal(15))
    >>> amount(price, {"input_tokens": 1200, "cached_tokens": 1000, "output_tokens": 10})
    Decimal('0.000900000')
    """
    asked = max(0, usage.get("input_tokens") or 0)
    cached = min(max(0, usage.get("cached_tokens") or 0), asked)
    answered = max(0, usage.get("output_tokens") or 0)
    millionths = (asked - cached) * price.input + cached * price.cached + answered * price.output
    return (millionths / MILLION).quantize(PLACES, ROUND_HALF_EVEN)


def expected_output(limit: int | None) -> int:
    """Tokens that an answer is expected to have before it is there.

    :param limit: the most that it may have, None if nobody has limited it

    >>> expected_output(None), expected_output(100), expected_output(0)
    (500, 100, 0)
    """
    return EXPECTED_OUTPUT if limit is None else min(limit, EXPECTED_OUTPUT)


def exact(number: float) -> Decimal:
    """The decimal that a float of up to 15 digits was written as.

    >>> exact(0.1)
    Decimal('0.1')
    """
    return Decimal(repr(number))
