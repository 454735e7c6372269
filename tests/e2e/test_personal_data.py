"""Export of one's own data in the portal, and erasure by an administrator."""

import io
import re
import zipfile

import axe
from chat import first
from conftest import E2E_LOGS
from playwright.sync_api import expect
from waiting import eventually

MARK = "Zebrafink"
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def go_dark(page):
    page.context.add_cookies([{"name": "color_scheme", "value": "dark", "url": page.url}])
    page.reload()


def test_a_person_exports_and_an_administrator_erases(odoo, scripted_llm, page_of):
    scripted_llm.script(first(f"What is a {MARK}?", {"content": f"A {MARK} is a bird."}))
    [portal] = odoo.rpc(
        "ir.model.data",
        "search_read",
        [("module", "=", "base"), ("name", "=", "group_portal")],
        ["res_id"],
    )
    values = {"name": "Erica Erased", "login": "erased", "password": "erased", "lang": "en_US"}
    values["group_ids"] = [(6, 0, [portal["res_id"]])]
    [user] = odoo.rpc("res.users", "create", [values])
    page = page_of(odoo, "erased")
    page.goto("/my/ai")
    page.locator(".o_ai_chat_input").fill(f"What is a {MARK}?")
    page.keyboard.press("Enter")
    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("is a bird")

    page.goto("/my/ai/data")
    page.get_by_role("button", name="Prepare my data").click()
    link = page.locator(".o_woow_download")
    eventually(lambda: page.reload() and link.count() == 1)
    page.screenshot(path=E2E_LOGS / "personal-data-1440.png")
    assert axe.violations(page, "main") == []
    go_dark(page)
    assert axe.violations(page, "main") == []
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate(OVERFLOW) <= 0
    page.screenshot(path=E2E_LOGS / "personal-data-390-dark.png")
    with page.expect_download() as download:
        link.click()
    content = download.value.path().read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        texts = [name for name in archive.namelist() if name.endswith(".md")]
        assert any(MARK in archive.read(name).decode() for name in texts)

    admin = page_of(odoo, "admin")
    admin.goto(f"/odoo/action-base.action_res_users/{user}")
    admin.locator(".o_cp_action_menus .dropdown-toggle").first.click()
    admin.get_by_role("menuitem", name="AI: Personal Data").click()
    dialog = admin.get_by_role("dialog")
    expect(dialog.get_by_role("table")).to_contain_text("Deleted")
    assert axe.violations(admin, ".modal-body") == []
    admin.screenshot(path=E2E_LOGS / "personal-data-erasure.png")
    dialog.get_by_role("button", name="Erase").click()
    expect(admin.get_by_text("Enter the login of the person to confirm")).to_be_visible()
    admin.get_by_role("dialog").last.get_by_role("button").last.click()
    dialog.first.get_by_label("Login to Confirm").fill("erased")
    dialog.first.get_by_role("button", name="Erase").click()
    done = [("kind", "=", "erasure"), ("state", "=", "done")]
    eventually(lambda: odoo.rpc("woow_paas_platform.personal_data", "search_count", done) == 1)
    assert (
        odoo.sql(f"SELECT count(*) FROM woow_paas_platform_ai_turn WHERE prompt LIKE '%{MARK}%'")
        == "0"
    )
    page.goto("/my/ai")
    expect(page.locator(".o_ai_chat_input")).to_be_visible()
    expect(page.get_by_text(MARK)).to_have_count(0)
    assert MARK not in odoo.log_text()


def test_the_pages_of_everybodys_own_are_in_the_menu_of_the_user(odoo, page_of):
    page = page_of(odoo, "admin")
    for name, heading in (("My AI Usage", "My usage"), ("My AI Data", "Your data")):
        page.goto("/odoo/ai-overview")
        page.locator(".o_user_menu button").first.click()
        page.get_by_role("menuitem", name=name).click()
        expect(page.get_by_role("link", name=heading, exact=True)).to_have_class(
            re.compile("active")
        )
