"""Order of the fields and records of a card."""

from types import SimpleNamespace

from services.records import importance

TYPES = {
    "name": "char",
    "partner_id": "many2one",
    "note": "text",
    "state": "selection",
    "sequence": "integer",
    "product_uom_qty": "float",
    "price_unit": "float",
    "technical_price_unit": "float",
    "discount": "float",
    "price_subtotal": "monetary",
    "price_total": "monetary",
    "price_tax": "monetary",
    "debit": "monetary",
    "credit": "monetary",
    "amount_residual": "monetary",
    "recurring_revenue": "monetary",
    "planned_hours": "float",
    "allocated_hours": "float",
    "duration": "float",
    "login": "char",
    "x_fee": "monetary",
    "x_level": "float",
}
KNOWN = {name: SimpleNamespace(name=name, type=kind) for name, kind in TYPES.items()}


def ordered(values, wanted=(), ways_out=()):
    return importance.ordered(KNOWN, values, wanted, ways_out)


def test_a_line_tells_what_was_named_then_what_it_comes_to():
    values = dict.fromkeys(
        (
            *("sequence", "state", "note", "price_total", "price_subtotal", "price_tax"),
            *("price_unit", "product_uom_qty", "name"),
        ),
        1,
    )
    names, first = ordered(values, wanted=("name", "note", "product_uom_qty"))
    assert names == [
        *("name", "product_uom_qty", "price_unit", "price_subtotal", "price_total", "note"),
        *("price_tax", "state", "sequence"),
    ]
    assert first == 7


def test_an_amount_of_nothing_stands_behind_those_that_say_something():
    values = {"discount": 0, "price_subtotal": 5, "price_total": 5, "price_unit": 5, "state": "x"}
    names, first = ordered(values)
    assert names == ["price_unit", "price_subtotal", "price_total", "discount", "state"]
    assert first == 4
    assert ordered({"discount": (10, 0), "price_total": (4, 5)})[0] == ["discount", "price_total"]


def test_what_holds_nothing_stands_behind_what_does():
    """All lines of a model have the names of those that one of them was given."""
    values = {"name": "A", "note": "", "partner_id": None, "login": False, "state": "x"}
    names, first = ordered(values, wanted=("name", "note", "partner_id", "login"))
    assert (names, first) == (["name", "login", "state", "note", "partner_id"], 2)


def test_what_counts_as_an_amount():
    amounts = (
        *("debit", "credit", "amount_residual", "recurring_revenue", "planned_hours"),
        *("allocated_hours", "duration", "x_fee"),
    )
    assert ordered(dict.fromkeys(amounts, 1))[1] == len(amounts)
    others = ("x_level", "sequence", "state", "technical_price_unit")
    assert ordered(dict.fromkeys(others, 1))[1] == 0


def test_ways_out_stand_before_all():
    names, first = ordered({"name": "A", "login": "b", "note": "c"}, ("name", "note"), {"login"})
    assert (names, first) == (["login", "name", "note"], 3)
