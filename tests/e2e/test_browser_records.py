"""Six questions about Odoo's own records in a real browser: three of who has a backend, three of a portal user."""

import re

import pytest
from chat import calls, first, then
from playwright.sync_api import expect
from test_records import ACCESS, use_partners

PEOPLE = [("Zebra Works", "Graz"), ("Zebra Lines", "Linz"), ("Zebra Parts", "Graz")]
MINE = {"field": "name", "operator": "ilike", "value": "Zebra"}


@pytest.fixture
def zebras(odoo):
    lines = use_partners(odoo, can_update=True)
    values = [{"name": name, "city": city, "is_company": True} for name, city in PEOPLE]
    ids = odoo.rpc("res.partner", "create", values)
    yield ids
    odoo.rpc("res.partner", "unlink", ids)
    odoo.rpc(ACCESS, "unlink", lines)


def ask(page, text, state="done"):
    turns = page.locator(".o_ai_chat_turn")
    before = turns.count()
    page.locator(".o_ai_chat_input").fill(text)
    page.locator(".o_ai_chat_send").click()
    expect(turns).to_have_count(before + 1)
    expect(turns.last).to_have_attribute("data-state", state)
    return turns.last


def test_three_questions_in_the_backend(odoo, zebras, scripted_llm, page_of):
    listed = {"model": "res.partner", "filters": [MINE], "fields": ["city"], "order": "name"}
    summed = {"model": "res.partner", "filters": [MINE], "group_by": ["city"]}
    moved = {"model": "res.partner", "ids": zebras[:1], "values": {"city": "Linz"}}
    scripted_llm.script(
        first("Who are they", calls(("search_records", listed))),
        then("Who are they", {"content": f"**Zebra Works** is in Graz (id {zebras[0]})."}),
        first("How many", calls(("aggregate_records", summed))),
        then("How many", {"content": "Two in Graz."}),
        first("Move it", calls(("update_records", moved))),
        then("Move it", {"content": "It moved."}),
    )
    page = page_of(odoo, "admin")
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto("/odoo/ai-chat")

    turn = ask(page, "Who are they")
    names = turn.locator(".o_ai_chat_records_table tbody td:first-child")
    expect(names).to_have_text(["Zebra Lines", "Zebra Parts", "Zebra Works"])
    turn.get_by_role("button", name="City").click()
    cities = turn.locator(".o_ai_chat_records_table tbody td:nth-child(2)")
    expect(cities).to_have_text(["Graz", "Graz", "Linz"])
    path = f"/odoo/res.partner/{zebras[0]}"
    cited = turn.locator(".o_ai_chat_html a")
    expect(cited).to_have_text(["Zebra Works", str(zebras[0])])
    expect(cited.first).to_have_attribute("href", path)

    turn = ask(page, "How many")
    expect(turn.locator("canvas")).to_be_visible()
    page.wait_for_function("window.Chart?.getChart(document.querySelector('canvas'))")
    turn.get_by_role("button", name="Show as a table").click()
    expect(turn.locator("tbody tr")).to_have_text([re.compile("Graz.*2"), re.compile("Linz.*1")])

    turn = ask(page, "Move it", "waiting")
    changed = turn.locator("[data-field=city]")
    expect(changed.locator("del")).to_have_text("Graz")
    expect(changed.locator("ins")).to_have_text("Linz")
    turn.locator("[data-decision=approve_once]").click()
    expect(turn).to_have_attribute("data-state", "done")
    expect(turn.locator(".o_ai_chat_record")).to_contain_text("Linz")
    assert odoo.rpc("res.partner", "read", zebras[:1], ["city"])[0]["city"] == "Linz"

    chat = page.url
    page.locator(".o_ai_chat_turn").nth(1).get_by_role("button", name="Open as a pivot").click()
    expect(page.locator(".o_pivot")).to_contain_text("Linz")
    expect(page).not_to_have_url(chat)  # Odoo writes it a moment later
    page.go_back()
    page.locator(".o_ai_chat_html a").first.click()
    expect(page.locator(".o_form_view")).to_contain_text("Zebra Works")
    expect(page).to_have_url(re.compile(re.escape(path)))
    assert not errors


def test_each_of_many_records_is_seen_before_the_yes(odoo, zebras, scripted_llm, page_of):
    values = [{"name": f"Herd {number:02}", "city": "Graz"} for number in range(40)]
    herd = odoo.rpc("res.partner", "create", values)
    of_herd = {"field": "name", "operator": "ilike", "value": "Herd "}
    moved = {"model": "res.partner", "filters": [of_herd], "count": 40, "values": {"city": "Linz"}}
    scripted_llm.script(
        first("Move them", calls(("update_records", moved))),
        then("Move them", {"content": "They moved."}),
    )
    page = page_of(odoo, "admin", viewport={"width": 390, "height": 844})
    page.goto("/odoo/ai-chat")
    turn = ask(page, "Move them", "waiting")
    turn.get_by_role("button", name="Show all 40 records").click()
    records = turn.locator(".o_ai_chat_rehearsal_record")
    expect(records).to_have_count(40)
    for number in range(40):
        expect(records.filter(has_text=f"Herd {number:02}")).to_have_count(1)
    expect(turn.locator("[data-field=city] ins")).to_have_text(["Linz"] * 40)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    turn.locator("[data-decision=approve_once]").click()
    expect(turn).to_have_attribute("data-state", "done")
    odoo.rpc("res.partner", "unlink", herd)


@pytest.mark.parametrize("width", [1280, 390], ids=["wide", "phone"])
def test_a_record_is_attached_by_its_name(odoo, zebras, scripted_llm, page_of, width):
    scripted_llm.script(first("Where is", {"content": "In Graz."}))
    page = page_of(odoo, "admin", viewport={"width": width, "height": 844})
    page.goto("/odoo/ai-chat")
    written = page.locator(".o_ai_chat_input")
    written.press_sequentially("Where is @zebra w")
    offered = page.get_by_role("listbox", name="Records to attach").get_by_role("option")
    expect(offered).to_have_count(1)
    expect(offered).to_contain_text("Zebra Works")
    expect(offered).to_contain_text("Contact")
    written.press("Enter")
    expect(written).to_have_value("Where is @Zebra Works ")
    expect(page.locator(".o_ai_chat_foot .o_ai_chat_mentioned li")).to_have_text("Zebra Works")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator(".o_ai_chat_send").click()
    expect(page.locator(".o_ai_chat_turn").last).to_have_attribute("data-state", "done")
    told = scripted_llm.requests()[-1]["body"]["messages"][-1]["content"]
    assert f"model res.partner, id {zebras[0]}" in told and "city: Graz" in told
    page.reload()
    attached = page.locator(".o_ai_chat_message_user .o_ai_chat_mentioned a")
    expect(attached).to_have_text("Zebra Works")
    expect(attached).to_have_attribute("href", f"/odoo/res.partner/{zebras[0]}")


def test_three_questions_in_the_portal(odoo, zebras, scripted_llm, page_of):
    me = odoo.rpc("res.users", "search_read", [("login", "=", "user")], ["partner_id"])[0]
    mine, name = me["partner_id"]
    itself = {"model": "res.partner", "ids": [mine]}
    scripted_llm.script(
        first("Who am I", calls(("read_records", itself))),
        then("Who am I", {"content": f"You are {name}."}),
        first("The zebras", calls(("search_records", {"model": "res.partner", "filters": [MINE]}))),
        then("The zebras", {"content": "There are none."}),
        first("Rename me", calls(("update_records", {**itself, "values": {"city": "Linz"}}))),
        then("Rename me", {"content": "I may not."}),
    )
    page = page_of(odoo, "user", viewport={"width": 390, "height": 844})
    page.goto("/my/ai")

    turn = ask(page, f"Who am I, {mine}?")
    card = turn.locator(".o_ai_chat_record")
    expect(card.locator(".o_ai_chat_record_name")).to_have_text(name)
    expect(card.locator("a")).to_have_count(0)  # there is no page of it in the portal
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    turn = ask(page, "The zebras")
    expect(turn.locator(".o_ai_chat_tool")).to_have_attribute("data-outcome", "ok")
    expect(turn.locator(".o_ai_chat_records")).to_have_count(0)

    turn = ask(page, "Rename me")
    expect(turn.locator(".o_ai_chat_tool")).not_to_have_attribute("data-outcome", "ok")
    assert not odoo.rpc("res.partner", "search", [("id", "=", mine), ("city", "=", "Linz")])
