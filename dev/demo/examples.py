"""Exchanges that the embedded model is shown before the first question, as turns of the same form as the real ones.

A model of 1.5 billion parameters follows an example better than an instruction: which tool it takes, and that a place
is passed on as it was said. It also copies what an example says, so those of the clock end with the call and tell no
time, and what an echo answers stands in its question. An example that calls a tool is shown only where a tool of that
name is offered, by the name under which it is offered. ``make bench-demo`` asks about none of these places.
"""

import json
from typing import Any, NamedTuple

from dev.demo.languages import ENGLISH, SIMPLIFIED, TRADITIONAL, Language


class Example(NamedTuple):
    """``tool`` is the end of a tool's name, ``""`` where the answer needs none; with no answer the call is the end."""

    language: Language
    question: str
    answer: str = ""
    tool: str = ""
    arguments: dict[str, Any] = {}
    result: str = ""


def _now(place: str) -> dict[str, Any]:
    return {"tool": "get_current_time", "arguments": {"place": place}}


def _elsewhere(time: str, place: str, target_place: str) -> dict[str, Any]:
    arguments = {"time": time, "place": place, "target_place": target_place}
    return {"tool": "convert_time", "arguments": arguments}


EXAMPLES = (
    Example(TRADITIONAL, "早安！", "早安！"),
    Example(TRADITIONAL, "查一下哈拉雷的時間", **_now("哈拉雷")),
    Example(
        TRADITIONAL,
        "用 echo 說：天上的星",
        "天上的星",
        "echo",
        {"message": "天上的星"},
        "Echo: 天上的星",
    ),
    Example(ENGLISH, "Good morning!", "Good morning! How can I help you?"),
    Example(
        ENGLISH,
        "Echo sea and sky",
        "sea and sky",
        "echo",
        {"message": "sea and sky"},
        "Echo: sea and sky",
    ),
    Example(
        ENGLISH,
        "A call starts at 16:00 in Harare. When is that for someone in Bergen?",
        **_elsewhere("16:00", "Harare", "Bergen"),
    ),
    Example(
        SIMPLIFIED,
        "毕尔巴鄂的 21:40 是神户的几点？",
        **_elsewhere("21:40", "毕尔巴鄂", "神户"),
    ),
    Example(ENGLISH, "How late is it in Kobe?", **_now("Kobe")),
    Example(
        ENGLISH,
        "How many products are there?",
        "There are 34 products.",
        "aggregate_records",
        {"model": "product.product"},
        "product.product (Product Variant)\n__count\n34",
    ),
    Example(
        TRADITIONAL,
        "哪些商機在新增階段？",
        "有兩筆：辦公室設計（Acme），展場家具（Lumen）。",
        "search_records",
        {
            "model": "crm.lead",
            "filters": [{"field": "stage_id", "operator": "=", "value": "New"}],
        },
        "crm.lead (Lead)\nid | name | partner_id\n41 | 辦公室設計 | Acme (7)\n43 | 展場家具 | Lumen (9)",
    ),
    Example(
        ENGLISH,
        "Expected revenue of the leads by sales team?",
        "Europe: 5200, Asia: 1800.",
        "aggregate_records",
        {"model": "crm.lead", "group_by": ["team_id"], "measures": ["expected_revenue:sum"]},
        "crm.lead (Lead)\nteam_id | expected_revenue:sum\nEurope (5) | 5200\nAsia (6) | 1800",
    ),
    Example(
        ENGLISH,
        "Plan “Send brochure” on lead 41.",
        "“Send brochure” is planned.",
        "schedule_activity",
        {"model": "crm.lead", "id": 41, "summary": "Send brochure"},
        "Scheduled an activity on crm.lead 41.",
    ),
    Example(
        ENGLISH,
        "Which requests for quotation are there?",
        "There is one: P00031.",
        "search_records",
        {
            "model": "purchase.order",
            "filters": [{"field": "state", "operator": "in", "value": ["draft", "sent"]}],
        },
        "purchase.order (Purchase Order)\nid | name\n5 | P00031",
    ),
    Example(
        TRADITIONAL,
        "有哪些採購單？",
        "有兩張：P00027、P00030。",
        "search_records",
        {
            "model": "purchase.order",
            "filters": [{"field": "state", "operator": "=", "value": "purchase"}],
        },
        "purchase.order (Purchase Order)\nid | name\n2 | P00027\n4 | P00030",
    ),
    Example(
        ENGLISH,
        "How much is P00031?",
        "P00031 is 310.40.",
        "search_records",
        {
            "model": "purchase.order",
            "filters": [{"field": "name", "operator": "=", "value": "P00031"}],
            "fields": ["amount_total"],
        },
        "purchase.order (Purchase Order)\nid | amount_total\n5 | 310.40",
    ),
    Example(
        ENGLISH,
        "Which invoices do I have?",
        "You have two: INV/1 and INV/2.",
        "search_records",
        {"model": "account.move"},
        "account.move (Journal Entry)\nid | name\n1 | INV/1\n2 | INV/2",
    ),
    Example(SIMPLIFIED, "太好了！", "很高兴能帮上忙！"),
    Example(
        TRADITIONAL,
        "神戶 10:45 的時候，卑爾根是幾點？",
        **_elsewhere("10:45", "神戶", "卑爾根"),
    ),
    Example(SIMPLIFIED, "毕尔巴鄂现在是什么时间？", **_now("毕尔巴鄂")),
)


def as_jinja() -> str:
    """Text of a chat template in ChatML before the first message; it knows the request's ``tools``."""
    return "".join(map(_as_jinja, EXAMPLES))


def _as_jinja(example: Example) -> str:
    asked = _said("user", example.question + example.language.hint)
    answered = _said("assistant", example.answer)
    if not example.tool:
        return _literal(asked + answered)
    arguments = json.dumps(example.arguments, ensure_ascii=False)
    result = f"<tool_response>\n{example.result}\n</tool_response>\n{example.language.from_result}"
    answered = _said("user", result) + answered if example.answer else ""
    return (
        f"{{%- for tool in tools if tool.function.name.endswith({json.dumps(example.tool)}) %}}"
        + _literal(f'{asked}<|im_start|>assistant\n```json\n{{"name": "')
        + "{{- tool.function.name }}"
        + _literal(f'", "arguments": {arguments}}}\n```<|im_end|>\n' + answered)
        + "{%- endfor %}"
    )


def _said(role: str, words: str) -> str:
    return f"<|im_start|>{role}\n{words}<|im_end|>\n"


def _literal(words: str) -> str:
    return f"{{{{- {json.dumps(words, ensure_ascii=False)} }}}}"
