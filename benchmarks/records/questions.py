"""The questions of `make bench-records`, drawn by seed from Odoo's demo data.

What is right is read by the ORM in the very database that is asked about, before anybody may have changed it; what
writes has a text or number of its own. The published seeds were never used for building.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .wordings import LANGUAGES, WORDINGS

BUILDING, PUBLISHED = range(0, 1_000), range(1_000_000, 1_001_000)
KINDS = ("read", "aggregate", "steps", "write")
IN_CHINESE = {"New": ("新",), "Qualified": ("合格",), "Proposition": ("提案",), "Won": ("贏", "赢")}
TOWNS = ("Graz", "Porto", "Kyoto", "Lyon", "Tainan", "Cork")
TASKS = ("Call back", "Send brochure", "Check the offer", "Visit", "Ask for feedback")
Orm = Callable[..., Any]  # (model, method, *args, **kwargs)
Facts = Mapping[str, Any]
Right = tuple[dict[str, Any], dict[str, Any]]  # what the wording names, fields of `Question`


@dataclass(frozen=True)
class Question:
    """:ivar says: what the answer has to hold, all of it: texts, one of several, and numbers however they are written
    :ivar written: (model, domain): exactly one such record is there afterwards, and none was before
    """

    kind: str
    language: str
    seed: int
    text: str
    says: Sequence[str | float | tuple[str, ...]] = ()
    written: tuple[str, list[Any]] | None = None


def questions(orm: Orm, seeds: Iterable[int]) -> list[Question]:
    """A question of each kind in each language for each seed, those that write last."""
    facts = _facts(orm)
    found = [
        _drawn(facts, kind, language, seed)
        for seed in seeds
        for kind in KINDS
        for language in LANGUAGES
    ]
    return sorted(found, key=lambda question: question.kind == "write")


def _drawn(facts: Facts, kind: str, language: str, seed: int) -> Question:
    drawn = random.Random(f"{seed} {kind} {language}")
    wordings = drawn.choice([one for one in WORDINGS if one.kind == kind])
    names, right = RIGHT[wordings.name](facts, drawn, f"{language} {seed}")
    text = drawn.choice(getattr(wordings, language)).format(**names)
    return Question(kind, language, seed, text, **right)


def _facts(orm: Orm) -> dict[str, Any]:
    partners = orm(
        "res.partner",
        "search_read",
        [("is_company", "=", True), ("email", "!=", False), ("city", "!=", False)],
        ["name", "email", "city"],
        order="id",
    )
    orders = orm(
        "sale.order",
        "search_read",
        [],
        ["name", "state", "partner_id", "amount_total", "order_line"],
        order="amount_total desc, id",
    )
    leads = orm(
        "crm.lead",
        "search_read",
        [("type", "=", "opportunity"), ("expected_revenue", ">", 0)],
        ["name", "stage_id", "expected_revenue"],
        order="expected_revenue desc, id",
    )
    in_stage = Counter(
        one["stage_id"][1]
        for one in orm("crm.lead", "search_read", [("type", "=", "opportunity")], ["stage_id"])
    )
    customers = orm(
        "res.partner",
        "read",
        sorted({one["partner_id"][0] for one in orders}),
        ["name", "email", "city"],
    )
    cities = Counter(
        one["city"] for one in orm("res.partner", "search_read", [("city", "!=", False)], ["city"])
    )
    by_id = {one["id"]: one for one in customers}
    return {
        "partners": _once([one for one in partners if len(one["name"].split()) > 1]),
        "orders": orders,
        "with_customer": [
            one
            for one in orders
            if by_id[one["partner_id"][0]]["email"] and by_id[one["partner_id"][0]]["city"]
        ],
        "every_lead": leads,
        "leads": _once(leads),
        "in_stage": in_stage,
        "customers": by_id,
        "cities": cities,
    }


def _once(rows: list[dict]) -> list[dict]:
    """Those whose name no other row has."""
    counted = Counter(row["name"] for row in rows)
    return [row for row in rows if counted[row["name"]] == 1]


def _spoken(stage: str) -> tuple[str, ...]:
    """A stage as it is called in the database, and as an answer in Chinese may call it."""
    return (stage, *IN_CHINESE.get(stage, ()))


# ------------------------------------------------------------ reading


def _email(facts: Facts, drawn: random.Random, _own: str) -> Right:
    partner = drawn.choice(facts["partners"])
    return {"partner": partner["name"]}, {"says": [partner["email"]]}


def _city(facts: Facts, drawn: random.Random, _own: str) -> Right:
    partner = drawn.choice(facts["partners"])
    return {"partner": partner["name"]}, {"says": [partner["city"]]}


def _customer(facts: Facts, drawn: random.Random, _own: str) -> Right:
    order = drawn.choice(facts["orders"])
    name = facts["customers"][order["partner_id"][0]]["name"]
    return {"order": order["name"]}, {"says": [name]}


def _total(facts: Facts, drawn: random.Random, _own: str) -> Right:
    order = drawn.choice(facts["orders"])
    return {"order": order["name"]}, {"says": [order["amount_total"]]}


def _revenue(facts: Facts, drawn: random.Random, _own: str) -> Right:
    lead = drawn.choice(facts["leads"])
    return {"lead": lead["name"]}, {"says": [lead["expected_revenue"]]}


def _stage(facts: Facts, drawn: random.Random, _own: str) -> Right:
    lead = drawn.choice(facts["leads"])
    return {"lead": lead["name"]}, {"says": [_spoken(lead["stage_id"][1])]}


# ------------------------------------------------------------ aggregating


def _state(facts: Facts, drawn: random.Random) -> tuple[str, list[dict]]:
    state = drawn.choice(sorted({one["state"] for one in facts["orders"]}))
    return state, [one for one in facts["orders"] if one["state"] == state]


def _orders_in_state(facts: Facts, drawn: random.Random, _own: str) -> Right:
    state, orders = _state(facts, drawn)
    return {"state": state}, {"says": [len(orders)]}


def _total_of_state(facts: Facts, drawn: random.Random, _own: str) -> Right:
    state, orders = _state(facts, drawn)
    return {"state": state}, {"says": [round(sum(one["amount_total"] for one in orders), 2)]}


def _contacts_in_city(facts: Facts, drawn: random.Random, _own: str) -> Right:
    city = drawn.choice(sorted(facts["cities"]))
    return {"city": city}, {"says": [facts["cities"][city]]}


def _revenue_of_stage(facts: Facts, drawn: random.Random, _own: str) -> Right:
    stage = drawn.choice(sorted({one["stage_id"][1] for one in facts["every_lead"]}))
    in_stage = [one for one in facts["every_lead"] if one["stage_id"][1] == stage]
    return {"stage": stage}, {"says": [sum(one["expected_revenue"] for one in in_stage)]}


def _leads_in_stage(facts: Facts, drawn: random.Random, _own: str) -> Right:
    stage = drawn.choice(sorted(facts["in_stage"]))
    return {"stage": stage}, {"says": [facts["in_stage"][stage]]}


def _busiest(facts: Facts, _drawn: random.Random, _own: str) -> Right:
    counted = Counter(one["partner_id"][0] for one in facts["orders"])
    most = max(counted.values())
    names = tuple(facts["customers"][one]["name"] for one, n in counted.items() if n == most)
    return {}, {"says": [names]}


# ------------------------------------------------------------ several steps


def _of_customer(facts: Facts, drawn: random.Random, field: str) -> Right:
    order = drawn.choice(facts["with_customer"])
    return {"order": order["name"]}, {"says": [facts["customers"][order["partner_id"][0]][field]]}


def _customers_email(facts: Facts, drawn: random.Random, _own: str) -> Right:
    return _of_customer(facts, drawn, "email")


def _customers_city(facts: Facts, drawn: random.Random, _own: str) -> Right:
    return _of_customer(facts, drawn, "city")


def _best_city(facts: Facts, _drawn: random.Random, _own: str) -> Right:
    best = facts["orders"][0]
    return {}, {"says": [facts["customers"][best["partner_id"][0]]["city"]]}


def _lines(facts: Facts, drawn: random.Random, _own: str) -> Right:
    order = drawn.choice(facts["orders"])
    return {"order": order["name"]}, {"says": [len(order["order_line"])]}


def _best_lead(facts: Facts, _drawn: random.Random, _own: str) -> Right:
    best = facts["every_lead"][0]
    return {}, {"says": [best["name"], _spoken(best["stage_id"][1])]}


# ------------------------------------------------------------ writing


def _phone(facts: Facts, drawn: random.Random, _own: str) -> Right:
    partner, phone = drawn.choice(facts["partners"]), f"+43 316 {drawn.randrange(100_000, 999_999)}"
    written = ("res.partner", [("id", "=", partner["id"]), ("phone", "=", phone)])
    return {"partner": partner["name"], "phone": phone}, {"written": written}


def _contact(_facts: Facts, drawn: random.Random, own: str) -> Right:
    name, town = f"Firma {own}", drawn.choice(TOWNS)
    written = ("res.partner", [("name", "=", name), ("city", "=", town)])
    return {"name": name, "town": town}, {"written": written}


def _expected(facts: Facts, drawn: random.Random, _own: str) -> Right:
    lead, revenue = drawn.choice(facts["leads"]), drawn.randrange(10_001, 99_999)
    written = ("crm.lead", [("id", "=", lead["id"]), ("expected_revenue", "=", revenue)])
    return {"lead": lead["name"], "revenue": revenue}, {"written": written}


def _note(facts: Facts, drawn: random.Random, own: str) -> Right:
    order, note = drawn.choice(facts["orders"]), f"{drawn.choice(TASKS)} {own}"
    of_order = [("model", "=", "sale.order"), ("res_id", "=", order["id"])]
    written = ("mail.message", [*of_order, ("body", "ilike", note)])
    return {"order": order["name"], "note": note}, {"written": written}


def _activity(facts: Facts, drawn: random.Random, own: str) -> Right:
    lead, note = drawn.choice(facts["leads"]), f"{drawn.choice(TASKS)} {own}"
    of_lead = [("res_model", "=", "crm.lead"), ("res_id", "=", lead["id"])]
    written = ("mail.activity", [*of_lead, ("summary", "ilike", note)])
    return {"lead": lead["name"], "note": note}, {"written": written}


RIGHT: Mapping[str, Callable[[Facts, random.Random, str], Right]] = {
    "email": _email,
    "city": _city,
    "customer": _customer,
    "total": _total,
    "revenue": _revenue,
    "stage": _stage,
    "orders_in_state": _orders_in_state,
    "total_of_state": _total_of_state,
    "contacts_in_city": _contacts_in_city,
    "revenue_of_stage": _revenue_of_stage,
    "leads_in_stage": _leads_in_stage,
    "busiest": _busiest,
    "customers_email": _customers_email,
    "customers_city": _customers_city,
    "best_city": _best_city,
    "lines": _lines,
    "best_lead": _best_lead,
    "phone": _phone,
    "contact": _contact,
    "expected": _expected,
    "note": _note,
    "activity": _activity,
}
