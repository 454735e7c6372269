"""Values of a text: what of it can be looked for elsewhere, however it is written.

Times, dates, durations, offsets and names of time zones, numbers and amounts, references such as S00042, links, e-mail
addresses and phone numbers; and names where they stand out.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

PIECE = 8_000  # characters that are searched in one go, 25 ms at worst
DAY = 24 * 60  # minutes

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DIGITS = {digit: n for n, digit in enumerate("〇一二三四五六七八九")} | {"零": 0, "兩": 2, "两": 2}
MORNING, AFTERNOON = ("凌晨", "上午", "早上", "清晨"), ("下午", "晚上", "傍晚")
SCALES = {
    **dict.fromkeys(("k", "thousand"), 1e3),
    **dict.fromkeys(("m", "million"), 1e6),
    **dict.fromkeys(("bn", "billion"), 1e9),
    **dict.fromkeys(("萬", "万"), 1e4),
    **dict.fromkeys(("億", "亿"), 1e8),
}
HOURS = ("hours", "hour", "hrs", "hr", "h", "個小時", "个小时", "小時", "小时", "個鐘頭", "个钟头")
MINUTES = ("minutes", "minute", "mins", "min", "分鐘", "分钟", "分")
DAYS = ("days", "day", "天", "日")
WEEKS = ("weeks", "week", "個星期", "个星期", "星期", "週", "周")
PERCENT = ("%", "％", "percent")
ROC = 1911  # years before the first of the calendar that Taiwan uses beside the common one

_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
_SPOKEN = "[〇零一二三四五六七八九十兩两]{1,3}"
_HOURS, _MINUTES = "|".join(HOURS), "|".join(MINUTES)
_PATTERNS = {  # in this order, by kind of value
    "link": r"""
        https?://[^\s<>()\[\]"'`|，。；！？、）」』】]{1,2000}
        | (?<![\w.+-])[\w.+-]{1,64}@[a-z\d-]{1,63}(?:\.[a-z\d-]{1,63}){1,5}
        | (?<=\]\()/[^\s)]{1,500}
        """,
    "date": r"""
        (?<![\d./-])(?P<y>\d{4})\s?[-/.年]\s?(?P<m>\d{1,2})\s?[-/.月]\s?(?P<d>\d{1,2})(?!\d)(?:\s?[日號号])?
        | (?:民國|民国)\s?(?P<roc>\d{2,3})\s?[年/.]\s?(?P<m6>\d{1,2})\s?[月/.]\s?(?P<d6>\d{1,2})(?!\d)(?:\s?[日號号])?
        | (?<![\d./])(?P<a>\d{1,2})(?P<point>[/.])(?P<b>\d{1,2})(?P=point)(?P<y2>\d{4})(?!\d)
        | (?<!\d)(?P<m3>\d{1,2})\s?月\s?(?P<d3>\d{1,2})\s?[日號号]
        | (?<![\d.])(?P<d4>\d{1,2})(?:st|nd|rd|th)?\s(?:of\s)?(?P<m4>MONTH)\b\.?(?:,?\s(?P<y4>\d{4})(?!\d|[.,]\d))?
        | \b(?P<m5>MONTH)\b\.?\s(?P<d5>\d{1,2})(?:st|nd|rd|th)?(?![\d:])(?:,?\s(?P<y5>\d{4})(?!\d|[.,]\d))?
        | (?<![\d./-])(?:(?P<m7>0?[1-9]|1[0-2])[/-](?P<d7>0[1-9]|[12]\d|3[01]|(?<=/)[1-9])
            | (?P<d8>1[3-9]|2\d|3[01])/(?P<m8>0?[1-9]|1[0-2]))(?![\d/.-]|,\d|\s?[%％])
        """.replace("MONTH", _MONTH),
    "phone": r"""
        (?<![\w.,])(?: \+\d{1,3}(?:[\x20-]?\(?\d{1,4}\)?){2,6}
            | 0\d{1,3}(?:[\x20-]\d{3,4}){2}
            | 1[3-9]\d(?:[\x20-]?\d{4}){2} )(?!\d)
        """,
    "offset": r"""
        (?:UTC|GMT)\s?(?P<sign>[+−-])\s?(?P<oh>\d{1,2})(?::?(?P<om>\d{2}))?(?!\d)
        | (?<=\d)(?P<sign2>[+−-])(?P<oh2>0\d|1[0-4]):(?P<om2>\d{2})(?!\d)
        """,
    "duration": rf"""
        (?<![A-Za-z\d_.])(?P<dh>\d{{1,4}})\s?(?:{_HOURS})\s?(?:and\s|又)?(?P<dm>\d{{1,2}})\s?(?:{_MINUTES})(?![a-z])
        """,
    "time": r"""
        (?:(?P<before>上午|下午|晚上|早上|凌晨|中午|傍晚|清晨)\s?)?
        (?: (?<![\d:.+])(?P<hour>\d{1,2})
            (?: [:：](?P<minute>\d{2})(?:[:：]\d{2}(?:\.\d+)?)?
              | \s?[點点時时](?!間|间|區|区)[鐘钟整]?\s?(?:(?P<minute2>\d{1,2})\s?分)?(?P<half>半)?
              | (?=\s?[ap]\.?\s?m\b) )(?!\d)
          | (?<![晚早快慢有])(?P<hour3>SPOKEN)[點点](?![數数心擊击出]|[時时][間间])
              [鐘钟整]?(?:(?P<minute3>SPOKEN)分)?(?P<half3>半)? )
        (?:\s?(?P<after>[ap])\.?\s?m\b\.?)?
        """.replace("SPOKEN", _SPOKEN),
    "zone": r"(?-i:\b[A-Z][A-Za-z]+/[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z_]+)?\b)",
    "reference": r"""
        (?<![A-Za-z\d_/.])(?=[A-Za-z\d/_-]{0,60}\d)
        [A-Za-z][A-Za-z\d_]{0,60}(?:[/-][A-Za-z\d_]{1,60}){0,6}(?![A-Za-z\d_])
        """,
    "number": r"""
        (?<![A-Za-z\d_.])(?P<figure>
            \d{1,3}(?:[\u202f\u00a0’]\d{3})+(?:[.,]\d+)?
            | \d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d|,\d) | \d{1,3}(?:\.\d{3})+(?:,\d+)?(?!\d|\.\d)
            | \d{1,30}(?:\.\d{1,30}|,\d{1,2}(?![\d.,]))? )
        (?: \s?(?P<scale>(?:thousand|million|billion|bn)\b|[km](?![a-z])|[萬万億亿])
          | \s?(?P<unit>UNIT)(?![a-z])
          | (?=(?:\s?[–—~-]\s?[\d.]{1,9})?\s?(?P<other>[a-z°℃]{1,9}(?![a-z])|[\u4e00-\u9fff]{1,3})) )?
        """.replace("UNIT", "|".join((*HOURS, *MINUTES, *DAYS, *WEEKS, *PERCENT))),
}
_VALUE = re.compile(
    "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _PATTERNS.items()),
    re.VERBOSE | re.IGNORECASE,
)
_MAY_HOLD = re.compile(r"[\d@/點点]")
# Not facts: code, numbers of list items, and phrases.
_SKIPPED = re.compile(
    r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1|\Z)|^[ \t]{0,20}(?:#{1,6} )?(?:\*\*)?\d{1,3}[.)](?=\s|\*)|\b24/7\b"
    r"|\b(?:12|24)[- ]?(?:hour|小時制|小时制)|\b(?:step|option) \d{1,2}\b",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_NAME = re.compile(  # a label in bold, then names
    r"\*\*[^*\n]{1,80}(?:[:：]\*\*|\*\* ?[:：])"
    r"|“([^“”\n]{2,80})”|「([^「」\n]{2,80})」|\"([^\"\n]{2,80})\"|\*\*([^*\n]{2,80})\*\*"
    r"|^\|[ \t]{0,9}([^|\n]{2,80}?)[ \t]{0,9}\|(?!.*\n[ \t]{0,9}\|[ \t]{0,9}:?-)",
    re.MULTILINE,
)
_ABOUT = re.compile(
    r"(?:\b(?:about|around|roughly|approximately|nearly|almost|over) |大約|大约|將近|将近|超過|超过|[約约近~≈])"
    r" ?(?:[A-Z]{2,3} ?)?[$€£¥]?$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")
_GROUPS = {point: re.compile(rf"\d{{1,3}}(?:\{point}\d{{3}})+") for point in ".,"}


class Value(NamedTuple):
    """One value of a text.

    :ivar kind: name of a pattern, "name" or "denial"
    :ivar keys: its readings: minutes of a time, duration or offset, ``(year or 0, month, day)`` of a date, ``(number,
        tolerance)`` of a number, else the text
    :ivar unit: of a number, in lower case
    """

    kind: str
    text: str
    start: int
    end: int
    keys: tuple
    unit: str = ""


def values(text: str) -> Iterator[Value]:
    """Values in their order; code and the numbers of list items are values, too: see `without_code`."""
    for begun, end in _pieces(text):
        for match in _VALUE.finditer(text, begun, end):
            kind = next(name for name in _KINDS if match[name] is not None)
            if keys := _KINDS[kind](match):
                unit = (match["unit"] or match["other"] or "").lower()
                yield Value(kind, match[kind].strip(), *match.span(kind), keys, unit)


def names(text: str, beside: Sequence[Value]) -> Iterator[Value]:
    """Names that are quoted, emphasised or in a table's first column, without another value in them."""
    for match in _NAME.finditer(text):
        if match.lastindex is None:
            continue
        start, end = match.span(match.lastindex)
        if any(start < value.end and value.start < end for value in beside):
            continue
        name = match[match.lastindex].strip().rstrip(".,:：，。")
        if _WORD.search(name):
            yield Value("name", name, start, end, (name.casefold(),))


def without_code(text: str) -> str:
    """The text with blanks in place of code, numbers of list items and phrases such as 24/7."""
    return _SKIPPED.sub(lambda match: " " * len(match[0]), text)


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of the pieces of a text that may hold values, cut between words."""
    begun = 0
    while begun < len(text):
        end = begun + PIECE
        if end < len(text):
            line = text.rfind("\n", begun + PIECE // 2, end)
            end = (line if line > 0 else text.rfind(" ", begun + 1, end)) + 1 or end
        if _MAY_HOLD.search(text, begun, end):
            yield begun, end
        begun = end


# ------------------------------------------------------------ readings of a match


def _text_of(match: re.Match) -> tuple[str, ...]:
    return (match[0].strip().rstrip(".,:;!?").casefold(),)


def _phone_of(match: re.Match) -> tuple[str, ...]:
    return ("".join(filter(str.isdecimal, match[0])),)


def _date_of(match: re.Match) -> tuple[tuple[int, int, int], ...]:
    if match["a"]:
        year, one, other = int(match["y2"]), int(match["a"]), int(match["b"])
        return tuple(date for date in ((year, one, other), (year, other, one)) if _is_date(date))
    year, month, day = next(
        (match[y] if y else "", match[m], match[d])
        for y, m, d in (
            ("y", "m", "d"),
            ("roc", "m6", "d6"),
            ("", "m3", "d3"),
            ("y4", "m4", "d4"),
            ("y5", "m5", "d5"),
            ("", "m7", "d7"),
            ("", "m8", "d8"),
        )
        if match[m]
    )
    number = int(month) if month.isdecimal() else MONTHS.index(month[:3].lower()) + 1
    date = (int(year or 0) + (ROC if match["roc"] else 0), number, int(day))
    return (date,) if _is_date(date) else ()


def _is_date(date: tuple[int, int, int]) -> bool:
    return 1 <= date[1] <= 12 and 1 <= date[2] <= 31


def _offset_of(match: re.Match) -> tuple[int, ...]:
    hours, minutes = match["oh"] or match["oh2"], match["om"] or match["om2"] or 0
    total = int(hours) * 60 + int(minutes)
    return (total if (match["sign"] or match["sign2"]) == "+" else -total,)


def _duration_of(match: re.Match) -> tuple[int, ...]:
    return (int(match["dh"]) * 60 + int(match["dm"]),)


def _time_of(match: re.Match) -> tuple[int, ...]:
    if match["hour3"]:
        hour, minute = spoken(match["hour3"]), spoken(match["minute3"] or "〇")
    else:
        hour, minute = int(match["hour"]), int(match["minute"] or match["minute2"] or 0)
    if match["half"] or match["half3"]:
        minute = 30
    if hour > 24 or minute > 59:
        return ()
    mark, before = (match["after"] or "").lower(), match["before"]
    if mark == "p" or before in AFTERNOON:
        hours = {hour % 12 + 12}
    elif mark == "a" or before in MORNING:
        hours = {hour % 12}
    else:  # nothing says which half of the day
        hours = {hour % 24, hour + 12} if 1 <= hour <= 12 else {hour % 24}
    return tuple((hour * 60 + minute) % DAY for hour in sorted(hours))


def spoken(number: str) -> int:
    """Number of Chinese numerals up to 99.

    >>> spoken("十"), spoken("十二"), spoken("二十"), spoken("三十五"), spoken("九")
    (10, 12, 20, 35, 9)
    """
    tens, ten, ones = number.partition("十")
    if not ten:
        return int("".join(str(DIGITS[digit]) for digit in number))
    return 10 * DIGITS.get(tens, 1) + DIGITS.get(ones, 0)


def _number_of(match: re.Match) -> tuple[tuple[float, float], ...]:
    factor = SCALES.get((match["scale"] or "").lower(), 1.0)
    keys = []
    for number, decimals in readings_of(match["figure"]):
        unit = 10.0**-decimals
        if not decimals and _ABOUT.search(match.string, max(match.start() - 20, 0), match.start()):
            unit = 10.0 ** (len(match["figure"]) - len(match["figure"].rstrip("0,.")))
        keys.append((number * factor, 0.5 * unit * factor + 1e-9))
    if (match["other"] or "").startswith("年") and 50 < keys[0][0] < 200:
        keys.append((keys[0][0] + ROC, 0.5))
    return tuple(keys)


def readings_of(figure: str) -> list[tuple[float, int]]:
    """The numbers that a figure may mean, each with its decimals.

    >>> readings_of("12,345.60"), readings_of("12.345,6"), readings_of("3.141"), readings_of("1,2,3")
    ([(12345.6, 2)], [(12345.6, 1)], [(3.141, 3), (3141.0, 0)], [])
    """
    for space in "\u202f\u00a0’":
        figure = figure.replace(space, "")
    points = [one for one in figure if one in ".,"]
    if not points:
        return [(float(figure), 0)]
    whole, point, rest = figure.rpartition(points[-1])
    other = "," if point == "." else "."
    readings: list[tuple[float, int]] = []
    if points.count(point) == 1 and (whole.isdecimal() or _GROUPS[other].fullmatch(whole)):
        readings.append((float(f"{whole.replace(other, '')}.{rest}"), len(rest)))
    if _GROUPS[point].fullmatch(figure):
        readings.append((float(figure.replace(point, "")), 0))
    return readings if point == "." else readings[::-1]  # 12,345 is hardly ever a decimal


_KINDS = {
    "link": _text_of,
    "date": _date_of,
    "phone": _phone_of,
    "offset": _offset_of,
    "duration": _duration_of,
    "time": _time_of,
    "zone": _text_of,
    "reference": _text_of,
    "number": _number_of,
}
