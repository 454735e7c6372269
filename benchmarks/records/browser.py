"""Questions in a real browser, of a salesperson and of a customer, drawn by seed: ``make bench-browser``.

The demo's assistants and its embedded model, or with ``OPENAI_BASE_URL``, ``OPENAI_MODEL`` and ``OPENAI_API_KEY``
any other, over the demo data of CRM and Sales. For each seed six kinds of questions, each in a new conversation and in
one of several wordings. What is right is read by the ORM before; what has to be seen beside it is a table, a chart, a
rehearsed change that is allowed, and a link. Arguments: ``building`` or ``published``, and a number of seeds.
"""

import contextlib
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Error, Locator, Page

from dev.checks.testbed import OdooServer
from dev.paths import LOGS

from ..chat import chromium
from ..interval import rate
from . import database
from .judge import numbers
from .models import the_model
from .questions import BUILDING, PUBLISHED, TASKS

SEEDS = 10
AIM = 0.9  # of each kind
ANSWER_TIMEOUT = 120_000  # ms of an answer
PICTURES = LOGS / "bench-browser"
SALES, CUSTOMER = "demo", "portal"
ASSISTANTS = {SALES: "Sales Assistant", CUSTOMER: "Order Assistant"}


WORDINGS = {
    "table": (
        "Search the partners whose name contains “{part}”, with their city.",
        "List partners with “{part}” in their name and the city of each.",
        "Show the name and city of all partners whose name contains “{part}”.",
    ),
    "chart": ("Count the leads by {group}.", "How many leads are there by {group}?"),
    "activity": ("Schedule an activity “{task}” on", "Plan an activity “{task}” for"),
    "orders": ("Which orders do I have?", "Show my orders.", "List all of my orders, please."),
    "total": (
        "What is the total of the order {order}?",
        "How much is my order {order}?",
        "Total amount of {order}?",
    ),
    "state": (
        "What is the state of the order {order}?",
        "Is {order} a quotation or an order: what is its state?",
        "Which state does my order {order} have?",
    ),
}
PARTS = ("a", "in", "er", "or", "de")
GROUPS = ("stage", "sales team", "salesperson")


@dataclass(frozen=True)
class Question:
    """A question to the assistant that the person chooses, or meets first.

    :ivar check: what is wrong with the turn that the browser shows, ``""`` if nothing is
    :ivar mention: name of a record that the person attaches with ``@`` at the end of the text
    """

    kind: str
    login: str
    text: str
    check: Callable[[OdooServer, Locator], str]
    mention: str = ""


def questions(odoo: OdooServer, seed: int) -> list[Question]:
    """One of each kind."""
    drawn = random.Random(seed)
    orders = ("sale.order", "search_read", [], ["name", "amount_total", "state"])
    mine = odoo.rpc(*orders, as_login=CUSTOMER)
    partner = drawn.choice(
        odoo.rpc(
            "res.partner",
            "search_read",
            [("is_company", "=", True), ("name", "ilike", " ")],
            ["name"],
            order="id",
        )
    )
    states = odoo.rpc("sale.order", "fields_get", ["state"], as_login=CUSTOMER)["state"]
    first, second = drawn.choice(mine), drawn.choice(mine)
    facts = {
        "part": drawn.choice(PARTS),
        "group": drawn.choice(GROUPS),
        "task": drawn.choice(TASKS),
        "order": first["name"],
    }

    def text(kind: str) -> str:
        return drawn.choice(WORDINGS[kind]).format(**facts)

    def of(kind: str, login: str, check: Any, mention: str = "") -> Question:
        return Question(kind, login, text(kind), check, mention)

    found = [
        of("table", SALES, _table),
        of("chart", SALES, _chart),
        of("activity", SALES, _allowed(partner["id"]), partner["name"]),
        of("orders", CUSTOMER, _links(len(mine))),
        of("total", CUSTOMER, _number(first["amount_total"])),
    ]
    facts["order"] = second["name"]
    state = dict(states["selection"])[second["state"]]
    return [*found, of("state", CUSTOMER, _words(state))]


def _table(_odoo: OdooServer, turn: Locator) -> str:
    rows = turn.locator(".o_ai_chat_records_table tbody tr").count()
    return "" if rows > 1 else f"shows {rows} rows"


def _chart(_odoo: OdooServer, turn: Locator) -> str:
    return "" if turn.locator("canvas").count() else "shows no chart"


def _allowed(partner: int) -> Callable[[OdooServer, Locator], str]:
    def check(odoo: OdooServer, _turn: Locator) -> str:
        domain = [("res_model", "=", "res.partner"), ("res_id", "=", partner)]
        count = odoo.rpc("mail.activity", "search_count", domain)
        odoo.rpc("mail.activity", "unlink", odoo.rpc("mail.activity", "search", domain))
        return "" if count == 1 else f"scheduled {count}"

    return check


def _links(orders: int) -> Callable[[OdooServer, Locator], str]:
    def check(_odoo: OdooServer, turn: Locator) -> str:
        links = turn.locator(".o_ai_chat_records a[href*='/my/orders/'], .o_ai_chat_record a")
        return "" if links.count() == orders else f"links {links.count()} of {orders} orders"

    return check


def _number(wanted: float) -> Callable[[OdooServer, Locator], str]:
    def check(_odoo: OdooServer, turn: Locator) -> str:
        said = turn.locator(".o_ai_chat_html").last.inner_text()
        return "" if wanted in numbers(said) else f"does not say {wanted:g}"

    return check


def _words(wanted: str) -> Callable[[OdooServer, Locator], str]:
    def check(_odoo: OdooServer, turn: Locator) -> str:
        said = turn.locator(".o_ai_chat_html").last.inner_text().lower()
        return "" if wanted.lower() in said else f"does not say {wanted}"

    return check


def ask(odoo: OdooServer, page: Page, question: Question) -> str:
    """:return: what is wrong"""
    page.goto("/odoo/ai-chat" if question.login == SALES else "/my/ai")
    composer = page.locator(".o_ai_chat_input")
    choice = page.locator(".o_ai_chat_choice", has_text=ASSISTANTS[question.login])
    choice.click()
    composer.fill(question.text)
    if question.mention:
        composer.press_sequentially(f" @{question.mention}")
        page.get_by_role("option", name=question.mention).first.click()
    page.keyboard.press("Enter")
    turn = page.locator(".o_ai_chat_turn").last
    state = turn.get_attribute("data-state")
    while state not in ("done", "failed", "stopped"):
        if state == "waiting":
            if not turn.locator(".o_ai_chat_rehearsal").count():
                return "asks without a rehearsal"
            turn.locator("[data-decision=approve_once]").click()
        page.wait_for_function(
            "state => [...document.querySelectorAll('.o_ai_chat_turn')].at(-1)?.dataset.state !== state",
            arg=state,
        )
        state = turn.get_attribute("data-state")
    return question.check(odoo, turn) if state == "done" else f"ended as {state}"


@contextlib.contextmanager
def pages(odoo: OdooServer) -> Iterator[dict[str, Page]]:
    with chromium() as browser:
        found = {}
        for login in (SALES, CUSTOMER):
            context = browser.new_context(base_url=odoo.url)
            context.set_default_timeout(ANSWER_TIMEOUT)
            cookie = odoo.session(login).cookies["session_id"]
            context.add_cookies([{"name": "session_id", "value": cookie, "url": odoo.url}])
            found[login] = context.new_page()
        yield found


def run(arguments: list[str]) -> None:
    (count,) = [int(one) for one in arguments if one.isdecimal()] or [SEEDS]
    ranges = {"building": BUILDING[:count], "published": PUBLISHED[:count]}
    PICTURES.mkdir(parents=True, exist_ok=True)
    with (
        the_model() as llm,
        database.source() as made,
        database.demo(made, "bench_browser", llm) as odoo,
        pages(odoo) as opened,
    ):
        for name in [one for one in ranges if one in arguments] or list(ranges):
            right: Counter[str] = Counter()
            for seed in ranges[name]:
                for question in questions(odoo, seed):
                    problem = _tried(odoo, opened[question.login], question)
                    right[question.kind] += not problem
                    said = f"{question.text} {question.mention}".strip()
                    print(f"{seed} {question.kind:<9} {problem or 'right':<12} {said}", flush=True)
            print(f"\n{name}: seeds {ranges[name].start} to {ranges[name].stop - 1}, aim {AIM:.0%}")
            for kind in WORDINGS:
                print(f"{kind:<9} {rate(right[kind], count)}")


def _tried(odoo: OdooServer, page: Page, question: Question) -> str:
    try:
        problem = ask(odoo, page, question)
    except Error as error:
        problem = str(error).splitlines()[0]
    page.screenshot(path=PICTURES / f"{question.kind}.png", full_page=True)
    return problem


if __name__ == "__main__":
    run(sys.argv[1:])
