"""The questions of `make bench-records`: the same twenty in each language, about Odoo's demo data.

What they ask about and what is right is read by the ORM in the very database that is asked about, before anybody
may have changed it. What writes has a record of its own in each language, so that no question disturbs another.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LANGUAGES = ("en", "zh_TW", "zh_CN")
KINDS = ("read", "aggregate", "steps", "write")
IN_CHINESE = {"New": ("新",), "Qualified": ("合格",), "Proposition": ("提案",), "Won": ("贏", "赢")}
Orm = Callable[..., Any]  # (model, method, *args, **kwargs)


@dataclass(frozen=True)
class Question:
    """:ivar says: what the answer has to hold, all of it: texts, one of several, and numbers however they are written
    :ivar written: (model, domain): exactly one such record is there afterwards, and none was before
    """

    kind: str
    language: str
    number: int
    text: str
    says: Sequence[str | float | tuple[str, ...]] = ()
    written: tuple[str, list[Any]] | None = None


# kind, and the wording in each language; {…} are the facts below
WORDINGS: list[tuple[str, str, str, str]] = [
    (
        "read",
        "What is the email address of {partner}?",
        "{partner} 的電子郵件地址是什麼？",
        "{partner} 的电子邮件地址是什么？",
    ),
    ("read", "In which city is {partner}?", "{partner} 在哪個城市？", "{partner} 在哪个城市？"),
    (
        "read",
        "Which customer is the order {order} for?",
        "訂單 {order} 的客戶是誰？",
        "订单 {order} 的客户是谁？",
    ),
    (
        "read",
        "What is the total amount of the order {order}?",
        "訂單 {order} 的總金額是多少？",
        "订单 {order} 的总金额是多少？",
    ),
    (
        "read",
        "What is the expected revenue of the opportunity “{lead}”?",
        "商機「{lead}」的預期收入是多少？",
        "商机“{lead}”的预期收入是多少？",
    ),
    (
        "read",
        "In which stage is the opportunity “{lead}”?",
        "商機「{lead}」在哪個階段？",
        "商机“{lead}”处于哪个阶段？",
    ),
    (
        "aggregate",
        "How many sales orders are there in total, in any state?",
        "不論狀態，總共有多少張銷售訂單？",
        "不论状态，总共有多少张销售订单？",
    ),
    (
        "aggregate",
        "How many sales orders are in the state “draft”?",
        "有多少張銷售訂單的狀態是「draft」？",
        "有多少张销售订单的状态是“draft”？",
    ),
    (
        "aggregate",
        "What is the total amount of all sales orders in the state “sale”?",
        "狀態為「sale」的所有銷售訂單總金額是多少？",
        "状态为“sale”的所有销售订单总金额是多少？",
    ),
    (
        "aggregate",
        "How many contacts are in the city {city}?",
        "有多少聯絡人在城市 {city}？",
        "有多少联系人在城市 {city}？",
    ),
    (
        "aggregate",
        "What is the sum of the expected revenue of all opportunities in the stage “{stage}”?",
        "階段「{stage}」中所有商機的預期收入合計是多少？",
        "阶段“{stage}”中所有商机的预期收入合计是多少？",
    ),
    (
        "aggregate",
        "Which customer has the most sales orders?",
        "哪個客戶的銷售訂單最多？",
        "哪个客户的销售订单最多？",
    ),
    (
        "steps",
        "What is the email address of the customer of the order {order}?",
        "訂單 {order} 的客戶電子郵件地址是什麼？",
        "订单 {order} 的客户电子邮件地址是什么？",
    ),
    (
        "steps",
        "In which city is the customer of the sales order with the highest total amount?",
        "總金額最高的銷售訂單，其客戶在哪個城市？",
        "总金额最高的销售订单，其客户在哪个城市？",
    ),
    (
        "steps",
        "How many lines does the sales order with the highest total amount have?",
        "總金額最高的銷售訂單有幾筆明細？",
        "总金额最高的销售订单有几条明细？",
    ),
    (
        "steps",
        "What is the name of the opportunity with the highest expected revenue, and in which stage is it?",
        "預期收入最高的商機叫什麼名稱，在哪個階段？",
        "预期收入最高的商机叫什么名称，处于哪个阶段？",
    ),
    (
        "write",
        "Set the phone number of {own_partner} to {phone}.",
        "請把 {own_partner} 的電話號碼改成 {phone}。",
        "请把 {own_partner} 的电话号码改成 {phone}。",
    ),
    (
        "write",
        "Create a contact with the name “{name}” in the city Graz.",
        "請建立一個名稱為「{name}」、城市為 Graz 的聯絡人。",
        "请创建一个名称为“{name}”、城市为 Graz 的联系人。",
    ),
    (
        "write",
        "Set the expected revenue of the opportunity “{own_lead}” to {revenue}.",
        "請把商機「{own_lead}」的預期收入改成 {revenue}。",
        "请把商机“{own_lead}”的预期收入改成 {revenue}。",
    ),
    (
        "write",
        "Write the note “{note}” on the order {own_order}.",
        "請在訂單 {own_order} 上寫一則內部備註：「{note}」。",
        "请在订单 {own_order} 上写一条内部备注：“{note}”。",
    ),
]


def questions(orm: Orm) -> list[Question]:
    """All sixty, those that write last."""
    facts = _facts(orm)
    found = []
    for place, language in enumerate(LANGUAGES):
        own = _own_facts(facts, place, language)
        right = _right(facts, own)
        for number, (kind, *wordings) in enumerate(WORDINGS, 1):
            text = wordings[place].format(**facts["names"], **own["names"])
            found.append(Question(kind, language, number, text, **right[number - 1]))
    return sorted(found, key=lambda question: question.kind == "write")


def _facts(orm: Orm) -> dict[str, Any]:
    partners = orm(
        "res.partner",
        "search_read",
        [("is_company", "=", True), ("email", "!=", False), ("city", "!=", False)],
        ["name", "email", "city"],
        order="id",
    )
    partners = [one for one in partners if len(one["name"].split()) > 1]
    orders = orm(
        "sale.order",
        "search_read",
        [],
        ["name", "state", "partner_id", "amount_total", "order_line"],
        order="amount_total desc, id",
    )
    every_lead = orm(
        "crm.lead",
        "search_read",
        [("type", "=", "opportunity"), ("expected_revenue", ">", 0)],
        ["name", "stage_id", "expected_revenue"],
        order="expected_revenue desc, id",
    )
    leads = _once(every_lead, lambda one: one["name"])
    customers = orm(
        "res.partner",
        "read",
        sorted({one["partner_id"][0] for one in orders}),
        ["name", "email", "city"],
    )
    cities = Counter(
        one["city"] for one in orm("res.partner", "search_read", [("city", "!=", False)], ["city"])
    )
    partner, order, lead = partners[0], orders[len(orders) // 2], leads[1]
    return {
        "partners": partners,
        "orders": orders,
        "leads": leads,
        "every_lead": every_lead,
        "customers": {one["id"]: one for one in customers},
        "cities": cities,
        "partner": partner,
        "order": order,
        "lead": lead,
        "city": cities.most_common(1)[0][0],
        "names": {
            "partner": partner["name"],
            "order": order["name"],
            "lead": lead["name"],
            "stage": lead["stage_id"][1],
            "city": cities.most_common(1)[0][0],
        },
    }


def _once(rows: list[dict], key: Callable[[dict], str]) -> list[dict]:
    """Those whose name nobody else has."""
    counted = Counter(map(key, rows))
    return [row for row in rows if counted[key(row)] == 1]


def _own_facts(facts: Mapping[str, Any], place: int, language: str) -> dict[str, Any]:
    """What is written to in one language only."""
    partner = facts["partners"][1 + place]
    lead, order = facts["leads"][-1 - place], facts["orders"][-1 - place]
    return {
        "partner": partner,
        "lead": lead,
        "order": order,
        "names": {
            "own_partner": partner["name"],
            "phone": f"+43 316 00{place}",
            "name": f"Benchmark {language}",
            "own_lead": lead["name"],
            "revenue": 12_340 + place,
            "own_order": order["name"],
            "note": f"Checked {language}",
        },
    }


def _spoken(stage: str) -> tuple[str, ...]:
    """A stage as it is called in the database, and as who answers in Chinese may call it."""
    return (stage, *IN_CHINESE.get(stage, ()))


def _right(facts: Mapping[str, Any], own: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What is right of each question, in their order."""
    partner, order, lead = facts["partner"], facts["order"], facts["lead"]
    orders, customers = facts["orders"], facts["customers"]
    customer = customers[order["partner_id"][0]]
    best, busiest = orders[0], Counter(one["partner_id"][0] for one in orders).most_common(1)[0][0]
    names, first = own["names"], facts["every_lead"][0]
    in_stage = [one for one in facts["every_lead"] if one["stage_id"] == lead["stage_id"]]
    return [
        {"says": [partner["email"]]},
        {"says": [partner["city"]]},
        {"says": [customer["name"]]},
        {"says": [order["amount_total"]]},
        {"says": [lead["expected_revenue"]]},
        {"says": [_spoken(lead["stage_id"][1])]},
        {"says": [len(orders)]},
        {"says": [sum(one["state"] == "draft" for one in orders)]},
        {"says": [round(sum(o["amount_total"] for o in orders if o["state"] == "sale"), 2)]},
        {"says": [facts["cities"][facts["city"]]]},
        {"says": [sum(one["expected_revenue"] for one in in_stage)]},
        {"says": [customers[busiest]["name"]]},
        {"says": [customer["email"]]},
        {"says": [customers[best["partner_id"][0]]["city"]]},
        {"says": [len(best["order_line"])]},
        {"says": [first["name"], _spoken(first["stage_id"][1])]},
        {
            "written": (
                "res.partner",
                [("id", "=", own["partner"]["id"]), ("phone", "=", names["phone"])],
            )
        },
        {"written": ("res.partner", [("name", "=", names["name"]), ("city", "=", "Graz")])},
        {
            "written": (
                "crm.lead",
                [("id", "=", own["lead"]["id"]), ("expected_revenue", "=", names["revenue"])],
            )
        },
        {
            "written": (
                "mail.message",
                [
                    ("model", "=", "sale.order"),
                    ("res_id", "=", own["order"]["id"]),
                    ("body", "ilike", names["note"]),
                ],
            )
        },
    ]
