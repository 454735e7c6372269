"""Configuration files and drafts of assistants in the backend, and answers that are reported."""

import json
import uuid

import axe
import pytest
from chat import Chat, first
from playwright.sync_api import expect

ASSISTANTS = "/odoo/action-woow_paas_platform.ai_assistant_action"
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture
def assistant(odoo):
    (provider,) = odoo.rpc("ai.config", "search", [("name", "=", "Demo Model")])
    values = {"name": "Travelling", "config_id": provider, "system_prompt": "Be kind.\nBe brief."}
    made = odoo.rpc("ai.assistant", "create", values)
    yield made
    odoo.rpc("ai.assistant", "unlink", [made])


def preview_of(file, dialog):
    dialog.locator("input[type=file]").set_input_files(file)
    expect(dialog.locator("div[name=file] input[type=text]")).to_have_value(file.name)
    dialog.get_by_role("button", name="Preview").click()


def test_a_file_is_exported_previewed_and_imported(odoo, assistant, page_of, tmp_path):
    page = page_of(odoo, "admin", viewport=WIDE)
    page.goto(ASSISTANTS)
    row = page.locator(".o_data_row", has_text="Travelling")
    row.locator(".o_list_record_selector input").check()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export Configuration").click()
    document = json.loads(download.value.path().read_text())
    (exported,) = document["assistants"]
    assert exported["name"] == {"en_US": "Travelling"}
    exported["system_prompt"] = "Be kind.\nBe <i>exact</i>."
    changed = tmp_path / "configuration.json"
    changed.write_text(json.dumps(document))

    page.goto(ASSISTANTS)
    page.get_by_role("button", name="Import Configuration").click()
    dialog = page.locator(".modal")
    preview_of(changed, dialog)
    preview = dialog.locator("div[name=preview]")
    entry = preview.locator(".o_woow_transfer_entry", has_text="Travelling")
    expect(entry).to_contain_text("Changed")
    expect(entry.locator("del")).to_have_text("− Be brief.")
    expect(entry.locator("ins")).to_have_text("+ Be <i>exact</i>.")
    expect(preview.locator(".o_woow_transfer_entry", has_text="Demo Model")).to_contain_text(
        "Unchanged"
    )
    for size in (PHONE, WIDE):
        page.set_viewport_size(size)
        assert axe.violations(page, "div[name=preview]") == []
    dialog.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator(".o_notification", has_text="0 added, 1 changed")).to_be_visible()
    expect(dialog).to_have_count(0)
    (now,) = odoo.rpc("ai.assistant", "read", [assistant], ["system_prompt"])
    assert now["system_prompt"] == "Be kind.\nBe <i>exact</i>."

    page.get_by_role("button", name="Import Configuration").click()
    changed.write_text("no JSON")
    preview_of(changed, dialog)
    expect(page.locator(".modal", has_text="The file is not valid JSON.")).to_be_visible()


def test_a_draft_is_edited_compared_and_published(odoo, assistant, page_of):
    switch = "woow_paas_platform.drafts"
    odoo.rpc("ir.config_parameter", "set_param", switch, "True")
    page = page_of(odoo, "admin", viewport=WIDE)
    try:
        page.goto(f"{ASSISTANTS}/{assistant}")
        expect(page.locator("div[name=system_prompt] textarea")).to_have_count(0)
        page.get_by_role("button", name="Edit Draft").click()
        expect(page.locator(".alert", has_text="This is a draft.")).to_contain_text("version 1")
        page.locator("div[name=system_prompt] textarea").fill("Be kind.\nBe exact.")
        page.locator("div[name=draft_note] input").fill("Too short")
        page.locator(".o_form_button_save").click()
        told = page.locator("div[name=draft_difference]")
        expect(told.locator("ins")).to_have_text("+ Be exact.")
        (used,) = odoo.rpc("ai.assistant", "read", [assistant], ["system_prompt"])
        assert used["system_prompt"] == "Be kind.\nBe brief."
        for size in (PHONE, WIDE):
            page.set_viewport_size(size)
            assert axe.violations(page, "div[name=draft_difference]") == []
            assert told.evaluate("shown => shown.scrollWidth <= innerWidth")
        page.get_by_role("button", name="Publish", exact=True).click()
        expect(page.locator(".alert", has_text="Users get version")).to_contain_text("2")
        (used,) = odoo.rpc("ai.assistant", "read", [assistant], ["system_prompt", "draft_ids"])
        assert used["system_prompt"] == "Be kind.\nBe exact."
        assert used["draft_ids"] == []

        page.get_by_role("button", name="Edit Draft").click()
        page.get_by_role("button", name="Discard Draft").click()
        page.locator(".modal").get_by_role("button", name="Ok").click()
        expect(page.locator(".alert", has_text="Users get version")).to_contain_text("2")
    finally:
        # A request that reads the parameter while it changes puts the old value into Odoo's cache. The other
        # parameter empties it once more.
        page.close()
        for parameter, value in ((switch, False), ("e2e.drafts_are_off", uuid.uuid4().hex)):
            odoo.rpc("ir.config_parameter", "set_param", parameter, value)


def test_an_answer_is_reported_and_read(odoo, scripted_llm, page_of, request):
    asked = "Weather in Linz, reported?"
    scripted_llm.script(first(asked, {"content": "It is sunny in Linz."}))
    chat = Chat(odoo, client=odoo.session("user"))
    request.addfinalizer(lambda: chat.http.delete(f"/api/ai/conversations/{chat.id}"))
    page = page_of(odoo, "user", viewport=PHONE)
    page.goto(f"/my/ai/{chat.id}")
    page.locator(".o_ai_chat_input").fill(asked)
    page.keyboard.press("Enter")
    page.locator(".o_ai_chat_rating_report").press("Enter")
    form = page.get_by_role("form", name="Report this answer")
    form.get_by_label("What was wrong?").select_option("harmful")
    form.get_by_label("Comment").fill("It snows in Linz.")
    assert axe.violations(page, ".o_ai_chat_thread") == []
    form.get_by_role("button", name="Send").click()
    expect(page.locator(".o_ai_chat_rating_reported")).to_have_text("Reported")

    admin = page_of(odoo, "admin", viewport=WIDE)
    admin.goto("/odoo/ai-ratings")
    admin.get_by_text("It snows in Linz.").click()
    expect(admin.locator("div[name=reported_at]")).to_be_visible()
    admin.get_by_role("button", name="Mark as Read").click()
    expect(admin.locator("div[name=seen_at]")).to_be_visible()
    page.reload()
    expect(page.locator(".o_ai_chat_rating_seen")).to_be_visible()
    expect(page.locator(".o_ai_chat_rating_reported")).to_be_visible()
