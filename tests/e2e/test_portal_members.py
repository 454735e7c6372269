"""The owner of a workspace and its members, on a phone."""

import axe
from playwright.sync_api import expect

PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True}
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def test_an_owner_adds_and_removes_a_member(odoo, page_of):
    page = page_of(odoo, "owner", **PHONE)
    page.goto("/my/services")
    page.get_by_role("link", name="n8n Automation").click()
    members = page.locator(".o_woow_members li")
    expect(members).to_have_count(2)
    address = page.get_by_label("Add a member by email address")
    address.fill("nobody@example.com")
    page.get_by_role("button", name="Add member").click()
    expect(page.get_by_role("alert")).to_contain_text("No user of your company")
    expect(address).to_have_value("nobody@example.com")
    assert axe.violations(page, "main") == []
    address.fill("colleague@example.com")
    page.keyboard.press("Enter")
    expect(members).to_have_count(3)
    assert page.evaluate(OVERFLOW) <= 0
    assert axe.violations(page, "main") == []

    theirs = page_of(odoo, "colleague", **PHONE)
    theirs.goto("/my/services")
    theirs.get_by_role("link", name="n8n Automation").click()
    expect(theirs.locator(".o_woow_members")).to_contain_text("Olivia Owner")
    expect(theirs.locator(".o_woow_remove_member")).to_have_count(0)

    page.locator("summary[aria-label='Remove Carl Colleague']").click()
    expect(members).to_have_count(3)  # a question first
    page.locator("details[open]").get_by_role("button", name="Remove member").click()
    expect(page.locator(".o_woow_removed")).to_be_visible()
    expect(members).to_have_count(2)
    page.reload()
    expect(members).to_have_count(2)
    expect(page.locator(".o_woow_removed")).to_have_count(0)  # said once
    theirs.reload()
    expect(theirs.locator(".o_woow_gone")).to_be_visible()
