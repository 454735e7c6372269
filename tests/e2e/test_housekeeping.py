"""Order among many conversations: pinned, put away, and several at once."""

import re

import axe
import pytest
from chat import Chat, first
from playwright.sync_api import expect
from waiting import eventually

SCHEMES = ("light", "dark")


def row(page, name):
    return page.locator(".o_ai_chat_row", has_text=name)


def choose(page, name, act):
    """An act of the menu of a conversation, by keyboard."""
    menu = row(page, name).get_by_role("button", name=f"Actions for “{name}”")
    menu.focus()
    page.keyboard.press("Enter")
    item = page.get_by_role("menuitem", name=act, exact=True)
    expect(item).to_be_in_viewport(ratio=1)
    while not item.evaluate("el => el === document.activeElement"):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")


def names(page):
    return page.locator(".o_ai_chat_conversation .fw-bold").all_text_contents()


@pytest.fixture(params=[1440, 390])
def place(request, odoo, page_of):
    """A page with three new conversations, whose names are the test's own."""
    mark = f"of {request.node.name}"
    made = [f"{name} {mark}" for name in ("Tea", "Tide", "Harbour")]
    for name in made:
        Chat(odoo, name=name)
    page = page_of(
        odoo,
        "user",
        viewport={"width": request.param, "height": 844},
        has_touch=request.param < 500,
    )
    page.goto("/my/ai")
    open_list(page)
    return page, made


def open_list(page):
    toggle = page.get_by_role("button", name="Conversations", exact=True)
    expect(page.locator(".o_ai_chat_header")).to_be_visible()
    if toggle.is_visible():
        toggle.click()
    expect(page.locator(".o_ai_chat_row").first).to_be_visible()


SMALL = """() => [...document.querySelectorAll(".o_ai_chat .btn, .o_ai_chat select")]
    .map((el) => [el.getAttribute("aria-label") || el.innerText, el.getBoundingClientRect()])
    .filter(([, { width, height }]) => width && Math.min(width, height) < 44)
    .map(([name]) => name)"""


def look(page, prepare):
    """The judge of accessibility, in light and dark; on a phone, room for fingers."""
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        page.reload()
        open_list(page)
        prepare()
        assert axe.violations(page, ".o_ai_chat") == []
        if page.viewport_size["width"] < 500:
            assert page.evaluate(SMALL) == []


def test_conversations_are_pinned_and_put_away(place):
    page, (tea, tide, harbour) = place
    said = page.locator(".o_ai_chat_said")
    choose(page, tea, "Pin")
    expect(said).to_have_text(f"“{tea}” is pinned.")
    assert names(page)[0] == tea
    expect(page.locator(".o_ai_chat_period").first).to_have_text("Pinned")
    choose(page, tide, "Archive")
    expect(row(page, tide)).to_have_count(0)
    expect(said).to_have_text(f"“{tide}” is archived.")
    expect(page.locator(".o_ai_chat_conversation:focus")).to_have_count(1)
    page.reload()
    open_list(page)
    expect(page.locator(".o_ai_chat_conversation .fw-bold").first).to_have_text(tea)
    expect(row(page, tide)).to_have_count(0)
    page.get_by_role("button", name="Archive", exact=True).click()
    expect(page.locator(".o_ai_chat_place h2")).to_have_text("Archive")
    expect(row(page, tide)).to_be_visible()
    expect(row(page, harbour)).to_have_count(0)
    choose(page, tide, "Restore")
    expect(row(page, tide)).to_have_count(0)
    page.get_by_role("button", name="All conversations").click()
    expect(row(page, tide)).to_be_visible()
    choose(page, tea, "Unpin")
    expect(page.locator(".o_ai_chat_period", has_text="Pinned")).to_have_count(0)
    look(page, lambda: row(page, tea).get_by_role("button", name="Actions").click())


def test_several_conversations_go_at_once(place):
    page, (tea, tide, harbour) = place
    page.get_by_role("button", name="Select conversations").click()
    for name in (tea, harbour):
        page.get_by_role("checkbox", name=re.compile(re.escape(name))).press("Space")
    expect(page.locator(".o_ai_chat_count")).to_have_text("2 selected")
    bulk = page.get_by_role("toolbar", name="Selected conversations")
    bulk.get_by_role("button", name="Delete").click()
    question = page.get_by_role("dialog")
    expect(question).to_contain_text("2 conversations and all their messages")
    question.get_by_role("button", name="Delete").click()
    expect(row(page, tea)).to_have_count(0)
    expect(row(page, harbour)).to_have_count(0)
    expect(page.locator(".o_ai_chat_said")).to_have_text("2 conversations are deleted.")
    expect(bulk).to_have_count(0)
    expect(row(page, tide)).to_be_visible()

    def select():
        page.get_by_role("button", name="Filters").click()
        page.get_by_label("With files").check()
        expect(row(page, tide)).to_have_count(0)
        page.get_by_label("With files").uncheck()
        page.get_by_label("Time").select_option("7")
        page.get_by_role("button", name="Select conversations").click()
        page.get_by_role("checkbox", name=re.compile(re.escape(tide))).click()

    look(page, select)
    bulk.get_by_role("button", name="Archive").click()
    expect(row(page, tide)).to_have_count(0)


def test_folders_take_conversations_by_menu_and_mouse(place):
    page, (tea, tide, harbour) = place
    width = page.viewport_size["width"]
    drinks = f"Drinks {width}"
    folder = page.get_by_role("button", name=drinks, exact=True)
    page.get_by_role("button", name="New folder").click()
    name = page.get_by_role("textbox", name="Folder name")
    expect(name).to_be_focused()
    name.fill(drinks)
    name.press("Enter")
    choose(page, tea, "Move to folder…")
    page.get_by_role("dialog").get_by_role("button", name=drinks).click()
    expect(row(page, tea)).to_have_count(0)
    if width > 500:
        row(page, tide).drag_to(folder)
        expect(page.locator(".o_ai_chat_said")).to_have_text(f"“{tide}” is moved.")
    folder.click()
    expect(page.locator(".o_ai_chat_place h2")).to_have_text(drinks)
    expect(row(page, tea)).to_be_visible()
    expect(row(page, harbour)).to_have_count(0)
    assert axe.violations(page, ".o_ai_chat") == []
    if width > 500:
        row(page, tide).drag_to(page.locator(".o_ai_chat_place"))
        expect(row(page, tide)).to_have_count(0)
    page.get_by_role("button", name="All conversations").click()
    expect(row(page, tide)).to_be_visible()
    look(page, lambda: row(page, tide).get_by_role("button", name="Actions").click())


@pytest.mark.parametrize("width", [1440, 390])
def test_a_conversation_opens_where_it_was_left(odoo, scripted_llm, page_of, width):
    asked = ("first harbour", "second harbour", "third harbour", "a last word")
    for what in asked:
        long = "\n\n".join(f"Line {number} of the {what}." for number in range(60))
        scripted_llm.script(first(what, {"content": long}))
    chat, other = Chat(odoo, name=f"Long {width}"), Chat(odoo, name=f"Other {width}")
    for what in asked[:-1]:
        chat.ask(f"Tell me of the {what}").events()
    # without touch: Chromium ends its emulation, and with it what fingers get, before `pagehide`
    page = page_of(odoo, "user", viewport={"width": width, "height": 844})
    page.goto(f"/my/ai/{chat.id}")
    end = page.get_by_text("Line 59 of the third harbour.")
    expect(end).to_be_in_viewport()
    read = page.get_by_text("Line 30 of the second harbour.")
    read.evaluate("el => el.scrollIntoView({ block: 'start' })")
    latest = page.get_by_role("button", name="Jump to latest")
    expect(latest).to_be_visible()
    top = read.bounding_box()["y"]

    def is_left_as_it_was():
        expect(read).to_be_in_viewport()
        expect(latest).to_be_visible()
        return abs(read.bounding_box()["y"] - top) <= 2

    page.reload()
    assert is_left_as_it_was()
    open_list(page)
    row(page, f"Other {width}").locator("a, button").first.click()
    expect(page).to_have_url(re.compile(rf"/my/ai/{other.id}$"))
    page.go_back()
    assert is_left_as_it_was()

    page.goto(f"/my/ai/{other.id}")
    chat.ask("And a last word").events()
    page.goto(f"/my/ai/{chat.id}")
    end = page.get_by_text("Line 59 of the a last word.")
    expect(end).to_be_in_viewport()
    page.reload()
    expect(end).to_be_in_viewport()


@pytest.mark.parametrize("width", [1440, 390])
def test_a_temporary_chat_is_kept_or_goes(odoo, scripted_llm, page_of, width):
    words = f"Between us {width}"
    scripted_llm.script(first(words, {"content": "Nobody else knows."}))
    other = Chat(odoo, name=f"Lasting {width}")
    page = page_of(odoo, "user", viewport={"width": width, "height": 844}, has_touch=width < 500)

    def begin():
        page.goto("/my/ai")
        page.get_by_role("switch", name="Temporary chat").check()
        page.locator(".o_ai_chat_input").fill(words)
        page.get_by_role("button", name="Send", exact=True).click()
        expect(page.get_by_text("Nobody else knows.")).to_be_visible()
        expect(bar).to_contain_text("deleted when you leave it")
        return int(re.search(r"/my/ai/(\d+)$", page.url)[1])

    def is_there(conversation_id):
        found = odoo.sql(f"SELECT count(*) FROM discuss_channel WHERE id = {conversation_id}")
        return found.strip() == "1"

    bar = page.locator(".o_ai_chat_temporary_bar")
    gone = begin()
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        page.reload()  # which does not leave it
        expect(bar).to_be_visible()
        assert axe.violations(page, ".o_ai_chat") == []
    open_list(page)
    expect(row(page, words)).to_have_count(0)
    row(page, f"Lasting {width}").locator("button").first.click()
    expect(page).to_have_url(re.compile(rf"/my/ai/{other.id}$"))
    expect(bar).to_have_count(0)
    eventually(lambda: not is_there(gone))

    ended = begin()
    bar.get_by_role("button", name="End").press("Enter")
    expect(page.get_by_role("switch", name="Temporary chat")).not_to_be_checked()
    assert axe.violations(page, ".o_ai_chat") == []
    eventually(lambda: not is_there(ended))

    kept = begin()
    bar.get_by_role("button", name="Keep").press("Enter")
    expect(bar).to_have_count(0)
    expect(page.locator(".o_ai_chat_input")).to_be_focused()
    open_list(page)
    expect(row(page, words)).to_be_visible()
    page.goto("/my/ai")
    expect(page.get_by_role("switch", name="Temporary chat")).to_be_visible()
    assert is_there(kept)
