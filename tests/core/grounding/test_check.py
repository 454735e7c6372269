"""Which values of an answer count as held by its sources."""

import pytest

from benchmarks.grounding import __main__ as benchmark
from benchmarks.grounding.drawn import BUILDING, case
from services.grounding import check

NOW = '{"timezone": "Europe/Paris", "datetime": "2026-03-05T18:27:41+01:00"}'
ORDERS = """sale.order (Sales Order): 3 records
id | name | partner_id | date_order | amount_total
41 | S00041 | Azure Interior (7) | 2026-02-27 | 1200.5
42 | S00042 | Deco Addict (8) | 2026-03-01 | 799.5
57 | S00057 | 大同貿易 (9) | 2026-03-04 | 12345.0"""


def unsupported(answer, *sources, **options):
    return [value.text for value in check.unsupported(answer, sources, **options)]


@pytest.mark.parametrize(
    "answer",
    [
        "18:27",
        "6:27 PM on Thursday, March 5th, 2026",
        "現在是下午6:27（2026年3月5日）。",
        "现在是下午六点二十七分。",
        "18 點 27 分，UTC+1",
        "5 March 2026, 18:27:41 (Europe/Paris)",
        "05.03.2026 and 03/05/2026",
        "At 17:27 UTC, an hour before.",  # by the offset
        "1. First\n2. Second\n\nI am here 24/7, in the 24-hour format.",
        "```\nprint(4711)\n```",
    ],
)
def test_a_moment_is_held_in_other_formats(answer):
    assert unsupported(answer, NOW) == []


@pytest.mark.parametrize(
    "answer",
    [
        "S00042 of Deco Addict: 799.50 on 1 March.",
        "3 orders, 14,345.00 in all, 4,781.67 on average.",
        "S00041 is 401.00 more than S00042.",
        "大同貿易 has 86.1 % of it: 1.2345 萬.",
        "About 12 thousand, exactly 12.345,00.",
        "| Order | Total |\n|---|---|\n| S00057 | 12 345 |".replace("12 345", "12\u202f345"),
        "- **Azure Interior**: 1,200.5\n- **Summary:** two more",
    ],
)
def test_amounts_are_held_in_other_formats_and_by_arithmetic(answer):
    assert unsupported(answer, ORDERS, with_names=True) == []


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("It is 18:28.", ["18:28"]),
        ("It is **6:27 AM**.", ["6:27 AM"]),
        ("現在是三點半。", ["三點半"]),
        ("On 2026-04-17, in Europe/Lyon (UTC+3)", ["2026-04-17", "Europe/Lyon", "UTC+3"]),
        ("S00099 costs 4,711.00.", ["S00099", "4,711.00"]),
        ("It grew by 55 %.", ["55 %"]),
        ("See https://example.com/x or a@example.com", ["https://example.com/x", "a@example.com"]),
        ("[Order](/odoo/sale.order/99)", ["/odoo/sale.order/99"]),
        ("The customer is “Nordic Timber”.", ["Nordic Timber"]),
        ("| Customer |\n|---|\n| Peak Cycles |", ["Peak Cycles"]),
    ],
)
def test_what_no_source_holds_is_found(answer, found):
    assert unsupported(answer, NOW, ORDERS, with_names=True) == found


def test_escaped_json_is_read():
    assert unsupported("2026年3月5日", r'{"day": "2026\u5e743\u67085\u65e5"}') == []


def test_a_sign_stands_behind_emphasis_and_links():
    answer = "**18:28**, [page](https://example.com/x), `S00099` and [S1](/odoo/x/1): 4711."
    values = check.unsupported(answer, [])
    assert check.marked(answer, values, "?") == (
        "**18:28** *(?)*, [page](https://example.com/x) *(?)*, `S00099` *(?)* "
        "and [S1](/odoo/x/1) *(?)*: 4711 *(?)*."
    )


def test_a_marked_value_is_no_source():
    said = "It is 18:28 *(not from a tool)*, and 20 others."
    assert unsupported("18:28, 20", said) == ["18:28"]


def test_the_answer_to_a_large_result_is_checked_within_bounds():
    row = "{} | S{:05} | 2026-01-01 | {}.25\n"
    large = "id | name | day | total\n" + "".join(row.format(n, n, n * 7) for n in range(20_000))
    assert len(large) > check.MAX_SOURCES
    assert len(unsupported(" ".join(f"X{n}" for n in range(5_000)), large)) == check.MAX_VALUES


@pytest.mark.parametrize("cases", ["drawn", "written"])
def test_right_answers_are_left_alone_and_invented_ones_are_found(cases):
    """In small what `make bench-grounding` publishes."""
    some = map(case, BUILDING[:400]) if cases == "drawn" else benchmark.written("building")
    bothered, caught = benchmark.measure(some).shares()
    assert bothered <= benchmark.MAX_BOTHERED and caught >= benchmark.MIN_CAUGHT
