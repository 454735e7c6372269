"""Cases that are drawn by seed: a question, the results of its tools, a right answer in one of many forms, and the same
answer with one value of it invented.
"""

import json
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

BUILDING, PUBLISHED = range(0, 3_000), range(1_000_000, 1_010_000)
SYSTEM = "You are a helpful assistant. Use the tools to look things up instead of guessing."
CITIES = (
    ("Lyon", "里昂", "里昂"),
    ("Kyoto", "京都", "京都"),
    ("Porto", "波多", "波尔图"),
    ("Denver", "丹佛", "丹佛"),
    ("Hanoi", "河內", "河内"),
    ("Quito", "基多", "基多"),
)
PEOPLE = (
    "Azure Interior",
    "Deco Addict",
    "Gemini Furniture",
    "大同貿易",
    "Wood Corner",
    "北方机械",
    "Ready Mat",
    "Lumber Inc",
    "遠東家具",
    "Jackson Group",
)
LANGUAGES = ("en", "zh_TW", "zh_CN")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Case(NamedTuple):
    kind: str
    sources: list[str]
    right: str
    invented: str
    names: bool = False
    failed: bool = False  # whether its calls failed


def case(seed: int) -> Case:
    drawn = random.Random(seed)
    make = drawn.choice(KINDS)
    return make(drawn, drawn.randrange(3))


def _moment(drawn: random.Random) -> datetime:
    return datetime(2026, 1, 1) + timedelta(minutes=drawn.randrange(525_600))


def _other_moment(drawn: random.Random, moment: datetime) -> datetime:
    """Another time of day and another date."""
    return moment + timedelta(days=drawn.randrange(40, 300), minutes=drawn.randrange(31, 660))


def _time(drawn: random.Random, moment: datetime, language: int) -> str:
    twelve = moment.hour % 12 or 12
    half = "上午" if moment.hour < 12 else "下午"
    forms = [f"{moment:%H:%M}", f"{moment:%H:%M:%S}"]
    if language:
        forms += [f"{half}{twelve}:{moment:%M}", f"{half} {twelve} 點 {moment.minute} 分"]
        forms += [f"{moment.hour}点{moment.minute}分"] if language == 2 else []
    else:
        forms += [
            f"{twelve}:{moment:%M %p}",
            f"{twelve}:{moment:%M} {'am' if moment.hour < 12 else 'pm'}",
        ]
        forms += [f"{twelve}:{moment:%M} {'a.m.' if moment.hour < 12 else 'p.m.'}"]
    return drawn.choice(forms)


def _date(drawn: random.Random, moment: datetime, language: int) -> str:
    forms = [f"{moment:%Y-%m-%d}", f"{moment:%Y/%m/%d}"]
    if language:
        forms += [
            f"{moment.year}年{moment.month}月{moment.day}日",
            f"{moment.month} 月 {moment.day} 日",
        ]
    else:
        forms += [
            f"{moment:%B} {moment.day}, {moment.year}",
            f"{moment.day} {moment:%B} {moment.year}",
            f"{moment:%b} {moment.day}",
            f"{moment:%m/%d/%Y}",
        ]
    return drawn.choice(forms)


def _amount(drawn: random.Random, amount: float, language: int) -> str:
    forms = [f"{amount:,.2f}", f"${amount:,.2f}", f"{amount:.2f}", f"**{amount:,.2f}**"]
    if amount == int(amount):
        forms += [f"{amount:,.0f}", f"{amount:.0f}"]
    if language:
        forms += [f"{amount:,.2f} 元", f"NT$ {amount:,.2f}"]
        if amount >= 10_000 and amount % 100 == 0:
            forms.append(f"{amount / 10_000:.2f} 萬")
    return drawn.choice(forms)


def _now(drawn: random.Random, language: int) -> Case:
    moment, city = _moment(drawn), drawn.choice(CITIES)
    result = json.dumps(
        {
            "timezone": "Europe/Paris",
            "datetime": moment.isoformat(timespec="seconds") + "+01:00",
            "day_of_week": WEEKDAYS[moment.weekday()],
            "is_dst": False,
        },
        indent=drawn.choice((None, 2)),
    )
    question = (f"What time is it in {city[0]}?", f"{city[1]}現在幾點？", f"{city[2]}现在几点？")
    form = drawn.choice(
        (
            ("It is {} in {}.", "{1}現在是 {0}。", "{1}现在是{0}。"),
            ("The current time in {1} is **{0}**.", "{1}目前時間：**{0}**", "{1}的时间是 {0}。"),
        )
    )[language]

    def said(of: datetime) -> str:
        text = form.format(_time(drawn, of, language), city[language])
        return text + (f" ({_date(drawn, of, language)})" if drawn.random() < 0.3 else "")

    sources = [SYSTEM, question[language], result]
    return Case("time", sources, said(moment), said(_other_moment(drawn, moment)))


def _converted(drawn: random.Random, language: int) -> Case:
    here, there = drawn.sample(CITIES, 2)
    source, hours = (
        _moment(drawn).replace(minute=drawn.choice((0, 15, 30, 45))),
        drawn.randrange(-11, 13),
    )
    target = source + timedelta(hours=hours)
    result = json.dumps(
        {
            "source": {"timezone": "Asia/Tokyo", "datetime": source.isoformat() + "+09:00"},
            "target": {"timezone": "Europe/Paris", "datetime": target.isoformat() + "+01:00"},
            "time_difference": f"{hours:+.1f}h",
        }
    )
    question = (
        f"If it is {source:%H:%M} in {here[0]}, what time is it in {there[0]}?",
        f"{here[1]} {source:%H:%M} 是{there[1]}幾點？",
        f"{here[2]}的 {source:%H:%M} 是{there[2]}几点？",
    )[language]

    def said(of: datetime, apart: int) -> str:
        first, then = _time(drawn, source, language), _time(drawn, of, language)
        form = drawn.choice(
            (
                (
                    f"It is {then} in {there[0]}.",
                    f"{there[1]}是 {then}。",
                    f"{there[2]}是 {then}。",
                ),
                (
                    f"When it is {first} in {here[0]}, it is {then} in {there[0]}, {abs(apart)} hours apart.",
                    f"{here[1]} {first}時，{there[1]}是 {then}，相差 {abs(apart)} 小時。",
                    f"{here[2]} {first}时，{there[2]}是 {then}，相差 {abs(apart)} 小时。",
                ),
            )
        )
        return form[language]

    wrong = target + timedelta(minutes=drawn.randrange(7, 300, 11))
    return Case("conversion", [SYSTEM, question, result], said(target, hours), said(wrong, hours))


class _Table(NamedTuple):
    rows: list[tuple[int, str, str, datetime, float]]
    text: str


def _table(drawn: random.Random) -> _Table:
    rows = [
        (
            drawn.randrange(1, 900),
            drawn.choice(("S{:05}", "INV/2026/{:05}", "PO{:04}")).format(drawn.randrange(1, 9999)),
            drawn.choice(PEOPLE),
            _moment(drawn),
            drawn.choice(
                (float(drawn.randrange(50, 90_000)), drawn.randrange(5_000, 900_000) / 100)
            ),
        )
        for _ in range(drawn.randrange(2, 25))
    ]
    if drawn.random() < 0.6:
        lines = [f"{a} | {b} | {c} ({a + 7}) | {d:%Y-%m-%d} | {e}" for a, b, c, d, e in rows]
        text = "sale.order (Sales Order): {} records\nid | name | partner_id | date_order | amount_total\n"
        return _Table(rows, text.format(len(rows)) + "\n".join(lines))
    items = [
        {"id": a, "name": b, "partner": c, "date": f"{d:%Y-%m-%d}", "amount_total": e}
        for a, b, c, d, e in rows
    ]
    return _Table(rows, json.dumps(items, ensure_ascii=drawn.random() < 0.5))


def _asked(language: int) -> list[str]:
    return [
        SYSTEM,
        ("Tell me about our orders.", "請說明我們的訂單。", "请说明我们的订单。")[language],
    ]


def _row(drawn: random.Random, language: int) -> Case:
    table = _table(drawn)
    _, name, partner, day, amount = drawn.choice(table.rows)

    def said(name: str, partner: str, day: datetime, amount: float) -> str:
        day_, amount_ = _date(drawn, day, language), _amount(drawn, amount, language)
        return drawn.choice(
            (
                (
                    f"Order **{name}** of {partner} is of {day_} and amounts to {amount_}.",
                    f"{partner} 的訂單 {name} 日期為 {day_}，金額 {amount_}。",
                    f"{partner} 的订单 {name} 日期为 {day_}，金额 {amount_}。",
                ),
                (
                    "| Order | Customer | Date | Total |\n|---|---|---|---|\n"
                    f"| {name} | {partner} | {day_} | {amount_} |",
                )
                * 3,
                (f"1. {name}: {partner}, {day_}, {amount_}",) * 3,
            )
        )[language]

    wrong: dict[str, object] = {"name": name, "partner": partner, "day": day, "amount": amount}
    kind = drawn.choice(("reference", "date", "amount"))
    if kind == "reference":
        digits = f"{drawn.randrange(10_000, 99_999)}"
        wrong["name"] = (
            name[: -len(digits)] + digits if name.startswith(("S", "I")) else "PO" + digits
        )
    elif kind == "date":
        wrong["day"] = _free_day(drawn, [row[3] for row in table.rows])
    else:
        wrong["amount"] = drawn.randrange(100_000, 90_000_000) / 100
    right = said(name, partner, day, amount)
    return Case(kind, [*_asked(language), table.text], right, said(**wrong), names=True)  # type: ignore[arg-type]


def _free_day(drawn: random.Random, taken: list[datetime]) -> datetime:
    days = {(day.month, day.day) for day in taken}
    days |= {(day, month) for month, day in days}
    while True:
        moment = _moment(drawn)
        if (moment.month, moment.day) not in days:
            return moment


def _named(drawn: random.Random, language: int) -> Case:
    table = _table(drawn)
    partner = drawn.choice(table.rows)[2]
    others = (
        "Nordic Timber",
        "Blue Harbour Ltd",
        "Silva & Sons",
        "海風實業",
        "长城五金",
        "Peak Cycles",
    )
    form = drawn.choice(
        (
            ("The order is for “{}”.", "這筆訂單的客戶是「{}」。", "这笔订单的客户是“{}”。"),
            ("- **{}** has open orders.", "- **{}** 有未結訂單。", "- **{}** 有未结订单。"),
            ("| Customer |\n|---|\n| {} |",) * 3,
        )
    )[language]
    sources = [*_asked(language), table.text]
    return Case(
        "name", sources, form.format(partner), form.format(drawn.choice(others)), names=True
    )


def _aggregate(drawn: random.Random, language: int) -> Case:
    table = _table(drawn)
    amounts = [row[4] for row in table.rows]
    what = drawn.choice(("total", "mean", "count", "largest", "difference"))
    if what == "count":
        right, wrong = str(len(amounts)), str(len(amounts) + drawn.randrange(26, 90))
    else:
        value = {
            "total": sum(amounts),
            "mean": sum(amounts) / len(amounts),
            "largest": max(amounts),
            "difference": abs(amounts[-1] - amounts[-2]),
        }[what]
        right = _amount(drawn, round(value, 2), language)
        wrong = _amount(drawn, round(value * drawn.uniform(1.05, 3) + 13, 2), language)
    form = (
        f"The {what} is {{}}.",
        {"count": "一共有 {} 筆。"}.get(what, "結果是 {}。"),
        {"count": "一共有{}笔。"}.get(what, "结果是 {}。"),
    )[language]
    sources = [*_asked(language), table.text]
    return Case(what, sources, form.format(right), form.format(wrong), names=True)


def _share(drawn: random.Random, language: int) -> Case:
    parts = [drawn.randrange(20, 900) for _ in range(drawn.randrange(2, 5))]
    whole = sum(parts)
    digits = drawn.choice((0, 1, 2))
    share = 100 * parts[0] / whole
    wrong = (share + drawn.uniform(6, 60)) % 100
    result = json.dumps({"won": parts[0], "others": parts[1:], "all": whole})
    form = ("{}% of them were won.", "其中 {}% 成交。", "其中{}%成交。")[language]
    sources = [*_asked(language), result]
    return Case(
        "share", sources, form.format(f"{share:.{digits}f}"), form.format(f"{wrong:.{digits}f}")
    )


def _sum(drawn: random.Random, language: int) -> Case:
    one, other = drawn.randrange(11, 9_999), drawn.randrange(11, 9_999)
    question = (
        f"Add {one} and {other}.",
        f"{one} 加 {other} 是多少？",
        f"{one} 加 {other} 是多少？",
    )[language]
    result = f"The sum of {one} and {other} is {one + other}."
    form = drawn.choice(
        (("The sum is {}.", "總和是 {}。", "总和是 {}。"), (f"{one} + {other} = **{{}}**",) * 3)
    )
    forms = (f"{one + other:,}", str(one + other))
    wrong = one + other + drawn.choice((-9, 9, 10, 100, 110, -100, 1000))
    return Case(
        "sum",
        [SYSTEM, question, result],
        form[language].format(drawn.choice(forms)),
        form[language].format(wrong),
    )


def _link(drawn: random.Random, language: int) -> Case:
    page = (
        f"https://docs.example.com/{drawn.choice(('setup', 'faq', 'api'))}/{drawn.randrange(100)}"
    )
    wrong = f"https://docs.example.com/{drawn.choice(('guide', 'start', 'help'))}/{drawn.randrange(100)}"
    form = drawn.choice(
        (
            ("See {}.", "請見 {} 。", "请见 {} 。"),
            ("See [the page]({}).", "請見[這一頁]({})。", "请见[这一页]({})。"),
        )
    )[language]
    sources = [*_asked(language), f"Found 1 page: {page} (updated 2026-03-01)"]
    return Case("link", sources, form.format(page), form.format(wrong))


def _talk(drawn: random.Random, language: int) -> Case:
    right = drawn.choice(
        (
            (
                "Hello! How can I help you today?",
                "你好！有什麼可以幫你的嗎？",
                "你好！有什么可以帮您的吗？",
            ),
            (
                "I can do this:\n\n1. Tell the time anywhere.\n2. Convert times.\n3. Add numbers.",
                "我可以：\n\n1. 查詢時間\n2. 換算時區\n3. 計算總和",
                "我可以：\n\n1. 查询时间\n2. 换算时区\n3. 计算总和",
            ),
            ("You are welcome!", "不客氣！", "不客气！"),
            (
                "I am an assistant, available 24/7. First step 1: ask me something.",
                "我是助理，24/7 都在。",
                "我是助理，24/7 都在。",
            ),
            (
                "Here is code:\n\n```python\nprint(42 + 1234)\n```\n",
                "```\nx = 99\n```",
                "```\nx = 99\n```",
            ),
        )
    )[language]
    moment = _moment(drawn)
    invented = ("By the way, it is {}.", "現在是 {}。", "现在是 {}。")[language].format(
        _time(drawn, moment, language)
    )
    return Case("talk", [SYSTEM, "Hi"], right, f"{right}\n\n{invented}")


KINDS: tuple[Callable[[random.Random, int], Case], ...] = (
    _now,
    _now,
    _converted,
    _row,
    _row,
    _row,
    _named,
    _aggregate,
    _aggregate,
    _share,
    _sum,
    _link,
    _talk,
)
