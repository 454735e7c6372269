"""Budgets and usage in a real browser: what people see of them, and a budget from its form to the end and on."""

import contextlib
import re

import axe
import pytest
from chat import Chat, calls, first, of, text_of
from conftest import E2E_LOGS
from dark import darken
from playwright.sync_api import expect
from test_backend import save

BUDGETS, CONFIG = "woow_paas_platform.budget", "ai.config"
SERVICES = "woow_paas_platform.cloud_service"
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
LIMIT = 1_000  # tokens


@pytest.fixture
def budgets(odoo):
    """Makes budgets: ``budgets(name, limit, …)``; all of them are gone afterwards, those of forms, too."""

    def new(known=()):
        unknown = [("id", "not in", known)]
        return odoo.rpc(BUDGETS, "search", unknown, context={"active_test": False})

    before = new()

    def make(name, limit=LIMIT, **values):
        values = {"measure": "tokens", "time_zone": "UTC"} | values
        return odoo.rpc(BUDGETS, "create", {"name": name, "limit": limit} | values)

    yield make
    odoo.rpc(BUDGETS, "unlink", new(before))


def use(odoo, budget, spent):
    """Count so many tokens in the budget's month."""
    odoo.sql(
        "INSERT INTO woow_paas_platform_budget_period"
        " (budget_id, starts_at, ends_at, spent, reserved, told)"
        " SELECT id, month AT TIME ZONE time_zone AT TIME ZONE 'UTC',"
        f" (month + interval '1 month') AT TIME ZONE time_zone AT TIME ZONE 'UTC', {spent}, 0, 100"
        " FROM (SELECT *, date_trunc('month', now() AT TIME ZONE time_zone) AS month"
        f" FROM woow_paas_platform_budget WHERE id = {budget}) AS budget"
        " ON CONFLICT (budget_id, COALESCE(user_id, 0), starts_at)"
        f" DO UPDATE SET spent = {spent}, reserved = 0"
    )


@contextlib.contextmanager
def chatting(odoo, login, **about):
    """A conversation that is gone afterwards."""
    chat = Chat(odoo, login, **about)
    try:
        yield chat
    finally:
        chat.http.delete(f"/api/ai/conversations/{chat.id}")


PLACES = {"portal": ("user", WIDE), "phone": ("user", PHONE), "backend-dark": ("demo", WIDE)}


@pytest.mark.parametrize("place", PLACES)
def test_people_see_what_they_have_used_and_have_left(odoo, scripted_llm, page_of, budgets, place):
    login, size = PLACES[place]
    scripted_llm.script(first(f"Used at {place}?", {"content": "A little."}))
    (person,) = odoo.rpc("res.users", "search", [("login", "=", login)])
    (stranger,) = odoo.rpc("res.users", "search", [("login", "=", "stranger")])
    use(odoo, budgets("Yours", scope="user", user_id=person), 250)
    use(odoo, budgets("Everybody's", 200_000), 190_000)
    use(odoo, budgets("Of a stranger", scope="user", user_id=stranger), 10)
    with chatting(odoo, login) as chat:
        chat.ask(f"Used at {place}?").events()
    page = page_of(odoo, login, viewport=size)
    if "dark" in place:
        darken(page, odoo.url)
    page.goto("/odoo/ai-chat" if login == "demo" else "/my/ai")
    if size is PHONE:
        page.get_by_role("button", name="Conversations").click()
    page.locator(".o_ai_chat_settings").click()
    page.get_by_role("link", name="My usage").click()

    own = page.locator("[data-budget='Yours']")
    expect(own).to_contain_text(re.compile(r"\d+ tokens of 1,000 tokens left"))
    shared = page.locator('[data-budget="Everybody\'s"]')
    expect(shared).to_contain_text("5 % left")
    expect(shared).not_to_contain_text("200,000")
    expect(page.get_by_role("progressbar", name="Used of Yours")).to_be_visible()
    expect(page.locator("#wrapwrap")).not_to_contain_text("Of a stranger")
    expect(page.locator("table tbody tr")).to_contain_text(["tokens"])
    assert axe.violations(page, "main") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    page.screenshot(path=E2E_LOGS / f"usage-{place}.png", full_page=True)


def test_who_has_used_nothing_reads_so(odoo, page_of):
    page = page_of(odoo, "stranger", viewport=PHONE)
    page.goto("/my/ai/usage")
    expect(page.get_by_text("No budget limits you.")).to_be_visible()
    expect(page.get_by_text("Nothing used yet.")).to_be_visible()
    assert axe.violations(page, "main") == []
    page.screenshot(path=E2E_LOGS / "usage-empty.png", full_page=True)


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["desktop", "phone"])
def test_an_owner_sees_what_a_service_costs_and_limits_it(
    odoo, scripted_llm, page_of, budgets, size
):
    scripted_llm.script(first("How much?", {"content": "A little."}))
    (service,) = odoo.rpc(SERVICES, "search", [("name", "=", "n8n Automation")])
    budgets("Of the company", scope="service", cloud_service_id=service)
    with chatting(odoo, "user", cloud_service_id=service) as chat:
        chat.ask("How much?").events()
    page = page_of(odoo, "owner", viewport=size)
    page.goto(f"/my/services/{service}")
    page.get_by_role("link", name="Usage and costs").click()
    expect(page.locator(".o_woow_usage_line").first).to_contain_text("Answer")
    expect(page.locator("main")).not_to_contain_text("Uma")
    page.get_by_text("New budget").press("Enter")
    page.get_by_label("Name", exact=True).fill("Of the owner")
    page.get_by_label("Limit", exact=True).fill("500")
    page.get_by_label("Counts").select_option("tokens")
    page.get_by_label("Stop answering").last.press("Space")
    assert axe.violations(page, "main") == []
    page.screenshot(path=E2E_LOGS / f"service-budget-{size['width']}.png", full_page=True)
    page.get_by_role("button", name="Save").last.press("Enter")
    own = page.locator("[data-budget='Of the owner']")
    expect(own).to_contain_text("500 tokens of 500 tokens left")
    expect(own).to_contain_text("Nothing stops when it is used up.")
    expect(page.locator("[data-budget='Of the company']")).to_contain_text("administrator")
    own.get_by_text("Change").click()
    own.get_by_label("Limit").fill("400")
    assert axe.violations(page, "main") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    page.screenshot(path=E2E_LOGS / f"service-usage-{size['width']}.png", full_page=True)
    own.get_by_label("Limit").press("Enter")
    expect(own).to_contain_text("of 400 tokens left")
    page.get_by_role("link", name="Whole workspace").click()
    expect(page.locator(".o_woow_usage_line").first).to_contain_text("n8n Automation")
    with page.expect_download() as download:
        page.locator(".o_woow_csv").click()
    assert download.value.path().read_text().count("n8n Automation")
    own.get_by_text("Change").click()
    own.get_by_role("button", name="Archive").press("Enter")
    expect(own).to_have_count(0)


def test_an_administrator_makes_a_budget_that_warns_and_ends_and_goes_on(
    odoo, scripted_llm, page_of, budgets
):
    scripted_llm.script(*(first(f"Question {n}", {"content": f"Answer {n}."}) for n in range(4)))
    admin = page_of(odoo, "admin", viewport=WIDE)
    admin.goto("/odoo/ai-budgets/new")

    def field(name):
        return admin.locator(f".o_form_view .o_field_widget[name='{name}']")

    field("name").locator("input, textarea").fill("Of a user")
    field("scope").locator("input").click()
    admin.get_by_role("menuitem", name="One user").click()
    field("user_id").locator("input").fill("Uma User")
    admin.locator(".o-autocomplete--dropdown-item", has_text="Uma User").first.click()
    field("measure").get_by_text("Tokens").click()
    field("limit").locator("input").fill(str(LIMIT))
    admin.screenshot(path=E2E_LOGS / "budget-new.png")
    save(admin)
    expect(field("percent").first).to_be_visible()
    (budget,) = odoo.rpc(BUDGETS, "search", [("name", "=", "Of a user")])

    use(odoo, budget, LIMIT - 1)  # the last answer goes beyond it
    page = page_of(odoo, "user", viewport=PHONE)
    with chatting(odoo, "user") as chat:
        page.goto(f"/my/ai/{chat.id}")
        say(page, "Question 0")
        expect(page.get_by_text("Answer 0.")).to_be_visible()
        expect(page.get_by_text("99 % of the budget “Of a user” is used.")).to_be_visible()
        expect(page.locator(".o_ai_chat_usage")).to_be_visible()  # it has ended
        page.screenshot(path=E2E_LOGS / "budget-warning.png")
        say(page, "Question 1")
        unsent = page.locator(".o_ai_chat_unsent")
        expect(unsent).to_contain_text(
            "The budget “Of a user” of 1,000 tokens a month is used up. It starts again at"
        )
        assert axe.violations(page, ".o_ai_chat_thread") == []
        page.screenshot(path=E2E_LOGS / "budget-end.png")

        admin.reload()
        expect(field("percent").first).to_contain_text("100")
        admin.screenshot(path=E2E_LOGS / "budget-full.png")
        field("limit").locator("input").fill("1000000")
        save(admin)
        expect(field("percent").first).not_to_contain_text("100")
        page.locator(".o_ai_chat_resend").click()
        expect(page.get_by_text("Answer 1.")).to_be_visible()
        expect(page.locator(".o_ai_chat_usage")).to_have_count(2)


def test_the_fallback_answers_where_a_budget_is_nearly_used(
    odoo, scripted_llm, page_of, budgets, request
):
    scripted_llm.script(
        first("Call the tool report_ready now", calls(("report_ready", {}))),
        first("The cheap one?", {"content": "It is me."}),
    )
    (config,) = odoo.rpc(CONFIG, "search", [], limit=1)
    values = {"name": "Cheap", "api_base_url": scripted_llm.base_url, "model": "gpt-4o-mini"}
    cheap = odoo.rpc(CONFIG, "create", values)
    request.addfinalizer(lambda: odoo.rpc(CONFIG, "unlink", [cheap]))
    odoo.rpc(CONFIG, "write", [config], {"fallback_id": cheap})
    request.addfinalizer(lambda: odoo.rpc(CONFIG, "write", [config], {"fallback_id": False}))
    budget = budgets("Nearly used", 100 * LIMIT, is_saving=True)
    with chatting(odoo, "user") as chat:
        for spent, model in ((80 * LIMIT, "gpt-4o"), (90 * LIMIT, "gpt-4o-mini")):
            use(odoo, budget, spent)
            events = chat.ask("The cheap one?").events()
            assert text_of(events) == "It is me."
            assert scripted_llm.requests()[-1]["body"]["model"] == model
        codes = [event["code"] for event in of(events, "notice")]
        assert codes == ["budget_low", "provider_fallback"]
        page = page_of(odoo, "user")
        page.goto(f"/my/ai/{chat.id}")
        said = "Another language model answers, as the budget is nearly used up."
        expect(page.get_by_text(said)).to_be_visible()


def say(page, text):
    page.locator(".o_ai_chat_input").fill(text)
    page.keyboard.press("Enter")
