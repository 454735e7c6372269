"""Grounding check: the values of an answer that no tool result, message or instruction holds.

A source holds a value also in another format (13:22 = 1:22 PM = 下午1:22, 12,345.00 = 12345 = 1.2345萬), rounded, in
another unit, or where simple arithmetic leads from it, and from values of the answer that it holds, to the value.
"""

import re
from bisect import bisect_left
from calendar import monthrange
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from . import tables
from .denials import admits_failure, denials
from .values import (
    DAY,
    DAYS,
    HOURS,
    MINUTES,
    PERCENT,
    PIECE,
    WEEKS,
    Value,
    names,
    spoken,
    values,
    without_code,
)

MAX_SOURCES = 500_000  # characters of all sources; the latest count
MAX_ANSWER = 50_000  # characters that are checked
MAX_CHECKED = 300  # values of an answer that are checked
MAX_VALUES = 20  # values that a check returns
MAX_OPERANDS = (
    40  # numbers that arithmetic combines in pairs, the latest of the answer's and of the sources'
)
FEW = 4  # operands of which also a small number tells something
MAX_COLUMN = 1_000  # numbers of a column that arithmetic combines in pairs
MAX_COLUMNS = 200  # of all results, the latest
MAX_DURATIONS = 100
MAX_DATES = 50
MAX_ZONES = 5
SOME_YEAR = 2025  # of dates without one
MAX_RUN = 40  # numbers of the answer that a total adds up
MAX_STRIDE = 8  # columns of a table of the answer
ROUNDS = 4  # steps from one value of the answer to the next

SIGN = re.compile(r"\s\*\([^()\n]{1,60}\)\*")  # what `marked` puts behind a value
ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
ITEM = re.compile(
    r"^[ \t]{0,20}(?:[-*+]|\d{1,3}[.)])\s|^[ \t]{0,9}\|(?![ \t]{0,9}:?-)", re.MULTILINE
)
WORD = re.compile(r"[^\W_]+")
DIGIT_RUN = re.compile(r"\d{1,15}")
SEPARATORS = re.compile(r"[\s()+-]")
TARGET = re.compile(r"\]\([^()\s]{0,2000}\)")  # end of a link
SPOKEN = re.compile(
    r"(?P<cjk>[〇零一二三四五六七八九十兩两]{1,3})\s?[個个]?(?P<unit>[天日週周月年萬万千百時时小分星折]|$)"
    r"|\b(?P<word>one|two|three|four|five|six|seven|eight|nine|ten|twelve)\b(?:\s(?P<after>days?|weeks?))?",
    re.IGNORECASE,
)
LASTS = re.compile(  # in hours, minutes or seconds, which the figure tells apart
    r"(?:duration|hours|時長|时长|工時|工时)\w{0,20}\"?\s?[:=|]\s?(\d{1,6}(?:\.\d{1,4})?)(?!\d)",
    re.IGNORECASE,
)
TOTALS = frozenset(
    (
        "合計",
        "合计",
        "總計",
        "总计",
        "小計",
        "小计",
        "total",
        "totals",
        "sum",
        "subtotal",
        "average",
        "平均",
    )
)
WORDS = dict(
    zip(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"],
        range(1, 11),
        strict=True,
    )
)
WORDS["twelve"] = 12
SPOKEN_UNITS = {"萬": 10_000, "万": 10_000, "千": 1_000, "百": 100}
CONSTANTS = (2.0, 7.0, 12.0, 24.0, 52.0, 60.0, 365.0)  # of a clock, a calendar and a half
# Units that are converted, each family with its factors.
METRIC = (10.0, 100.0, 1e3, 1e4, 1e6)
UNITS: tuple[tuple[frozenset[str], tuple[float, ...]], ...] = (
    (
        frozenset(["mm", "cm", "m", "km", "毫米", "厘米", "公分", "米", "公尺", "千米", "公里"]),
        METRIC,
    ),
    (
        frozenset(["mg", "g", "kg", "t", "毫克", "克", "公克", "千克", "公斤", "吨", "噸", "公噸"]),
        METRIC,
    ),
    (frozenset(["ml", "l", "毫升", "升", "公升"]), METRIC),
    (frozenset(["b", "kb", "mb", "gb", "tb", "bytes"]), (1e3, 1024.0, 1e6, 1_048_576.0, 1e9)),
    (frozenset(["mi", "mile", "miles", "km", "英里", "哩", "公里"]), (1.609344,)),
    (frozenset(["ft", "feet", "foot", "m", "英尺", "呎", "米", "公尺"]), (0.3048,)),
    (frozenset(["in", "inch", "inches", "cm", "吋", "英寸", "厘米", "公分"]), (2.54,)),
    (frozenset(["lb", "lbs", "pounds", "kg", "磅", "公斤"]), (0.45359237,)),
    (frozenset(["oz", "g", "盎司", "克"]), (28.349523,)),
)
DEGREES = ("°", "℃", "度", "c", "f", "degrees")


def unsupported(
    answer: str, sources: Sequence[str], *, with_names: bool = False, with_denials: bool = False
) -> list[Value]:
    """Values of an answer that its sources do not hold, at most `MAX_VALUES`, in their order.

    :param answer: Markdown
    :param sources: instructions, messages and results, oldest first
    :param with_names: whether quoted and emphasised names and a table's first column are values, too
    :param with_denials: whether a sentence that there are none of something is a value, too, unless the answer tells a
        failure: true where the calls have failed

    >>> told = ['{"datetime": "2026-03-05T13:22:41+02:00", "total": 12345.0}']
    >>> unsupported("It is 1:22 PM on 5 March; 12,345.00 in all.", told)
    []
    >>> [value.text for value in unsupported("It is 14:22; 12,300 in all, see S00042.", told)]
    ['14:22', '12,300', 'S00042']
    """
    checked = without_code(answer[:MAX_ANSWER])
    found = list(islice(values(checked), MAX_CHECKED))
    if with_names:
        found += islice(names(checked, found), MAX_CHECKED)
    if with_denials and not admits_failure(checked):
        found += islice(denials(checked), MAX_CHECKED)
    found.sort(key=lambda value: value.start)
    if not found:
        return []
    held = _Held(sources, items=len(ITEM.findall(answer)))
    missing = [value for value in found if not held.holds(value)]
    for _round in range(ROUNDS):
        known = [value for value in found if value not in missing]
        arithmetic = _Arithmetic(known, held)
        left = [value for value in missing if not arithmetic.gives(value)]
        if len(left) == len(missing):
            break
        missing = left
    return missing[:MAX_VALUES]


def marked(answer: str, found: Iterable[Value], sign: str) -> str:
    """The answer with a sign behind each of these values, outside of emphasis, code and links.

    >>> text = "It is **18:27**."
    >>> marked(text, unsupported(text, []), "not from a tool")
    'It is **18:27** *(not from a tool)*.'
    """
    out, begun = [], 0
    for value in found:
        end = value.end
        while answer[end : end + 1] in tuple("*_`”」\"'"):
            end += 1
        if value.kind == "link" and answer[end : end + 1] == ")":
            end += 1
        elif link := TARGET.match(answer, end):
            end = link.end()
        if end <= begun:
            continue
        out += [answer[begun:end], f" *({sign})*"]
        begun = end
    return "".join([*out, answer[begun:]])


class _Held:
    """Index of what the sources hold.

    :ivar keys: keys of values by kind; minutes of ``duration``, also of offsets and of numbers with a unit
    :ivar numbers: sorted; with the sum and the mean of each column
    :ivar operands: numbers outside of tables, the latest
    :ivar columns: sorted
    :ivar rows: items of the longest list, in the answer or in a source, of which a count may tell some
    """

    def __init__(self, sources: Sequence[str], items: int):
        self.keys: dict[str, set] = defaultdict(set)
        self.operands: list[float] = []
        self.columns: list[list[float]] = []
        self.of_rows: set[float] = set()
        self.ratios: set[float] = set()
        self.single: set[float] = set()
        self.zones: set[str] = set()
        self.rows = items
        numbers: set[float] = set()
        texts = list(_latest(sources))
        for text in texts:
            table = tables.read(text)
            self.columns += [sorted(one) for one in table.columns if one][
                : MAX_COLUMNS - len(self.columns)
            ]
            self.rows = max(self.rows, table.length)
            for value in values(text):
                if value.kind == "number":
                    numbers.update(number for number, _ in value.keys)
                self._add(value)
            self.of_rows.update(_of_rows(table.rows))
            self.ratios.update(one for row in table.rows[:MAX_COLUMN] for one in _ratios(row))
            self._add_operands(table.rest)
            for lasts in LASTS.findall(text):
                number = float(lasts)
                self.keys["duration"].add(
                    number * (60 if number <= 24 else 1 if number <= DAY else 1 / 60)
                )
            for number, unit in spoken_numbers(text):
                numbers.add(number)
                self._add_days(number, unit)
                if len(self.operands) < MAX_OPERANDS and number > 1:
                    self.operands.append(number)
        for reference in self.keys["reference"]:
            numbers.update(float(one) for one in DIGIT_RUN.findall(reference))
        numbers.update(float(year) for year, _, _ in self.keys["date"] if year)
        numbers |= self.single
        for column in self.columns:
            numbers |= {abs(sum(column)), abs(sum(column)) / len(column)}
        self._derive_dates()
        self._add_offsets()
        self.keys["duration"] |= {abs(one) for one in self.keys["offset"]}
        self.keys["duration"] |= _differences(self.keys["offset"])
        self.keys["duration"] = set(islice(self.keys["duration"], MAX_DURATIONS))
        self.numbers = sorted(numbers)
        self.text = "\n".join(texts).casefold()
        self.told = self.text.replace("有沒有", "").replace("有没有", "")  # without what asks
        self.words = frozenset(WORD.findall(self.text))
        self.digits = SEPARATORS.sub("", self.text)

    def _add(self, value: Value) -> None:
        if value.kind != "number":
            self.keys[value.kind].update(value.keys)
            if value.kind == "offset" and value.text.startswith("-"):  # 09:00-10:30
                self.keys["time"].update(abs(one) for one in value.keys)
            if value.kind == "zone":
                self.zones.add(value.text)
            if value.kind == "date" and not value.keys[0][0]:  # 10-12 may be a range
                self.single.update(float(one) for one in DIGIT_RUN.findall(value.text))
        elif value.unit in (*HOURS, *MINUTES):
            self.keys["duration"].update(_minutes(one, value.unit) for one, _ in value.keys)
        else:
            self._add_days(value.keys[0][0], value.unit)

    def _add_days(self, number: float, unit: str) -> None:
        if number <= 400 and (unit in DAYS or unit in WEEKS):
            self.keys["days"].add(number * (7 if unit in WEEKS else 1))

    def _add_operands(self, text: str) -> None:
        for value in values(text):
            if value.kind == "number" and len(self.operands) < MAX_OPERANDS:
                number = value.keys[0][0]
                if number not in self.operands:
                    self.operands.append(number)

    def _add_offsets(self) -> None:
        """Offsets of the zones that are named, on the first of the dates."""
        year, month, day = next((key for key in self.keys["date"] if key[0]), (2026, 1, 1))
        for name in islice(self.zones, MAX_ZONES):
            try:
                offset = datetime(year, month, day, tzinfo=ZoneInfo(name)).utcoffset()
            except (ValueError, OSError, KeyError):  # no such zone
                continue
            if offset is not None:
                self.keys["offset"].add(int(offset.total_seconds()) // 60)

    def _derive_dates(self) -> None:
        """Dates that a source's number of days or weeks is away from one of its dates, and the ends of its year."""
        for year, month, day in list(islice(self.keys["date"], MAX_DATES)):
            try:
                given = date(year or SOME_YEAR, month, day)
                for days in {0, 1, *islice(self.keys["days"], MAX_DURATIONS)}:
                    for other in (given + timedelta(days), given - timedelta(days)):
                        self.keys["derived"].add(
                            (other.year if year else 0, other.month, other.day)
                        )
                last = given.replace(day=monthrange(given.year, month)[1])
            except (ValueError, OverflowError):
                continue
            self.keys["derived"] |= {(year, 1, 1), (year, 12, 31), (year, month, last.day)}
        self.keys["day"] = {(month, day) for _, month, day in self.keys["date"]}

    def holds(self, value: Value) -> bool:
        holds = getattr(self, f"_holds_{value.kind}", self._holds_text)
        return any(holds(key, value) for key in value.keys)

    def _holds_text(self, text: str, _value: Value) -> bool:
        return text in self.text

    def _holds_denial(self, text: str, _value: Value) -> bool:
        return text in self.told

    def _holds_phone(self, digits: str, _value: Value) -> bool:
        return digits in self.digits

    def _holds_name(self, name: str, _value: Value) -> bool:
        return (
            name in self.text
            or name in TOTALS
            or all(word in self.words for word in WORD.findall(name))
        )

    def _holds_time(self, minutes: int, _value: Value) -> bool:
        times = self.keys["time"]
        return minutes in times or any(
            (minutes + change) % DAY in times
            for duration in self.keys["duration"]
            for change in (duration, -duration)
        )

    def _holds_date(self, key: tuple[int, int, int], value: Value) -> bool:
        year, *day = key
        if key in self.keys["date"]:
            return True
        if tuple(day) in self.keys["day"]:
            return not year or (0, *day) in self.keys["date"]
        if not year:  # 3/4 may be a number over another
            parts = [float(one) for one in DIGIT_RUN.findall(value.text)]
            if "/" in value.text and all(_is_near(self.numbers, one, 0) for one in parts):
                return True
        return False

    def _holds_offset(self, minutes: int, _value: Value) -> bool:
        known = self.keys["offset"] | self.keys["duration"]
        return minutes in known or abs(minutes) in self.keys["time"]  # 09:00-10:30

    def _holds_duration(self, minutes: int, _value: Value) -> bool:
        return (
            self._is_between_times(minutes)
            or _is_near(self.numbers, minutes, 0.5)
            or _is_near(self.numbers, 60 * minutes, 30)
            or _is_near(self.numbers, minutes / 60, 0.01)
        )

    def _holds_number(self, key: tuple[float, float], value: Value) -> bool:
        number, tolerance = key
        if number <= max(self.rows, 1) and number == int(number) and value.unit not in PERCENT:
            return True
        if _is_near(self.numbers, number, tolerance) or (
            "." in value.text and value.text in self.text
        ):
            return True
        if value.unit in DAYS[2:] and any(number == day for _, day in self.keys["day"]):
            return True  # 18 日至 20 日
        if value.unit in (*HOURS, *MINUTES):
            minutes = _minutes(number, value.unit)
            return self._is_between_times(minutes) or any(
                _is_near(self.numbers, one, 0.5 * one / max(minutes, 1))
                for one in (minutes, 60 * minutes)
            )
        return value.unit in PERCENT and _is_near(self.numbers, number / 100, tolerance / 100)

    def _is_between_times(self, minutes: float) -> bool:
        times = self.keys["time"]
        return minutes in self.keys["duration"] or any(
            (one + minutes) % DAY in times for one in times
        )


class _Arithmetic:
    """Values that follow from values of the answer that are held, and from the sources' numbers.

    :param known: values of the answer, in their order
    """

    def __init__(self, known: Sequence[Value], held: _Held):
        self.held = held
        self.said = [value.keys[0][0] for value in known if value.kind == "number"][-MAX_CHECKED:]
        said = self.said[-MAX_OPERANDS:]
        self.operands = [*said, *(one for one in held.operands if one not in said)][
            : 2 * MAX_OPERANDS
        ]
        self.pairs = sorted({*_of_pairs(self.operands), *held.of_rows})
        self.runs = sorted({*_of_runs(self.said), *_of_runs(held.operands)})
        whole = sum(self.said)
        self.rests = sorted(
            2 * one - whole for one in self.said
        )  # of one number without all others
        self.ratios = sorted({*_ratios(self.operands), *held.ratios})
        dates = {key for value in known if value.kind == "date" for key in value.keys}
        self.days = _days_between([*dates, *held.keys["date"]])

    def gives(self, value: Value) -> bool:
        if value.kind == "number":
            return any(
                self._gives_number(number, tolerance, value.unit)
                for number, tolerance in value.keys
            )
        if value.kind == "duration":
            return _is_near(self.pairs, value.keys[0], 0.5)
        if value.kind == "date":
            return any(self._gives_date(key) for key in value.keys)
        return False

    def _gives_date(self, key: tuple[int, int, int]) -> bool:
        derived = self.held.keys["derived"]
        return key in derived or (not key[0] and any(key[1:] == one[1:] for one in derived))

    def _gives_number(self, number: float, tolerance: float, unit: str) -> bool:
        if unit in PERCENT:
            return self._gives_share(number / 100, tolerance / 100)
        if unit in (*DAYS, *WEEKS) and number * (7 if unit in WEEKS else 1) in self.days:
            return True
        # A small number comes out of anything, but for a few operands.
        is_telling = number >= 10 or tolerance < 0.01 or len(self.operands) <= FEW
        is_count = number < 1_000 and number == int(number)
        return (
            _is_near(self.pairs, number, 1e-6 if is_count else tolerance)
            or _is_near(self.rests, number, tolerance)
            or (
                is_telling
                and (
                    _is_near(self.ratios, number, tolerance)
                    or _is_near(self.runs, number, tolerance)
                )
            )
            or (bool(unit) and self._gives_in_other_unit(number, tolerance, unit))
            or self._gives_of_column(number, tolerance)
        )

    def _gives_share(self, share: float, tolerance: float) -> bool:
        """True if the share, or the change by it, is of two operands, or of a number in its column."""
        return any(
            _is_near(self.ratios, one, tolerance) for one in (share, 1 + share, 1 - share)
        ) or any(
            _is_near(column, share * sum(column), tolerance * abs(sum(column)))
            for column in self.held.columns
        )

    def _gives_in_other_unit(self, number: float, tolerance: float, unit: str) -> bool:
        numbers = sorted({*self.held.numbers, *self.said})
        if unit.startswith(DEGREES):
            celsius = (number * 9 / 5 + 32, (number - 32) * 5 / 9)
            return any(_is_near(numbers, one, 1.8 * tolerance) for one in celsius)
        return any(
            _is_near(numbers, number * factor, tolerance * factor)
            or _is_near(numbers, number / factor, tolerance / factor)
            for units, factors in UNITS
            if unit in units or unit[:2] in units or (unit[:1] in units and unit[:1] > "z")
            for factor in factors
        )

    def _gives_of_column(self, number: float, tolerance: float) -> bool:
        """True if two numbers of a column give the number."""
        return any(
            _is_near(column, one + number, tolerance) or _is_near(column, number - one, tolerance)
            for column in self.held.columns
            for one in column[:MAX_COLUMN]
        )


def _of_pairs(operands: Sequence[float]) -> Iterator[float]:
    """Sums, differences and products of two numbers, and one more or less by a percentage or a tenth."""
    for place, one in enumerate(operands):
        for constant in CONSTANTS:
            yield from (one * constant, one / constant)
        for other in operands[place + 1 :]:
            yield from (one + other, abs(one - other))
            if one not in (0, 1) and other not in (0, 1):
                yield one * other
            for share, whole in ((one, other), (other, one)):
                if 0 < share < 100:
                    part = whole * share / 100
                    net = whole / (1 + share / 100)
                    yield from (part, whole + part, whole - part, net, whole - net)
                    if share < 10:  # 打 9 折: nine tenths
                        yield whole * share / 10


def _of_rows(rows: Iterable[Sequence[float]]) -> Iterator[float]:
    """Sums, differences, products and ratios of two cells of a row, and the sum of all."""
    for row in islice(rows, MAX_COLUMN):
        yield sum(row)
        for place, one in enumerate(row):
            for other in row[place + 1 :]:
                yield from (one + other, abs(one - other), one * other)


def _ratios(operands: Sequence[float]) -> Iterator[float]:
    for one in operands:
        yield from (one / other for other in operands if other and other != one)


def _of_runs(said: Sequence[float]) -> Iterator[float]:
    """Sums and means of numbers that follow one another in the answer, or in a column of its table."""
    for stride in range(1, MAX_STRIDE + 1):
        for first in range(len(said)):
            total, count = said[first], 1
            for number in said[first + stride : first + stride * MAX_RUN : stride]:
                total, count = total + number, count + 1
                yield from (total, total / count)


def _days_between(dates: Iterable[tuple[int, int, int]]) -> set[int]:
    """Days between each two dates; one without a year is of the latest year of the others."""
    some = list(islice(dates, MAX_DATES))
    latest = max((key[0] for key in some), default=0) or SOME_YEAR
    ordinals = []
    for year, month, day in some:
        try:
            ordinals.append(date(year or latest, month, day).toordinal())
        except ValueError:
            continue
    return {abs(one - other) for one in ordinals for other in ordinals}


def _is_near(numbers: Sequence[float], number: float, tolerance: float) -> bool:
    """:param numbers: sorted"""
    place = bisect_left(numbers, number - tolerance)
    return place < len(numbers) and numbers[place] <= number + tolerance


def _minutes(number: float, unit: str) -> float:
    return number * 60 if unit in HOURS else number


def _differences(offsets: Iterable[int]) -> set[int]:
    few = sorted(offsets)[:MAX_OPERANDS]
    return {abs(one - other) for one in few for other in few}


def spoken_numbers(text: str) -> Iterator[tuple[float, str]]:
    """Numbers in words with their unit, such as 三週 or three weeks."""
    for match in SPOKEN.finditer(text[-PIECE:]):
        if match["word"]:
            yield float(WORDS[match["word"].lower()]), (match["after"] or "").lower()
        else:
            unit = match["unit"]
            yield float(spoken(match["cjk"]) * SPOKEN_UNITS.get(unit, 1)), unit


def _latest(sources: Sequence[str]) -> Iterator[str]:
    """The sources that count, the latest first, without escapes and without values that an answer has marked."""
    left = MAX_SOURCES
    for source in reversed(sources):
        if left <= 0:
            return
        text = ESCAPE.sub(lambda match: chr(int(match[1], 16)), source[:left])
        yield without_marked(text)
        left -= len(source)


def without_marked(text: str) -> str:
    """The text without the values that `marked` has signed: they are no source."""
    if not SIGN.search(text):
        return text
    out, begun = [], 0
    for sign in SIGN.finditer(text):
        before = text[max(begun, sign.start() - PIECE) : sign.start()]
        last = max((*values(before), *denials(before)), key=lambda one: one.end, default=None)
        out.append(text[begun : sign.start() - len(before) + (last.start if last else len(before))])
        begun = sign.end()
    return "\n".join([*out, text[begun:]])
