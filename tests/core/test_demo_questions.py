"""The questions of `make bench-demo`: drawn by seed, in two ranges that share neither places nor wordings."""

from zoneinfo import ZoneInfo

import pytest

from benchmarks.demo import questions as drawn_questions
from benchmarks.demo.__main__ import NUMBER, wanted
from benchmarks.demo.questions import BUILDING, KINDS, LANGUAGES, PLACES, PUBLISHED, WORDINGS
from benchmarks.interval import wilson

MANY = 400
DRAWN = [
    question
    for seeds in (BUILDING, PUBLISHED)
    for language in LANGUAGES
    for question in drawn_questions.questions(seeds, language, MANY)
]


def test_a_seed_is_the_same_question_whenever_it_is_drawn():
    assert [drawn_questions.question(one.language, one.seed) for one in DRAWN] == DRAWN


def test_the_two_ranges_share_no_seed_and_no_question():
    assert not set(BUILDING) & set(PUBLISHED)
    building, published = (
        {one.text for one in DRAWN if one.seed in seeds} for seeds in (BUILDING, PUBLISHED)
    )
    assert building and published and not building & published


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_are_enough_places_and_wordings(language):
    assert len({names[language] for names, _zone in PLACES}) >= 200
    for kind, lines in WORDINGS[language].items():
        assert len(set(lines)) == len(lines), kind
    count = {kind: len(lines) for kind, lines in WORDINGS[language].items()}
    assert count["time"] >= 24 and count["conversion"] >= 24 and count["talk"] >= 30
    assert count["echo"] >= 12 and count["sum"] >= 12


def test_what_is_right_can_be_judged():
    for one in DRAWN:
        zones = [*one.right.get("at", ())[1:], *filter(None, [one.right.get("now")])]
        assert [ZoneInfo(zone).key for zone in zones] == zones
        assert "{" not in one.text
        if at := one.right.get("at"):
            assert at[0] in one.text


def test_arguments_choose_ranges_languages_kinds_and_numbers():
    assert len(wanted([])) == NUMBER * len(LANGUAGES) * 2
    some = wanted(["published", "zh_TW", "time", "talk", "30"])
    assert len(some) == 30
    assert {one.kind for one in some} == {"time", "talk"}
    assert all(one.seed in PUBLISHED and one.language == "zh_TW" for one in some)
    assert {one.kind for one in wanted(["building"])} == set(KINDS)


def test_an_interval_is_that_of_wilson():
    assert [round(bound, 1) for bound in wilson(90, 100)] == [82.6, 94.5]
    assert [round(bound, 1) for bound in wilson(20, 20)] == [83.9, 100.0]
