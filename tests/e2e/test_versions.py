"""Versions of an assistant in the backend: saved, compared, restored."""

import axe
import pytest
from playwright.sync_api import expect

ASSISTANTS = "/odoo/action-woow_paas_platform.ai_assistant_action"
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture
def assistant(odoo):
    (provider,) = odoo.rpc("ai.config", "search", [("name", "=", "Demo Model")])
    values = {"name": "Versioned", "config_id": provider, "system_prompt": "Be kind.\nBe brief."}
    made = odoo.rpc("ai.assistant", "create", values)
    yield made
    odoo.rpc("ai.assistant", "unlink", [made])


def test_a_change_is_compared_and_taken_back(odoo, assistant, page_of):
    page = page_of(odoo, "admin", viewport=WIDE)
    page.goto(f"{ASSISTANTS}/{assistant}")
    page.locator("div[name=system_prompt] textarea").fill("Be kind.\nBe <i>exact</i>.")
    page.locator("div[name=version_note] input").fill("Too short")
    page.locator(".o_form_button_save").click()
    expect(page.locator(".o_form_saved")).to_have_count(1)
    expect(page.locator("div[name=version_note] input")).to_have_value("")

    page.reload()
    page.locator("button[name=action_view_versions]").click()
    rows = page.locator(".o_data_row")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("Too short")
    rows.first.click()
    told = page.locator("div[name=difference]")
    expect(told.locator("del")).to_have_text("− Be brief.")
    expect(told.locator("ins")).to_have_text("+ Be <i>exact</i>.")
    expect(page.get_by_role("button", name="Restore")).to_have_count(0)
    for size in (WIDE, PHONE):
        page.set_viewport_size(size)
        assert axe.violations(page, "div[name=difference]") == []
        assert told.evaluate("shown => shown.scrollWidth <= innerWidth")
    page.set_viewport_size(WIDE)

    page.go_back()
    rows.last.click()
    expect(page.get_by_role("heading", name="Version 1")).to_be_visible()
    page.get_by_role("button", name="Restore").click()
    page.locator(".modal").get_by_role("button", name="Ok").click()
    expect(page.locator(".o_notification", has_text="Version 1 restored")).to_be_visible()
    prompt = page.locator("div[name=system_prompt] textarea")
    expect(prompt).to_have_value("Be kind.\nBe brief.")
    versions = "woow_paas_platform.assistant_version"
    (latest,) = odoo.rpc(
        versions, "search_read", [("assistant_id", "=", assistant)], ["note"], limit=1
    )
    assert latest["note"] == "Restored version 1"
