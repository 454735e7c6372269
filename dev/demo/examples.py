"""Exchanges that the embedded model is shown before the first question, as turns of the same form as the real ones.

A model of 1.5 billion parameters follows an example better than an instruction: which tool it takes, how it says a
time, in which script it answers. The answer to a conversion names one place and time only: with both, the model has
swapped them. An example that calls a tool is shown only where a tool of that name is offered, by the name under which
it is offered. None of them answers a question of ``make bench-demo``: other places, other times, other numbers.
"""

import json
from typing import Any, NamedTuple

from dev.demo.languages import ENGLISH, SIMPLIFIED, TRADITIONAL, Language


class Example(NamedTuple):
    """``tool`` is the end of a tool's name, ``""`` where the answer needs none."""

    language: Language
    question: str
    answer: str
    tool: str = ""
    arguments: dict[str, Any] = {}
    result: str = ""


def _moment(zone: str, moment: str) -> dict[str, Any]:
    return {"timezone": zone, "datetime": moment, "day_of_week": "Thursday", "is_dst": False}


def _now(zone: str, moment: str) -> dict[str, Any]:
    """Call and result of mcp-server-time."""
    result = json.dumps(_moment(zone, moment), indent=2)
    return {"tool": "get_current_time", "arguments": {"timezone": zone}, "result": result}


def _elsewhere(here: str, there: str, before: str, after: str, difference: str) -> dict[str, Any]:
    arguments = {"source_timezone": here, "time": before[11:16], "target_timezone": there}
    result = {
        "source": _moment(here, before),
        "target": _moment(there, after),
        "time_difference": difference,
    }
    return {
        "tool": "convert_time",
        "arguments": arguments,
        "result": json.dumps(result, indent=2),
    }


CAIRO, LIMA, MUMBAI, NAIROBI = "Africa/Cairo", "America/Lima", "Asia/Kolkata", "Africa/Nairobi"
EXAMPLES = (
    Example(TRADITIONAL, "早安！", "早安！"),
    Example(
        SIMPLIFIED,
        "查一下开罗的时间",
        "开罗现在是 18:27。",
        **_now(CAIRO, "2026-03-05T18:27:41+02:00"),
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
        "A call starts at 16:00 in Nairobi. When is that for someone in Lima?",
        "It is 08:00 in Lima.",
        **_elsewhere(
            NAIROBI, LIMA, "2026-03-05T16:00:00+03:00", "2026-03-05T08:00:00-05:00", "-8.0h"
        ),
    ),
    Example(
        SIMPLIFIED,
        "利马的 21:40 是内罗毕的几点？",
        "内罗毕是 05:40。",
        **_elsewhere(
            LIMA, NAIROBI, "2026-03-05T21:40:00-05:00", "2026-03-06T05:40:00+03:00", "+8.0h"
        ),
    ),
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
        "Which invoices do I have?",
        "You have two: INV/1 and INV/2.",
        "search_records",
        {"model": "account.move"},
        "account.move (Journal Entry)\nid | name\n1 | INV/1\n2 | INV/2",
    ),
    Example(SIMPLIFIED, "太好了！", "很高兴能帮上忙！"),
    Example(
        TRADITIONAL,
        "孟買 10:45 開會，開羅那邊是幾點？",
        "開羅是 07:15。",
        **_elsewhere(
            MUMBAI, CAIRO, "2026-03-05T10:45:00+05:30", "2026-03-05T07:15:00+02:00", "-3.5h"
        ),
    ),
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
    result = f"<tool_response>\n{example.result}\n</tool_response>"
    return (
        f"{{%- for tool in tools if tool.function.name.endswith({json.dumps(example.tool)}) %}}"
        + _literal(f'{asked}<|im_start|>assistant\n```json\n{{"name": "')
        + "{{- tool.function.name }}"
        + _literal(f'", "arguments": {arguments}}}\n```<|im_end|>\n' + _said("user", result))
        + _literal(answered)
        + "{%- endfor %}"
    )


def _said(role: str, words: str) -> str:
    return f"<|im_start|>{role}\n{words}<|im_end|>\n"


def _literal(words: str) -> str:
    return f"{{{{- {json.dumps(words, ensure_ascii=False)} }}}}"
