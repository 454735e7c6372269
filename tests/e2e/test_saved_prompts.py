"""Prompts that people keep: written in the AI settings, typed as `/name` in a chat."""

import axe
import pytest
from chat import first
from playwright.sync_api import expect


@pytest.mark.parametrize("width", [1440, 390])
def test_a_prompt_is_kept_and_used(odoo, scripted_llm, page_of, width):
    scripted_llm.script(first(f"Greet Ann {width}", {"content": "Dear Ann."}))
    page = page_of(odoo, "user", viewport={"width": width, "height": 844}, has_touch=width < 500)
    name = f"greet-{width}"
    page.goto("/my/ai/prompts")
    page.get_by_role("button", name="Add a prompt").press("Enter")
    form = page.locator(".o_woow_prompt_form")
    expect(form.get_by_label("Name")).to_be_focused()
    form.get_by_label("Name").fill("two words")
    form.get_by_label("Text").fill("Greet {customer} of {the order no}.")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert")).to_contain_text("no blanks")
    form.get_by_label("Name").fill(name)
    assert axe.violations(page, ".o_woow_prompts") == []
    form.get_by_role("button", name="Save").press("Enter")
    prompt = page.locator(".o_woow_prompt", has_text=f"/{name}")
    prompt.get_by_role("button", name=f"Edit “/{name}”").click()
    form.get_by_label("Text").fill(f"Greet {{customer}} {width}")
    form.get_by_role("button", name="Save").click()
    expect(prompt).to_contain_text(f"Greet {{customer}} {width}")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.reload()
        expect(prompt).to_be_visible()
        assert axe.violations(page, ".o_woow_prompts") == []

    page.goto("/my/ai")
    message = page.locator(".o_ai_chat_input")
    message.press_sequentially(f"/{name[:7]}")
    page.get_by_role("option", name=f"/{name}").click()
    field = page.get_by_role("combobox", name="customer")
    expect(field).to_be_focused()
    assert axe.violations(page, ".o_ai_chat") == []
    field.fill("Ann")
    page.get_by_role("button", name="Use this prompt").click()
    expect(message).to_have_value(f"Greet Ann {width}")  # to be read before it is sent
    page.locator(".o_ai_chat_send").click()
    expect(page.get_by_text("Dear Ann.")).to_be_visible()

    page.get_by_role("button", name="Save as prompt").press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Text")).to_have_value(f"Greet Ann {width}")
    dialog.get_by_label("Name").fill(f"ann-{width}")
    assert axe.violations(page, ".o_dialog") == []
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    message.press_sequentially("/ann")
    page.get_by_role("option", name=f"/ann-{width}").click()
    expect(message).to_have_value(f"Greet Ann {width}")

    page.goto("/my/ai/prompts")
    prompt.get_by_role("button", name=f"Delete “/{name}”").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(prompt).to_have_count(0)
