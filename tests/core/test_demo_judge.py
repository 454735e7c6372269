"""The judge of `make bench-demo` is right about answers that people have judged."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from benchmarks.demo import judge
from benchmarks.demo.questions import QUESTIONS

ASKED = datetime(2026, 11, 21, 21, 56, 4, tzinfo=UTC)
NOW = {"now": "Asia/Taipei"}
AT = {"at": ("14:00", "Asia/Taipei", "Europe/Paris")}
SUM = {"called": "get-sum", "says": ["42"]}
TALK = {"calls_nothing": True}


def verdict(language, right, answer, called=()):
    answered = ASKED + timedelta(seconds=20)
    return judge.problem(language, right, answer, called, ASKED, answered)


@pytest.mark.parametrize(
    ("language", "right", "answer", "called"),
    [
        ("en", NOW, "It is 2026-11-22T05:56:04+08:00.", ["get_current_time"]),
        ("en", NOW, "The time in Taipei is 5:56 AM.", ["get_current_time"]),
        ("en", NOW, "05:56 (UTC+08:00)", ()),
        ("zh_TW", NOW, "台北現在是上午5:56。", ()),
        ("zh_TW", NOW, "早上 5 點 56 分", ()),
        ("zh_CN", NOW, "台北现在的时间是 05:56。", ()),
        ("en", AT, "When it is 14:00 in Taipei, it is 07:00 in Paris.", ()),
        ("en", AT, "7 a.m.", ()),
        ("en", SUM, "17 plus 25 is 42.", ["get-sum"]),
        ("zh_TW", TALK, "不客氣！", ()),
    ],
)
def test_right(language, right, answer, called):
    assert verdict(language, right, answer, called) == ""


@pytest.mark.parametrize(
    ("language", "right", "answer", "called"),
    [
        ("en", NOW, "", ()),
        ("en", NOW, "It is 5:56 PM.", ()),
        ("en", NOW, "It is 05:56, or 5:56 PM.", ()),
        ("zh_TW", NOW, "現在是下午5:56。", ()),
        ("zh_TW", NOW, "现在是 05:56", ()),
        ("zh_CN", NOW, "The current time in Taipei is 05:56, which is early in the morning.", ()),
        ("en", NOW, "台北現在是 05:56", ()),
        ("en", AT, "It is 08:00 in Paris.", ()),
        ("en", SUM, "42", ()),
        ("en", SUM, "43", ["get-sum"]),
        ("en", TALK, "Hello!", ["echo"]),
    ],
)
def test_wrong(language, right, answer, called):
    assert verdict(language, right, answer, called)


def test_each_language_is_asked_the_same():
    asked = {
        language: [(kind, right) for kind, _, right in of_it]
        for language, of_it in QUESTIONS.items()
    }
    kinds = {language: [kind for kind, _ in of_it] for language, of_it in asked.items()}
    assert kinds["en"] == kinds["zh_TW"] == kinds["zh_CN"]
    assert all(len(of_it) == 20 for of_it in asked.values())
    for of_it in asked.values():
        for _, right in of_it:
            for zone in (*right.get("at", ())[1:], *filter(None, [right.get("now")])):
                ZoneInfo(zone)
