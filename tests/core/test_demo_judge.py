"""The judge of `make bench-demo` is right about answers that people have judged, and what it sees is invented."""

from datetime import UTC, datetime, timedelta

import pytest

from benchmarks.demo import judge

ASKED = datetime(2026, 11, 21, 21, 56, 4, tzinfo=UTC)
NOW = {"now": "Asia/Taipei"}
AT = {"at": ("14:00", "Asia/Taipei", "Europe/Paris"), "place": "Paris"}
IN_CHINESE = {**AT, "place": "巴黎"}
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
        ("en", AT, "14:00 in Taipei is 07:00 in Paris, the same day.", ()),
        ("zh_TW", IN_CHINESE, "台北的 14:00 是巴黎的 07:00。", ()),
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
        ("en", AT, "It is 14:00 in Paris and 07:00 in Taipei.", ()),
        ("zh_TW", IN_CHINESE, "台北是 07:00，巴黎是 14:00。", ()),
        ("en", SUM, "42", ()),
        ("en", SUM, "43", ["get-sum"]),
        ("en", TALK, "Hello!", ["echo"]),
    ],
)
def test_wrong(language, right, answer, called):
    assert verdict(language, right, answer, called)


RESULT = "It is 18:27 on Thursday, 5 March 2026 in 開羅 (Cairo, Egypt) (UTC+02:00)."


@pytest.mark.parametrize(
    ("answer", "known", "found"),
    [
        ("開羅現在是下午 6:27。", [RESULT], []),
        ("It is 6:27 PM in Cairo, on 5 March 2026.", [RESULT], []),
        ("It is 18:28 in Cairo.", [RESULT], ["18:28"]),
        ("倫敦現在是 18:27。", [], ["18:27"]),
        ("At 16:00 it is 18:27.", ["When is 16:00 in Lima?", RESULT], []),
        ("The sum is 7,136.", ["3772 plus 3364 is 7136"], []),
        ("The sum is 7,137.", ["3772 plus 3364 is 7136"], ["7137"]),
        ("How can I help you?", [], []),
    ],
)
def test_a_value_that_nobody_said_is_invented(answer, known, found):
    assert judge.invented(answer, known) == found
