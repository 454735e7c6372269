"""Judges an answer of the demo's model by what it says, see `questions`."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from dev.demo.languages import SIMPLIFIED, TRADITIONAL
from services.grounding.values import MONTHS

_CHINESE = re.compile("[\u4e00-\u9fff]")
_STANDARD = {"zh_TW": "cp950", "zh_CN": "gb2312"}  # of the characters of a script
# characters that only one of the two scripts has, though a standard may have them for another word
_ONLY = {"zh_TW": set(TRADITIONAL.only), "zh_CN": set(SIMPLIFIED.only)}
_TIME = re.compile(
    r"(?P<before>上午|下午|晚上|早上|凌晨|中午|傍晚|清晨)?\s*(?<![\d:.+-])(?P<hour>\d{1,2})"
    r"(?:[:：](?P<minute>\d{2})(?:[:：]\d{2})?|\s*[點点](?:鐘|钟)?\s*(?:(?P<spoken>\d{1,2})\s*分)?(?P<half>半)?|(?=\s*[ap]\.?\s?m\b))"
    r"(?!\d)\s*(?P<after>[ap]\.?\s?m\b\.?)?",
    re.IGNORECASE,
)
_OFFSET = re.compile(
    r"(?<=\d)[+-]\d{2}:\d{2}\b|(?:UTC|GMT)\s*[+-]\d{1,2}(?::\d{2})?", re.IGNORECASE
)
_AFTERNOON = {"下午", "晚上", "傍晚"}


def problem(
    language: str,
    right: Mapping[str, Any],
    answer: str,
    called: Sequence[str],
    asked: datetime,
    answered: datetime,
) -> str:
    """What is wrong with the answer, ``""`` if nothing is.

    :param called: names of the tools that were called
    :param asked: with `answered` the moments between which a time may be the current one
    """
    if not answer.strip():
        return "nothing was said"
    if script := _script_problem(language, answer):
        return script
    if right.get("calls_nothing") and called:
        return f"called {', '.join(called)}"
    if (tool := right.get("called")) and tool not in called:
        return f"did not call {tool}"
    if (words := right.get("says")) and not any(word in answer.lower() for word in words):
        return f"does not say {words[0]}"
    if zone := right.get("now"):
        return _times_problem(answer, _moments(asked, answered, zone), set())
    if at := right.get("at"):
        time, here, there = at
        hour, minute = map(int, time.split(":"))
        source = asked.astimezone(ZoneInfo(here)).replace(hour=hour, minute=minute)
        target = _minutes(source.astimezone(ZoneInfo(there)))
        if any(target not in told for told in _times_of(right["place"], answer)):
            return f"does not say {_written({target})} of {right['place']}"
        return _times_problem(answer, {target}, {_minutes(source)})
    return ""


def invented(answer: str, known: Sequence[str]) -> list[str]:
    """Times of day, and numbers of two digits and more, that none of the ``known`` texts holds.

    >>> invented("利馬是 08:00，差 13 小時。", ["16:00 in Nairobi is 08:00 in Lima, the same day."])
    ['13']
    >>> invented("11月27日 08:00", ["08:00 on 27 November 2026"])
    []
    """
    rest, times = _OFFSET.sub("", answer), set().union(*map(_all_times, known))
    found = [_written(told) for told in times_in(rest) if not told & times]
    numbers = {one for text in known for one in _numbers(text)}
    read = " ".join(known).lower()
    numbers |= {str(number) for number, name in enumerate(MONTHS, 1) if name in read}
    return found + [one for one in _numbers(_TIME.sub(" ", rest)) if one not in numbers]


def _all_times(text: str) -> set[int]:
    return set().union(*times_in(text))


def _numbers(text: str) -> list[str]:
    """
    >>> _numbers("7,136 on 5 March 2026")
    ['7136', '2026']
    """
    return re.findall(r"\d{2,}", re.sub(r"(?<=\d),(?=\d{3})", "", text))


def times_in(text: str) -> list[set[int]]:
    """The times of day in a text, each as the minutes since midnight that it may mean.

    >>> times_in("It is 2:05 PM, or 14:05:09+08:00, 下午2點5分, and at 7 AM")
    [{845}, {845}, {845}, {420}]
    """
    found = []
    for match in _TIME.finditer(_OFFSET.sub("", text)):
        hour = int(match["hour"])
        minute = 30 if match["half"] else int(match["minute"] or match["spoken"] or 0)
        if hour > 24 or minute > 59:
            continue
        mark = (match["after"] or "").lower()[:1]
        is_late = mark == "p" or match["before"] in _AFTERNOON
        if is_late and hour < 12:
            hour += 12
        elif hour == 12 and (mark == "a" or match["before"] in ("凌晨", "上午", "早上")):
            hour = 0
        found.append({(hour * 60 + minute) % 1440})
    return found


def _times_of(place: str, answer: str) -> list[set[int]]:
    """The times that are told of the place.

    >>> _times_of("吉达", "都灵是 00:25，吉达是 22:25。"), _times_of("Jeddah", "It is 22:25 in Jeddah.")
    ([{1345}], [{1345}])
    """
    name = re.escape(place)
    behind = re.findall(rf"{name}[^\d，。,.;]{{0,12}}({_TIME.pattern})", answer, re.IGNORECASE)
    before = re.findall(rf"({_TIME.pattern}) in {name}", answer, re.IGNORECASE)
    return [times for found in (*behind, *before) for times in times_in(found[0])]


def _times_problem(answer: str, right: set[int], beside: set[int]) -> str:
    told = times_in(answer)
    if not any(times & right for times in told):
        return f"does not say {_written(right)}"
    wrong = [times for times in told if not times & (right | beside)]
    return f"says {_written(wrong[0])} as well" if wrong else ""


def _written(minutes: set[int]) -> str:
    first = min(minutes)
    return f"{first // 60:02}:{first % 60:02}"


def _moments(asked: datetime, answered: datetime, zone: str) -> set[int]:
    minutes, moment = set(), asked
    while moment < answered + timedelta(minutes=1):
        minutes.add(_minutes(moment.astimezone(ZoneInfo(zone))))
        moment += timedelta(minutes=1)
    return minutes | {_minutes(answered.astimezone(ZoneInfo(zone)))}


def _minutes(moment: datetime) -> int:
    return moment.hour * 60 + moment.minute


def _foreign(language: str, answer: str) -> set[str]:
    """Characters that only the other script of Chinese has.

    >>> _foreign("zh_CN", "維也纳 04:25"), _foreign("zh_TW", "我了解，皇后在公里外的台北")
    ({'維'}, set())
    """
    other = "zh_CN" if language == "zh_TW" else "zh_TW"
    found = {one for one in _CHINESE.findall(answer) if not _is_in(_STANDARD[language], one)}
    return found | (_ONLY[other] - _ONLY[language]) & set(answer)


def _is_in(standard: str, one: str) -> bool:
    try:
        one.encode(standard)
    except UnicodeEncodeError:
        return False
    return True


def _script_problem(language: str, answer: str) -> str:
    if language == "en":
        return "is not in English" if len(_CHINESE.findall(answer)) > len(answer) / 4 else ""
    if foreign := _foreign(language, answer):
        other = "zh_CN" if language == "zh_TW" else "zh_TW"
        return f"is written in {other}: {''.join(sorted(foreign))}"
    words = re.findall(r"[A-Za-z]{2,}", answer)
    if len(words) > 8 and len(_CHINESE.findall(answer)) < len(words):
        return f"is not in {language}"
    return ""
