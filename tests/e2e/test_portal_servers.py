"""The owner's MCP tab in a real browser: from the list of services to a chat that uses what was added."""

import json
import re

import axe
import pytest
from chat import calls, first, then
from playwright.sync_api import expect

SERVER = "woow_paas_platform.mcp_server"
PAGES = (
    "/my",
    "/my/services",
    "/my/ai-servers",
    "/my/ai/connections",
    "/my/ai/sign-ins",
    "/my/ai/usage",
)


@pytest.fixture
def tab(odoo, page_of):
    """The MCP tab of the owner's service; what a test adds is gone afterwards."""

    def user_servers():
        return set(odoo.rpc(SERVER, "search", [("scope", "=", "user")], context={"active_test": 0}))

    before = user_servers()
    page = page_of(odoo, "owner")
    page.goto("/my/services")
    page.get_by_role("link", name="n8n Automation").click()
    page.get_by_role("link", name="MCP", exact=True).click()
    expect(page.get_by_role("button", name="From a template")).to_be_visible()
    yield page
    if added := user_servers() - before:
        odoo.rpc(SERVER, "unlink", list(added))


def state_of(page, name, state):
    card = page.locator(f'.o_woow_server[data-server="{name}"]')
    expect(card).to_have_attribute("data-state", state)
    return card


def test_by_a_template_to_a_chat(tab, mcp_everything, scripted_llm):
    scripted_llm.script(
        first("Please echo", calls(("n8n__echo", {"message": "from the tab"}))),
        then("Please echo", {"content": "It came **back**."}),
    )
    expect(tab.get_by_text("No MCP servers yet.")).to_be_visible()
    tab.get_by_role("button", name="From a template").click()
    tab.locator('[data-template="n8n"]').click()
    tab.get_by_label("Address").fill(mcp_everything.url)
    tab.get_by_label("Access token").fill("not-needed-here")
    tab.keyboard.press("Enter")

    card = state_of(tab, "n8n", "connected")
    expect(card.locator('[data-tool="echo"]')).to_be_visible()
    expect(card).not_to_contain_text("not-needed-here")
    card.get_by_role("button", name="Test").click()
    steps = card.locator("[data-step]")
    expect(steps).to_have_count(8)
    assert {step.get_attribute("data-state") for step in steps.all()} == {"ok", "skipped"}
    env = card.locator('[data-tool="get-env"]')
    env.get_by_role("switch").click()
    expect(card).to_contain_text("14 of 15 tools")
    echo = card.locator('[data-tool="echo"]')
    echo.locator("summary").click()
    expect(echo).to_contain_text("message")

    tab.get_by_role("link", name="Overview").click()
    expect(tab.locator(".o_woow_members")).to_contain_text("Uma User")
    tab.get_by_role("link", name="Chat", exact=True).click()
    tab.locator(".o_ai_chat_input").fill("Please echo")
    tab.keyboard.press("Enter")
    expect(tab).to_have_url(re.compile(r"/my/services/\d+/chat/\d+$"))
    tab.get_by_role("button", name="Allow once").click()
    expect(tab.locator(".o_ai_chat_message_assistant")).to_contain_text("It came back.")
    assert "Echo: from the tab" in str(scripted_llm.requests()[-1]["body"]["messages"])


def test_a_chat_leads_to_its_readers_own_servers(odoo, page_of):
    page = page_of(odoo, "user")
    page.goto("/my/ai")
    page.get_by_role("link", name="AI settings").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("AI settings")
    expect(page).to_have_url(re.compile("/my/ai-servers$"))
    page.goto("/my/ai")
    page.get_by_role("button", name="Choose the MCP servers of this chat").click()
    page.get_by_role("link", name="Your own servers").click()
    expect(page.get_by_role("button", name="Add a server", exact=True)).to_be_visible()
    shared = page.locator(".o_woow_shared")
    shared.locator("summary").click()
    expect(shared.locator("[data-server=time] .o_woow_server_state")).to_have_text("Connected")
    expect(shared).not_to_contain_text("127.0.0.1")


def test_a_chat_chooses_its_servers(odoo, page_of, scripted_llm):
    scripted_llm.script(
        first("Who is there", {"content": "Hello."}), first("And now", {"content": "Fewer."})
    )

    def ask(text, answer):
        expect(page.locator(".o_ai_chat_stop")).to_have_count(0)  # nothing is sent meanwhile
        page.locator(".o_ai_chat_input").fill(text)
        page.keyboard.press("Enter")
        expect(page.locator(".o_ai_chat_message_assistant").last).to_contain_text(answer)
        tools = scripted_llm.requests()[-1]["body"].get("tools", [])
        return {tool["function"]["name"].partition("__")[0] for tool in tools}

    def servers():
        expect(line).to_contain_text(re.compile(r"\d+ servers? · \d+ tools"))
        return int(re.search(r"(\d+) servers?", line.inner_text())[1])

    page = page_of(odoo, "user", viewport={"width": 375, "height": 720})
    page.goto("/my/ai")
    line = page.get_by_role("button", name="Choose the MCP servers of this chat")
    expect(line).to_contain_text("Demo Assistant · ")
    before = servers()
    assert {"time", "everything"} <= ask("Who is there", "Hello.")
    assert servers() == before
    line.press("Enter")
    panel = page.get_by_role("region", name="MCP servers in this chat")
    row = panel.locator('[data-server="everything"]')
    expect(row).to_contain_text(re.compile(r"\d+ tools, about \d+ tokens"))
    row.get_by_role("switch").click()
    expect(row.get_by_role("switch")).not_to_be_checked()
    expect(line).to_contain_text(f"{before - 1} server")
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    offered = ask("And now", "Fewer.")
    assert "time" in offered
    assert "everything" not in offered


def test_what_is_wrong_is_told_and_mended(tab, mcp_everything):
    tab.get_by_role("button", name="Add a server").click()
    tab.get_by_label("Address").fill(mcp_everything.url.replace("/mcp", "/nothing"))
    tab.get_by_label("Name").fill("wrong")
    tab.get_by_role("button", name="Save").click()
    card = state_of(tab, "wrong", "error")
    card.get_by_role("button", name="Test").click()
    failed = card.locator('[data-step][data-state="failed"]')
    expect(failed.locator(".o_woow_advice")).to_contain_text("/mcp")
    expect(card.locator('[data-step="tools"]')).to_have_attribute("data-state", "skipped")
    card.get_by_role("button", name="Edit").click()
    card.get_by_label("Address").fill(mcp_everything.url)
    tab.keyboard.press("Enter")
    card.get_by_role("button", name="Reload tools").click()
    state_of(tab, "wrong", "connected")
    expect(card.locator('[data-tool="echo"]')).to_be_visible()
    card.get_by_role("switch", name="wrong").click()
    expect(card.locator(".o_woow_server_state")).to_have_text("Off")
    card.get_by_role("button", name="Delete").click()
    tab.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(card).to_have_count(0)


def reach(page, place):
    """Press Tab until the focus is there."""
    for _ in range(60):
        if place.evaluate("el => el === document.activeElement"):
            return page.keyboard
        page.keyboard.press("Tab")
    raise AssertionError(f"the keyboard does not reach {place}")


def add_by_keyboard(page, name, url, state):
    reach(page, page.get_by_role("button", name="Add a server")).press("Enter")
    expect(page.get_by_label("Address")).to_be_focused()
    page.keyboard.type(url)
    reach(page, page.get_by_label("Name", exact=True)).type(name)
    page.keyboard.press("Enter")
    card = state_of(page, name, state)
    expect(card.locator(".o_woow_server_toggle")).to_be_focused()
    return card


def go_dark(page):
    page.context.add_cookies([{"name": "color_scheme", "value": "dark", "url": page.url}])
    page.reload()


def test_axe_finds_nothing_and_the_keyboard_is_enough(tab, mcp_everything):
    good = add_by_keyboard(tab, "good", mcp_everything.url, "connected")
    reach(tab, good.get_by_role("button", name="Test")).press("Enter")
    expect(good.locator("[data-step]")).to_have_count(8)
    reach(tab, good.locator('[data-tool="echo"] summary')).press("Enter")
    expect(good.locator('[data-tool="echo"]')).to_contain_text("message")
    wrong = mcp_everything.url.replace("/mcp", "/nothing")
    bad = add_by_keyboard(tab, "bad", wrong, "error")
    reach(tab, bad.get_by_role("button", name="Test")).press("Enter")
    expect(bad.locator('[data-step][data-state="failed"]')).to_be_visible()
    tab.get_by_role("button", name="Add a server").press("Enter")
    assert axe.violations(tab, "main") == []

    tab.keyboard.press("Escape")
    expect(tab.get_by_role("button", name="Add a server")).to_be_focused()
    reach(tab, bad.get_by_role("button", name="Delete")).press("Enter")
    dialog = tab.get_by_role("dialog")
    reach(tab, dialog.get_by_role("button", name="Delete"))
    assert axe.violations(tab, ".modal") == []
    tab.keyboard.press("Enter")
    expect(bad).to_have_count(0)
    expect(tab.get_by_role("button", name="Add a server")).to_be_focused()


def test_axe_finds_nothing_in_the_dark(tab, mcp_everything):
    wrong = mcp_everything.url.replace("/mcp", "/nothing")
    for name, url, state in (("good", mcp_everything.url, "connected"), ("bad", wrong, "error")):
        add_by_keyboard(tab, name, url, state)
    go_dark(tab)
    for name in ("good", "bad"):
        card = tab.locator(f'.o_woow_server[data-server="{name}"]')
        card.locator(".o_woow_server_toggle").click()
        card.get_by_role("button", name="Test").click()
        expect(card.locator("[data-step]")).to_have_count(8)
    tab.locator('[data-tool="echo"] summary').click()
    tab.locator(".o_woow_shared summary").click()
    tab.get_by_role("button", name="Add a server").click()
    assert axe.violations(tab, "main") == []
    tab.get_by_role("button", name="From a template").click()
    expect(tab.locator("[data-template]").first).to_be_visible()
    assert axe.violations(tab, "main") == []


def test_axe_finds_nothing_on_the_other_pages(tab):
    for look in ("light", "dark"):
        for path in (*PAGES, "/my/services"):
            tab.goto(path)
            assert axe.violations(tab, "main") == [], f"{path}, {look}"
        tab.get_by_role("link", name="n8n Automation").click()
        assert axe.violations(tab, "main") == [], f"a service, {look}"
        go_dark(tab)


def test_paste_on_a_phone(odoo, page_of, mcp_everything):
    page = page_of(odoo, "user", viewport={"width": 360, "height": 720}, has_touch=True)
    page.goto("/my/services")
    page.get_by_role("link", name="n8n Automation").click()
    expect(page.get_by_role("link", name="MCP", exact=True)).to_have_count(0)  # not an owner
    page.goto("/my/ai-servers")
    page.get_by_role("button", name="Import or export").click()
    document = {"mcpServers": {"mine": {"url": mcp_everything.url}, "local": {"command": "npx"}}}
    page.get_by_label("Paste an mcpServers configuration").fill(json.dumps(document))
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator(".o_woow_notes")).to_contain_text("configuration file")
    card = state_of(page, "mine", "connected")
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(overflow) <= 0
    ids = odoo.rpc(SERVER, "search", [("name", "=", "mine")])
    owners = odoo.rpc(SERVER, "read", ids, ["owner_user_id", "scope"])
    assert [(row["owner_user_id"][1], row["scope"]) for row in owners] == [("Uma User", "user")]
    odoo.rpc(SERVER, "unlink", ids)
    page.reload()
    expect(card).to_have_count(0)


def test_a_person_connects_with_a_key_and_takes_permissions_back(
    odoo, page_of, mcp_everything, scripted_llm
):
    """Without a key the chat says where to add one; with it the shared server answers; grants are taken back."""
    scripted_llm.script(
        first("Alone", {"content": "Without it."}),
        first("Please echo", calls(("everything__echo", {"message": "in my name"}))),
        then("Please echo", {"content": "It came back."}),
    )
    (server,) = odoo.rpc(SERVER, "search", [("name", "=", "everything"), ("scope", "=", "system")])
    (before,) = odoo.rpc(SERVER, "read", [server], ["wants_own_keys", "trust_level"], load=None)
    odoo.rpc(SERVER, "write", [server], {"wants_own_keys": True, "trust_level": "none"})
    try:
        page = page_of(odoo, "user")

        def ask(words, answer):
            page.goto("/my/ai")
            page.locator(".o_ai_chat_input").fill(words)
            page.keyboard.press("Enter")
            if answer.startswith("It came"):
                page.get_by_role("button", name="Allow always").click()
            expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text(answer)

        ask("Alone", "Without it.")
        expect(page.locator(".o_ai_chat_thread")).to_contain_text("Keys and permissions")
        page.goto("/my/ai/connections")
        card = page.locator('.o_woow_connection[data-server="everything"]')
        card.get_by_role("button", name="Add a key").click()
        card.get_by_label("Your key").fill("a-key-of-uma")
        page.keyboard.press("Enter")
        expect(card.locator(".o_woow_key_since")).to_be_visible()

        ask("Please echo", "It came back.")
        page.goto("/my/ai/connections")
        expect(page.locator("[data-grant]")).to_contain_text("everything.echo")
        assert axe.violations(page, "main") == []
        go_dark(page)
        expect(page.locator("[data-grant]")).to_be_visible()
        assert axe.violations(page, "main") == []
        revoke = page.locator("[data-grant]").get_by_role("button", name="Revoke")
        revoke.click()
        question = page.get_by_role("dialog")
        question.get_by_role("button", name="Cancel").click()
        expect(page.locator("[data-grant]")).to_be_visible()
        revoke.click()
        question.get_by_role("button", name="Revoke").click()
        expect(
            page.get_by_text("None. Tools that ask for your permission ask before each call.")
        ).to_be_visible()
        card.get_by_role("button", name="Remove").click()
        question.get_by_role("button", name="Remove").click()
        expect(card).to_contain_text("No key")
    finally:
        del before["id"]
        odoo.rpc(SERVER, "write", [server], before)
