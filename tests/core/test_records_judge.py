"""The questions of `make bench-records`, what is right of them, and how an answer is judged."""

from collections import Counter

import pytest

from benchmarks.records.judge import numbers, problem
from benchmarks.records.questions import BUILDING, KINDS, PUBLISHED, RIGHT, Question, questions
from benchmarks.records.wordings import LANGUAGES, WORDINGS

PARTNERS = [
    {"id": n, "name": f"Firm {n} Ltd", "email": f"f{n}@example.com", "city": f"City {n % 3}"}
    for n in range(1, 7)
]
ORDERS = [
    {
        "id": n,
        "name": f"S0000{n}",
        "state": "sale" if n % 2 else "draft",
        "partner_id": [1 + n % 3, ""],
        "amount_total": 100.5 * (10 - n),
        "order_line": [1, 2],
    }
    for n in range(1, 8)
]
LEADS = [
    {
        "id": n,
        "name": f"Lead {n}",
        "stage_id": [n % 2, f"Stage {n % 2}"],
        "expected_revenue": 1e3 / n,
    }
    for n in range(1, 8)
]


def orm(model, method, *_args, **_options):
    rows = {"res.partner": PARTNERS, "sale.order": ORDERS, "crm.lead": LEADS}[model]
    return rows if method == "search_read" else rows[:3]


@pytest.fixture(scope="module")
def asked():
    return questions(orm, BUILDING[:60])


def test_each_kind_and_language_has_as_many(asked):
    counted = Counter((one.kind, one.language) for one in asked)
    assert counted == {(kind, language): 60 for kind in KINDS for language in LANGUAGES}
    assert not [one.text for one in asked if "{" in one.text]
    assert all(one.says or one.written for one in asked)


def test_seeds_draw_different_questions_and_the_same_ones_again(asked):
    assert questions(orm, BUILDING[:60]) == asked
    assert len({one.text for one in asked}) > len(asked) / 3
    assert not set(BUILDING) & set(PUBLISHED)


def test_every_wording_is_drawn_and_has_its_answer():
    assert {one.name for one in WORDINGS} == set(RIGHT)
    for one in WORDINGS:
        for language in LANGUAGES:
            assert len(set(getattr(one, language))) >= 3


def test_what_writes_comes_last_and_is_told_apart(asked):
    kinds = [one.kind for one in asked]
    assert kinds == sorted(kinds, key=lambda kind: kind == "write")
    written = [repr(one.written) for one in asked if one.written]
    assert len(set(written)) == len(written)


def test_an_answer_says_all_that_is_right():
    two = Question("read", "en", 1, "", says=["Azure  Interior", 1234.5])
    assert not problem(two, "azure interior: 1,234.50 $", orm)
    assert problem(two, "Azure Interior has 1234", orm) == "does not say 1234.5"
    assert problem(two, "1234.5", orm) == "does not say Azure  Interior"


def test_numbers_are_found_however_they_are_written():
    assert numbers("It is 1,234.50 EUR, or 12 345. About -7") == [1234.5, 12345, -7]
    assert numbers("S00012 has 3 lines, 總金額為1,234.5元") == [3, 1234.5]
    assert numbers("nothing") == []


@pytest.mark.parametrize(
    ("count", "said"), [(1, ""), (0, "written 0 times"), (2, "written 2 times")]
)
def test_what_was_to_be_written_is_there_once(count, said):
    question = Question("write", "en", 17, "", written=("res.partner", []))
    assert problem(question, "", lambda *_args: count) == said
