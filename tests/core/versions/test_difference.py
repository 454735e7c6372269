"""Differences of two published states."""

import random

from processor_time import within

from services.versions import difference
from services.versions.difference import (
    ADDED,
    LEFT_OUT,
    MAX_LINE,
    MAX_LINES,
    MAX_SHOWN,
    REMOVED,
    Line,
)


def test_equal_texts_differ_in_nothing():
    assert difference.lines("a\nb", "a\nb") == []
    assert difference.lines("", "") == []


def test_a_change_stands_between_the_lines_around_it():
    before = "\n".join("abcdefghi")
    after = before.replace("e", "E")
    told = "".join(sign + text for sign, text in difference.lines(before, after))
    assert told == "… c d-e+E f g…"


def test_first_text_is_all_new():
    assert difference.lines("", "a\nb") == [Line(ADDED, "a"), Line(ADDED, "b")]
    assert difference.lines("a", "") == [Line(REMOVED, "a")]


def test_a_change_of_line_ends_alone_is_told():
    assert difference.lines("a", "a\n") == [Line(LEFT_OUT, "")]


def test_long_texts_are_compared_up_to_their_cap_and_say_so():
    many = "\n".join(map(str, range(MAX_LINES)))
    assert difference.lines(f"{many}\nx", f"{many}\ny") == [Line(LEFT_OUT, "")]
    found = difference.lines("", many + "\nx")
    assert (len(found), found[-1]) == (MAX_SHOWN + 1, Line(LEFT_OUT, ""))
    (line,) = difference.lines("", "x" * 10_000_000)
    assert len(line.text) == MAX_LINE + 1


def test_the_worst_texts_take_no_time():
    rng = random.Random(1)
    alike, few = ["x"] * 2_000, [rng.choice("xy") for _ in range(2_000)]
    with within(2.0):
        for old, new in ((alike, few), (few, alike), (few, few[::-1]), (alike, [*alike[1:], "y"])):
            difference.lines("\n".join(old), "\n".join(new))


def test_a_digest_tells_states_apart_but_not_names_of_what_they_refer_to():
    def state(name="time", **values):
        return {"name": {"en_US": "Helper"}, "servers": [{"id": 3, "name": name}], **values}

    assert difference.digest(state()) == difference.digest(state("clock"))
    assert difference.digest(state()) != difference.digest(state(rounds=3))
    assert difference.digest(state()) == difference.digest(dict(reversed(state().items())))
    assert difference.digest({"name": "a"}) != difference.digest({"name": "b"})
