"""The chat for everybody and everywhere: slash commands, the panel over any screen, accessibility."""

import re

import axe
import pytest
from chat import Chat, calls, first, then
from conftest import E2E_LOGS
from playwright.sync_api import expect

PARTNER = "/odoo/contacts"
DARK = {"name": "color_scheme", "value": "dark"}


def ask(page, text):
    box = page.locator(".o_ai_chat_input")
    box.fill(text)
    box.press("Enter")  # the page around it may have taken the focus


def answered(page):
    expect(page.locator(".o_ai_chat_turn").last).to_have_attribute("data-state", "done")


def test_slash_commands(odoo, scripted_llm, page_of):
    scripted_llm.script(first("hello", {"content": "Hi."}))
    page = page_of(odoo, "user")
    page.goto("/my/ai")
    box = page.locator(".o_ai_chat_input")
    box.fill("/he")
    expect(page.locator(".o_ai_chat_commands li")).to_have_count(1)
    page.keyboard.press("Enter")
    panel = page.locator(".o_ai_chat_command")
    expect(panel).to_contain_text("/mcp tools")
    expect(panel).not_to_contain_text("/mcp reload")  # a system server is not the user's
    box.fill("/mcp tools")
    page.keyboard.press("Enter")
    expect(panel).to_contain_text("time.get_current_time")
    box.fill("/mcp reload")
    page.keyboard.press("Enter")
    expect(panel).to_contain_text("Only those who manage this server can reload it.")
    expect(panel).not_to_contain_text("Tools reloaded.")
    box.fill("/nonsense")
    page.keyboard.press("Enter")
    expect(panel).to_contain_text("“/nonsense” is not a command here")
    expect(box).to_have_value("/nonsense")

    box.fill("/everything:a")
    expect(page.get_by_role("option", name=re.compile("args-prompt"))).to_be_visible()
    page.keyboard.press("Enter")
    form = page.locator(".o_ai_chat_completed")
    form.locator("input").first.fill("Keelung")
    form.get_by_role("button", name="Use this prompt").click()
    expect(box).to_have_value(re.compile("Keelung"))
    assert not scripted_llm.requests(), "nothing of it was sent to the model"
    expect(page).to_have_url(re.compile("/my/ai$"))  # and no conversation was made for it


def test_back_leads_to_the_conversation_before(odoo, page_of):
    chats = [Chat(odoo, name=name) for name in ("The harbour", "The tide")]
    page = page_of(odoo, "user")
    page.goto("/my/ai")
    for chat in chats:
        page.locator(f"[data-conversation-id='{chat.id}']").click()
        expect(page).to_have_url(re.compile(f"/my/ai/{chat.id}$"))
    expect(page).to_have_title(re.compile("^The tide · "))
    page.go_back()
    expect(page.locator(".o_ai_chat_conversation.active")).to_contain_text("The harbour")
    expect(page).to_have_title(re.compile("^The harbour · "))
    page.go_back()
    expect(page).to_have_url(re.compile("/my/ai$"))
    expect(page.locator(".o_ai_chat_conversation.active")).to_have_count(0)
    page.go_forward()
    expect(page.locator(".o_ai_chat_conversation.active")).to_contain_text("The harbour")


def test_prompt_arguments_are_completed_by_the_server(odoo, scripted_llm, page_of):
    page = page_of(odoo, "user")
    page.goto("/my/ai")
    box = page.locator(".o_ai_chat_input")
    box.fill("/everything:comp")
    page.get_by_role("option", name=re.compile("completable")).click()
    field = page.locator(".o_ai_chat_completed input").first
    field.fill("E")
    expect(page.locator(".o_ai_chat_completed datalist option[value=Engineering]")).to_be_attached()


def test_the_panel_knows_the_record_on_the_screen(odoo, scripted_llm, page_of):
    scripted_llm.script(first("Who is this?", {"content": "A **contact**."}))
    partner = odoo.rpc("res.partner", "create", [{"name": "Harbour <b>Office</b>"}])
    partner = partner[0] if isinstance(partner, list) else partner
    page = page_of(odoo, "admin")
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"/odoo/res.partner/{partner}")
    expect(page.locator(".o_form_view")).to_be_visible()
    page.locator(".o_ai_chat_systray button").click()
    panel = page.locator(".o_ai_chat_panel")
    expect(panel.locator(".o_ai_chat_about")).to_contain_text("Harbour <b>Office</b>")
    ask(page, "Who is this?")
    expect(panel.locator(".o_ai_chat_message_assistant")).to_contain_text("A contact.")
    expect(panel.locator(".o_ai_chat_context")).to_contain_text("Harbour <b>Office</b>")
    assert "Harbour" in str(scripted_llm.requests()[-1]["body"]["messages"][0])
    assert axe.violations(page, ".o_ai_chat_panel") == []
    panel.get_by_role("button", name="Conversations", exact=True).click()
    panel.locator(".o_ai_chat_new").click()
    earlier = panel.locator(".o_ai_chat_earlier")
    expect(earlier.get_by_role("button")).to_have_count(1)
    assert axe.violations(page, ".o_ai_chat_panel") == []
    earlier.get_by_role("button", name="Who is this?").click()
    expect(panel.locator(".o_ai_chat_message_assistant")).to_contain_text("A contact.")
    panel.get_by_role("button", name="Close").click()
    expect(panel).to_have_count(0)
    assert not errors


@pytest.mark.parametrize("width", [1440, 390], ids=["wide", "phone"])
def test_from_a_default_prompt_to_a_note(odoo, scripted_llm, page_of, width):
    """Each text is edited before it is sent: the prompt in the message input, the answer in Odoo's composer."""
    scripted_llm.script(first("Sum it up", {"content": "It is a **good** customer."}))
    (contact,) = odoo.rpc("res.partner", "create", [{"name": "Harbour Office"}])
    (model,) = odoo.rpc("ir.model", "search", [("model", "=", "res.partner")])
    text = "Sum it up: {{ object.name }}"
    prompt = {"name": f"Sum up {width}", "prompt_text": text, "model_id": model}
    prompts = odoo.rpc("woow_paas_platform.default_prompt", "create", [prompt])
    page = page_of(odoo, "admin", viewport={"width": width, "height": 844})
    page.goto(f"/odoo/res.partner/{contact}")
    expect(page.locator(".o_form_view")).to_be_visible()
    page.locator(".o_ai_chat_systray button").click()
    panel = page.locator(".o_ai_chat_panel")
    expect(panel.locator(".o_ai_chat_about")).to_contain_text("Harbour Office")
    panel.get_by_role("button", name=f"Sum up {width}").click()
    box = page.locator(".o_ai_chat_input")
    expect(box).to_have_value('Sum it up: "Harbour Office"')
    assert axe.violations(page, ".o_ai_chat_panel") == []
    page.screenshot(path=E2E_LOGS / f"default_prompt_{width}.png")
    assert not scripted_llm.requests(), "it was not sent"
    box.press("Enter")
    answered(page)
    odoo.rpc("woow_paas_platform.default_prompt", "unlink", prompts)
    for button, send in [("Send as Message", "Send"), ("Log as Note", "Log")]:
        panel.get_by_role("button", name=button).click()
        composer = page.locator(".o_dialog")
        body = composer.locator(".odoo-editor-editable")
        expect(body).to_contain_text("It is a good customer.")
        assert axe.violations(page, ".o_ai_chat_panel") == []
        page.screenshot(path=E2E_LOGS / f"post_answer_{send}_{width}.png")
        assert not odoo.rpc("mail.message", "search_count", said(contact))
        composer.get_by_role("button", name="Discard").click()
        expect(composer).to_have_count(0)
    panel.get_by_role("button", name="Log as Note").click()
    body.locator("strong").click()
    page.keyboard.press("End")
    page.keyboard.type(" So says Ada.")
    composer.get_by_role("button", name="Log", exact=True).click()
    expect(composer).to_have_count(0)
    (note,) = odoo.rpc("mail.message", "search_read", said(contact), ["body", "subtype_id"])
    assert "good</strong>" in note["body"] and "So says Ada." in note["body"]
    assert note["subtype_id"][1] == "Note"
    if width > 1000:
        shown = page.locator(".o-mail-Message", has_text="So says Ada.")
        expect(shown).to_be_visible()


def said(contact):
    about = [("model", "=", "res.partner"), ("res_id", "=", contact)]
    return [*about, ("body", "like", "good")]


def test_an_answer_that_nobody_watches_is_announced(odoo, scripted_llm, page_of):
    scripted_llm.script(first("Later", {"content": "word " * 200}, latency=20, chunkSize=10))
    page = page_of(odoo, "admin")
    page.goto(PARTNER)
    button = page.locator(".o_ai_chat_systray button")
    button.click()
    ask(page, "Later")
    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("word")
    page.locator(".o_ai_chat_close").click()
    notice = page.locator(".o_notification", has_text="replied in “Later”")
    expect(notice).to_be_visible()
    expect(page.locator(".o_ai_chat_unseen")).to_have_text("1")
    notice.get_by_role("button", name="Open").click()
    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("word")
    expect(page.locator(".o_ai_chat_unseen")).to_have_count(0)


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_axe_finds_nothing(odoo, scripted_llm, page_of, look):
    answer = (
        "# Title\n\nText, a [link](https://example.com).\n\n| a | b |\n|-|-|\n| 1 | 2 |\n\n"
        "```python\nif x:  # why\n    f('s', 1)\n```"
    )
    scripted_llm.script(
        first("Please look", calls(("everything__get-tiny-image", {}))),
        then("Please look", {"content": answer}),
    )
    size = {"width": 375, "height": 720} if look == "phone" else {"width": 1280, "height": 800}
    page = page_of(odoo, "user", viewport=size)
    if look == "dark":
        page.context.add_cookies([{**DARK, "url": odoo.url}])
    page.goto("/my/ai")
    expect(page.locator(".o_ai_chat_input")).to_be_enabled()
    assert axe.violations(page, ".o_ai_chat") == []
    ask(page, "Please look")
    answered(page)
    page.locator(".o_ai_chat_tool_head").click()
    expect(page.locator(".o_ai_chat_code .token").first).to_be_visible()
    if look == "phone":
        page.get_by_role("button", name="Conversations").click()
    assert axe.violations(page, ".o_ai_chat") == []
