"""Six questions in a real browser, three of a salesperson and three of a customer: ``make bench-browser``.

The demo's assistants and its embedded model, or with ``OPENAI_BASE_URL``, ``OPENAI_MODEL`` and ``OPENAI_API_KEY``
any other, over the demo data of CRM and Sales. Each is asked ten times, in a new conversation; an argument is another
number of times, further ones are the questions to ask. What is right is read by the ORM before; what has to be seen
beside it is a table, a chart, a rehearsed change that is allowed, and a link.
"""

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Error, Locator, Page, sync_playwright

from dev.checks import testbed
from dev.checks.testbed import OdooServer
from dev.paths import LOGS
from dev.servers import addon
from dev.setup import chromium

from . import database
from .judge import numbers
from .models import Llm, the_model

RUNS = 10
AIM = 9
PATIENCE = 120_000  # ms of an answer
PICTURES = LOGS / "bench-browser"
SALES, CUSTOMER = "demo", "portal"
ASSISTANTS = {SALES: "Sales Assistant", CUSTOMER: "Order Assistant"}


@dataclass(frozen=True)
class Question:
    """A question to the assistant that the person chooses, or meets first.

    :ivar check: what is wrong with the turn that the browser shows, ``""`` if nothing is
    :ivar mention: name of a record that the person attaches with ``@`` at the end of the text
    """

    login: str
    text: str
    check: Callable[[OdooServer, Locator], str]
    mention: str = ""


def questions(odoo: OdooServer) -> list[Question]:
    orders = ("sale.order", "search_read", [], ["name", "amount_total", "state"])
    mine = odoo.rpc(*orders, as_login=CUSTOMER)
    stages = odoo.rpc(
        "crm.lead", "search_read", [("type", "=", "opportunity")], ["stage_id"], as_login=SALES
    )
    names = Counter(one["stage_id"][1] for one in stages)
    (partner,) = odoo.rpc(
        "res.partner",
        "search_read",
        [("is_company", "=", True), ("name", "ilike", " ")],
        ["name", "city"],
        order="id",
        limit=1,
    )
    first = mine[0]
    states = odoo.rpc("sale.order", "fields_get", ["state"], as_login=CUSTOMER)["state"]
    state = dict(states["selection"])[first["state"]]
    return [
        Question(SALES, "Search the partners whose name contains “a”, with their city.", _table),
        Question(SALES, "Count the leads by stage.", _chart(len(names))),
        Question(
            SALES,
            "Schedule an activity “Call back” on",
            _allowed(partner["id"]),
            mention=partner["name"],
        ),
        Question(CUSTOMER, "Which orders do I have?", _links(len(mine))),
        Question(
            CUSTOMER,
            f"What is the total of the order {first['name']}?",
            _number(first["amount_total"]),
        ),
        Question(CUSTOMER, f"What is the state of the order {first['name']}?", _words(state)),
    ]


def _table(_odoo: OdooServer, turn: Locator) -> str:
    rows = turn.locator(".o_ai_chat_records_table tbody tr").count()
    return "" if rows > 1 else f"shows {rows} rows"


def _chart(groups: int) -> Callable[[OdooServer, Locator], str]:
    def check(_odoo: OdooServer, turn: Locator) -> str:
        if not turn.locator("canvas").count():
            return f"shows no chart of {groups} groups"
        return ""

    return check


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
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium.headless(), args=["--no-sandbox"]
        )
        found = {}
        for login in (SALES, CUSTOMER):
            context = browser.new_context(base_url=odoo.url)
            context.set_default_timeout(PATIENCE)
            cookie = odoo.session(login).cookies["session_id"]
            context.add_cookies([{"name": "session_id", "value": cookie, "url": odoo.url}])
            found[login] = context.new_page()
        yield found
        browser.close()


@contextlib.contextmanager
def demo(llm: Llm) -> Iterator[OdooServer]:
    """An Odoo with the demo's assistants and this model."""
    facts = {
        "WOOW_AI_DEMO_LLM_URL": llm.base_url,
        "WOOW_AI_DEMO_LLM_MODEL": llm.model,
        "WOOW_AI_DEMO_LLM_KEY": llm.key,
        "WOOW_AI_EGRESS_ALLOW": testbed.LOOPBACK,
    }
    with database.source() as made:
        odoo = testbed.OdooServer(made, "bench_browser", environment=facts)
        addon.refresh_demo(odoo.instance, {**made.postgres.environment, **facts})
        odoo.start()
        try:
            yield odoo
        finally:
            odoo.stop()


def run(arguments: list[str]) -> None:
    runs, *only = map(int, arguments or [RUNS])
    PICTURES.mkdir(parents=True, exist_ok=True)
    with the_model() as llm, demo(llm) as odoo, pages(odoo) as opened:
        for number, question in enumerate(questions(odoo), 1):
            if only and number not in only:
                continue
            wrong: Counter[Any] = Counter()
            for _run in range(runs):
                page = opened[question.login]
                try:
                    problem = ask(odoo, page, question)
                except Error as error:
                    problem = str(error).splitlines()[0]
                wrong.update([problem] if problem else [])
                page.screenshot(path=PICTURES / f"{number}.png", full_page=True)
            right = runs - wrong.total()
            why = "; ".join(f"{count}× {problem}" for problem, count in wrong.items())
            print(
                f"{question.login:<8}{right:>3} of {runs} (aim {AIM} of 10)  {question.text}  {why}",
                flush=True,
            )


if __name__ == "__main__":
    run(sys.argv[1:])
