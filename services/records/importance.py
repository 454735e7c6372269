"""Order in which a card tells of records and fields: what the call has named, amounts, the rest, technical fields."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

Creation = tuple[str, int, dict[str, Any]]  # model, id, values

# Quantities and prices, from what is given to what it comes to.
AMOUNTS = tuple(
    map(
        re.compile,
        (
            r"^(product_uom_qty|product_qty|quantity|qty|unit_amount)$",
            r"price_unit$",
            r"^discount$",
            r"^(price_)?subtotal$|^price_subtotal$|^amount_untaxed$",
            r"^price_total$|^amount_total$|^amount$|^expected_revenue$|^list_price$|^standard_price$",
        ),
    )
)
TECHNICAL = re.compile(
    r"^(sequence|company_id|currency_id|company_currency_id|commercial_.*|country_code|currency_rate|display_type"
    r"|technical_.*|.*_normalized|.*_rate|access_.*|lang|tz|type|uuid|color|state_sequence|message_main_attachment_id)$"
)
PREFERRED = (
    "name",
    "partner_id",
    "state",
    "stage_id",
    "user_id",
    "product_id",
    "email",
    "phone",
    "date_order",
)
DEPTH = 10  # of records that belong to each other


def named(
    fields_of: Callable[[str], Mapping[str, Any]], arguments: Mapping[str, Any]
) -> dict[str, tuple[str, ...]]:
    """``{model: names}`` of the fields that the arguments of a call give, lines included.

    :param fields_of: gives the fields of a model, none of one that is not there
    """
    found: dict[str, dict[str, bool]] = {}
    _collect(fields_of, arguments.get("model"), arguments.get("values"), found)
    if isinstance(arguments.get("model"), str):
        found.setdefault(arguments["model"], {})
    return {model: tuple(names) for model, names in found.items()}


def _collect(
    fields_of: Callable[[str], Mapping[str, Any]],
    model: Any,
    given: Any,
    found: dict[str, dict[str, bool]],
    depth: int = DEPTH,
) -> None:
    if not isinstance(model, str) or not isinstance(given, dict) or not depth:
        return
    known = fields_of(model)
    for name, value in given.items():
        field = known.get(name)
        if field is None:
            continue
        found.setdefault(model, {})[name] = True
        for line in value if field.relational and isinstance(value, list) else ():
            _collect(fields_of, field.comodel_name, line, found, depth - 1)


def ordered(
    known: Mapping[str, Any], names: Iterable[str], wanted: Sequence[str]
) -> tuple[list[str], int]:
    """:return: the names, and how many of them say most"""
    ranks = {name: _rank(known[name], wanted) for name in names}
    found = sorted(names, key=lambda name: ranks[name])
    return found, sum(ranks[name][0] < 2 for name in names)


def _rank(field: Any, wanted: Sequence[str]) -> tuple[int, int, int, str]:
    name = field.name
    place = PREFERRED.index(name) if name in PREFERRED else len(PREFERRED)
    numbers = field.type in ("float", "monetary", "integer")
    amount = next((i for i, one in enumerate(AMOUNTS) if numbers and one.search(name)), None)
    if name in wanted:
        return (0, place, amount or 0, name)
    if amount is not None:
        return (1, amount, 0, name)
    if name in PREFERRED:
        return (2, place, 0, name)
    if TECHNICAL.match(name):
        return (5, 0, 0, name)
    return (3 if field.type == "monetary" else 4, 0, 0, name)


def parents_first(
    fields_of: Callable[[str], Mapping[str, Any]],
    creations: Iterable[Creation],
    wanted: Collection[str],
) -> list[Creation]:
    """What was created, the model of the call first and each record before its lines."""
    found = list(creations)
    owners = {(model, i): _owners(fields_of(model), row) for model, i, row in found}

    def depth(key: tuple[str, int], left: int = DEPTH) -> int:
        inside = [one for one in owners.get(key, ()) if one in owners and one != key]
        return 1 + max(depth(one, left - 1) for one in inside) if inside and left else 0

    return sorted(found, key=lambda one: (depth(one[:2]), one[0] not in wanted))


def _owners(model_fields: Mapping[str, Any], row: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Records with which a new one would be deleted."""
    return [
        (model_fields[name].comodel_name, value)
        for name, value in row.items()
        if model_fields[name].type == "many2one"
        and model_fields[name].ondelete == "cascade"
        and isinstance(value, int)
    ]
