"""What an answer and the chat around it look like: in portal, backend, Discuss, on a phone, light and dark."""

import axe
import pytest
from chat import Chat, calls, first, then
from dark import darken
from playwright.sync_api import expect

TAIPEI = ("time__get_current_time", {"timezone": "Asia/Taipei"})
RICH = """# Plans

| Plan | Seats | Price per month | Storage |
|---|---|---|---|
| Enterprise | unlimited | 999 | unlimited |

> Said by somebody.

- [x] done
"""


@pytest.fixture
def rich(odoo, scripted_llm):
    """A conversation of an employee with an answer that has a bit of everything."""
    scripted_llm.script(
        first("Which plans", calls(TAIPEI)),
        then("Which plans", {"content": RICH}),
    )
    chat = Chat(odoo, "demo")
    chat.ask("Which plans are there?").events()
    return chat


def style(locator, name):
    return locator.evaluate(f"el => getComputedStyle(el)['{name}']")


def test_discuss_shows_an_answer_as_the_chat_does(odoo, rich, page_of):
    page = page_of(odoo, "demo")
    page.goto(f"/odoo/discuss?active_id=discuss.channel_{rich.id}")
    body = page.locator(".o_ai_answer .o-mail-Message-body")
    expect(body.locator("td").first).to_be_visible()
    assert style(body.locator("td").first, "borderTopWidth") == "1px"
    assert style(body.locator("td").first, "paddingLeft") != "0px"
    expect(body.locator("blockquote")).to_be_visible()
    expect(page.locator(".o-mail-ellipsis")).to_have_count(0)
    assert style(body.locator(".o_ai_task"), "listStyleType") == "none"


def test_the_dark_chat_in_the_backend_can_be_read(odoo, rich, page_of):
    page = page_of(odoo, "demo")
    darken(page, odoo.url)
    page.goto(f"/odoo/ai-chat/{rich.id}")
    expect(page.locator(".o_ai_chat_html td").first).to_be_visible()
    expect(page.locator(".o_ai_chat_action")).to_have_attribute("data-bs-theme", "dark")
    colour = style(page.locator(".o_ai_chat"), "color")
    assert style(page.locator(".o_ai_chat_title"), "color") == colour
    assert style(page.locator(".o_ai_chat_html h1"), "color") == colour
    assert axe.violations(page, ".o_ai_chat") == []
    page.get_by_role("button", name="New chat").click()
    expect(page.locator(".o_ai_chat_start h2")).to_be_visible()
    assert axe.violations(page, ".o_ai_chat") == []


def test_the_chat_is_light_in_a_backend_without_dark_styles(odoo, rich, page_of):
    page = page_of(odoo, "demo")
    page.context.add_cookies([{"name": "color_scheme", "value": "dark", "url": odoo.url}])
    page.goto(f"/odoo/ai-chat/{rich.id}")
    expect(page.locator(".o_ai_chat_html td").first).to_be_visible()
    assert style(page.locator(".o_ai_chat"), "colorScheme") == style(
        page.locator(".o_main_navbar"), "colorScheme"
    )
    assert axe.violations(page, ".o_ai_chat") == []


def test_the_portal_is_dark_by_the_wish_of_the_system(odoo, page_of):
    """Nobody has chosen a look there; the header and the footer are Odoo's."""
    page = page_of(odoo, "user", color_scheme="dark")
    page.goto("/my/ai")
    expect(page.locator(".o_ai_chat_start h2")).to_be_visible()
    expect(page.locator("main")).to_have_attribute("data-bs-theme", "dark")
    assert not any(cookie["name"] == "color_scheme" for cookie in page.context.cookies())
    for part in ("header", ".o_ai_chat"):
        assert axe.violations(page, part) == []
    page.goto("/my/services")
    expect(page.locator("main")).to_have_attribute("data-bs-theme", "dark")
    for part in ("header", "footer"):
        assert axe.violations(page, part) == []
    page.emulate_media(color_scheme="light")
    page.reload()
    expect(page.locator("main")).not_to_have_attribute("data-bs-theme", "dark")


def test_the_panel_leaves_the_screen_in_sight(odoo, page_of):
    page = page_of(odoo, "admin", viewport={"width": 1440, "height": 900})
    page.goto("/odoo/contacts")
    page.locator(".o_ai_chat_systray button").click()
    panel = page.locator(".o_ai_chat_panel")
    expect(panel.locator(".o_ai_chat_header")).to_be_visible()
    content = page.locator(".o_action_manager").bounding_box()
    assert content["x"] + content["width"] <= panel.bounding_box()["x"] + 1
    expect(panel.get_by_role("button", name="Close")).to_be_visible()


def test_a_form_beside_the_panel_has_its_chatter_below(odoo, page_of):
    page = page_of(odoo, "admin", viewport={"width": 1440, "height": 900})
    partner = odoo.rpc("res.partner", "create", [{"name": "Harbour Office"}])[0]
    page.goto(f"/odoo/res.partner/{partner}")
    sheet, chatter = page.locator(".o_form_sheet"), page.locator(".o-mail-Form-chatter")
    expect(chatter).to_be_visible()
    assert chatter.bounding_box()["x"] > sheet.bounding_box()["x"] + sheet.bounding_box()["width"]
    page.locator(".o_ai_chat_systray button").click()
    panel = page.locator(".o_ai_chat_panel")
    expect(panel.locator(".o_ai_chat_header")).to_be_visible()
    form = sheet.bounding_box()
    assert form["width"] > 850
    assert form["x"] + form["width"] <= panel.bounding_box()["x"]
    assert chatter.bounding_box()["y"] >= form["y"] + form["height"]
    chatter.get_by_role("button", name="Log note").click()
    expect(page.locator(".o-mail-Composer-input")).to_be_in_viewport()


def test_a_call_is_named_in_words(odoo, rich, page_of):
    page = page_of(odoo, "demo", viewport={"width": 390, "height": 844})
    page.goto(f"/my/ai/{rich.id}")
    expect(page.locator(".o_ai_chat_tool_title")).to_have_text("Get current time")
    expect(page.locator(".o_ai_chat_round")).to_have_count(1)
    assert axe.violations(page, ".o_ai_chat") == []


def test_forms_can_be_read(odoo, page_of):
    """What we draw in Odoo's forms and cards; Odoo's own grey is too pale."""
    page = page_of(odoo, "admin")
    assistant = odoo.rpc("ai.assistant", "search", [], limit=1)[0]
    page.goto(f"/odoo/ai.assistant/{assistant}")
    page.locator(".o_notebook .nav-link[name=tools]").click()
    expect(page.locator(".o_woow_tool_server").first).to_be_visible()
    assert axe.violations(page, ".o_woow_tool_switches") == []
    page.goto("/odoo/mcp-servers?view_type=kanban")
    expect(page.locator(".o_kanban_record").first).to_be_visible()
    assert axe.violations(page, ".o_kanban_record") == []
    provider = odoo.rpc("ai.config", "search", [], limit=1)[0]
    page.goto(f"/odoo/ai.config/{provider}")
    expect(page.locator(".o_woow_choose_model").first).to_be_visible()
    assert axe.violations(page, ".o_woow_choose_model") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_a_conversation_is_taken_away_from_its_header(odoo, rich, page_of, width, scheme):
    page = page_of(odoo, "demo", viewport={"width": width, "height": 844}, color_scheme=scheme)
    page.goto(f"/my/ai/{rich.id}")
    expect(page.locator(".o_ai_chat_html td").first).to_be_visible()
    button = page.get_by_role("button", name="Export")
    button.focus()
    page.keyboard.press("Enter")
    menu = page.get_by_role("menu", name="Export")
    expect(menu.get_by_role("menuitem").first).to_be_focused()
    expect(menu.get_by_role("menuitem").first).to_be_in_viewport(ratio=1)
    assert axe.violations(page, ".o_ai_chat") == []
    page.keyboard.press("ArrowDown")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    said = download.value.path().read_text()
    assert download.value.suggested_filename.endswith(".md")
    assert "| Enterprise | unlimited | 999 | unlimited |" in said
    assert "`time.get_current_time`" in said
    expect(menu).to_have_count(0)
