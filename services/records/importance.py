"""Order in which a card tells of records and fields: ways out, what the call has named, amounts, the rest, technical
fields."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

Creation = tuple[str, int, dict[str, Any]]  # model, id, values

# By which somebody signs in, is given rights, is reached or is paid.
WAYS_OUT = {
    "res.users": frozenset({"login", "email", "group_ids", "partner_id"}),
    "res.partner.bank": frozenset({"acc_number", "acc_holder_name", "bank_id", "partner_id"}),
}
OF_A_USER = frozenset({"email"})  # of the contact of one
# Quantities and prices, from what is given to what it comes to.
AMOUNTS = tuple(
    map(
        re.compile,
        (
            r"^(product_uom_qty|product_qty|quantity|qty|unit_amount|duration|planned_hours|allocated_hours)$",
            r"price_unit$",
            r"^discount$",
            r"^(price_)?subtotal$|^amount_untaxed$",
            r"^price_total$|^amount_total$|^amount$|^expected_revenue$|^recurring_revenue$|^list_price$|^standard_price$",
            r"^(debit|credit|amount_residual)$",
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
# Groups of fields, in their order; those before OTHERS say most.
OUT, IDENTITY, AMOUNT, NAMED, MORE_AMOUNTS, OTHERS, REST, FOR_MACHINES = range(8)
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
    known: Mapping[str, Any],
    values: Mapping[str, Any],
    wanted: Collection[str],
    ways_out: Collection[str] = (),
) -> tuple[list[str], int]:
    """:param values: what each field holds in the end
    :param wanted: names that the call has given
    :return: the names of `values`, and how many of them say most
    """
    ranks = {
        name: (OUT, 0, name) if name in ways_out else _rank(known[name], value, name in wanted)
        for name, value in values.items()
    }
    found = sorted(values, key=lambda name: ranks[name])
    return found, sum(rank[0] < OTHERS for rank in ranks.values())


def _rank(field: Any, value: Any, is_named: bool) -> tuple[int, int, str]:
    """Place of a field: what was named stands before what comes of it, but a line's total not behind its remarks."""
    name = field.name
    place = PREFERRED.index(name) if name in PREFERRED else len(PREFERRED)
    amount = _amount(field)
    if value in (None, "", []):  # of a line it may be another one that was given it
        return (OTHERS, len(PREFERRED), name)
    if is_named and name in PREFERRED:
        return (IDENTITY, place, name)
    if amount is not None and value:
        return (AMOUNT if amount < len(AMOUNTS) else MORE_AMOUNTS, amount, name)
    if is_named:
        return (NAMED, amount or 0, name)
    if amount is not None:  # a discount of 0
        return (MORE_AMOUNTS, len(AMOUNTS) + amount, name)
    if name in PREFERRED:
        return (OTHERS, place, name)
    return (FOR_MACHINES if TECHNICAL.match(name) else REST, 0, name)


def _amount(field: Any) -> int | None:
    """Place among the amounts, None of what is none; each monetary field is one."""
    if field.type not in ("float", "monetary", "integer") or TECHNICAL.match(field.name):
        return None
    found = next((i for i, one in enumerate(AMOUNTS) if one.search(field.name)), None)
    return len(AMOUNTS) if found is None and field.type == "monetary" else found


def parents_first(
    fields_of: Callable[[str], Mapping[str, Any]],
    creations: Iterable[Creation],
    wanted: Collection[str],
) -> list[Creation]:
    """Created records, the model of the call first and each record before its lines."""
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
