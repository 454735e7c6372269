"""The list of decisions in a real browser: in the backend and in the portal, in the light, the dark and on a phone."""

import axe
import pytest
from chat import Chat, calls, first, then
from conftest import E2E_LOGS
from counter import count
from dark import darken
from playwright.sync_api import expect
from test_records import with_partners  # noqa: F401 a fixture
from waiting import eventually

WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
PLACES = {
    "backend": ("demo", "/odoo/ai-decisions", WIDE),
    "backend-phone": ("demo", "/odoo/ai-decisions", PHONE),
    "portal": ("user", "/my/ai/decisions", WIDE),
    "portal-phone": ("user", "/my/ai/decisions", PHONE),
    "backend-dark": ("demo", "/odoo/ai-decisions", WIDE),
    "portal-dark": ("user", "/my/ai/decisions", PHONE),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_turn_that_waits_is_decided_from_the_list(
    careful, scripted_llm, counter, page_of, place, request
):
    login, path, size = PLACES[place]
    names = [f"list-{place}-{letter}" for letter in "abc"]
    scripted_llm.script(
        first("Count all", calls(*map(count, names))),
        then("Count all", {"content": "All is counted."}),
    )
    page = page_of(careful, login, viewport=size)
    if "dark" in place:
        darken(page, careful.url)
    page.goto(path)
    inbox = page.locator(".o_woow_decisions")
    expect(inbox).to_contain_text("Nothing is waiting for you.")
    assert axe.violations(page, ".o_woow_decisions") == []
    page.screenshot(path=E2E_LOGS / f"decisions-empty-{place}.png")

    chat = Chat(careful, client=careful.session(login))
    turn = chat.ask("Count all")
    request.addfinalizer(turn.stop)
    rows = page.locator(".o_woow_decision")
    if login == "user":  # no page of the portal hears of it
        eventually(lambda: turn.state() == "waiting")
        page.reload()
    expect(rows).to_have_count(3)
    if place == "backend":
        expect(page.locator(".o_woow_decisions_systray .badge")).to_have_text("3")
    # once it is open, its values stand in fields
    ids = [rows.filter(has_text=name).get_attribute("data-decision-id") for name in names]
    one, *others = (page.locator(f'[data-decision-id="{row}"]') for row in ids)
    head = one.locator(".o_woow_decision_head")
    head.focus()
    page.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-expanded", "true")
    expect(one.locator(".o_ai_chat_approval")).to_be_visible()
    assert axe.violations(page, ".o_woow_decisions") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    page.screenshot(path=E2E_LOGS / f"decisions-{place}.png", full_page=True)
    one.get_by_role("button", name="Deny").press("Enter")
    expect(rows).to_have_count(2)
    expect(page.locator(".o_woow_decision_head:focus")).to_have_count(1)

    page.get_by_role("button", name="Open all").click()
    for other in others:
        other.get_by_role("checkbox").check()
    together = page.locator(".o_woow_decisions_together")
    expect(together).to_contain_text("2 selected")
    assert axe.violations(page, ".o_woow_decisions") == []
    page.screenshot(path=E2E_LOGS / f"decisions-together-{place}.png", full_page=True)
    together.get_by_role("button", name="Allow once").click()
    expect(inbox).to_contain_text("2 calls are allowed.")
    expect(inbox).to_contain_text("Nothing is waiting for you.")
    assert turn.wait_ended() == "done"
    assert [counter.executions(name) for name in names] == [0, 1, 1]
    if place == "backend":
        expect(page.locator(".o_woow_decisions_systray")).to_have_count(0)


def test_a_change_that_differs_by_then_is_back_in_the_list(
    with_partners,  # noqa: F811
    scripted_llm,
    page_of,
    request,
):
    """The row shows the difference; what was allowed is not what would happen by then, so it is asked about again."""
    odoo = with_partners
    (partner,) = odoo.rpc("res.partner", "create", [{"name": "Zebra Works", "city": "Graz"}])
    request.addfinalizer(lambda: odoo.rpc("res.partner", "unlink", [partner]))
    asked = f"Move contact {partner}"
    moved = {"model": "res.partner", "ids": [partner], "values": {"city": "Linz"}}
    scripted_llm.script(
        first(asked, calls(("update_records", moved))), then(asked, {"content": "It moved."})
    )
    page = page_of(odoo, "admin", viewport=PHONE)
    page.goto("/odoo/ai-decisions")
    chat = Chat(odoo, client=odoo.session("admin"))
    turn = chat.ask(asked)
    request.addfinalizer(turn.stop)
    row = page.locator(".o_woow_decision")
    change = row.locator(".o_woow_decision_changes [data-field=city]")
    expect(change.locator("del")).to_have_text("Graz")
    expect(change.locator("ins")).to_have_text("Linz")
    assert axe.violations(page, ".o_woow_decisions") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.screenshot(path=E2E_LOGS / "decisions-change.png")

    odoo.rpc("res.partner", "write", [partner], {"city": "Wien"})
    row.locator(".o_woow_decision_head").click()
    row.get_by_role("button", name="Allow once").click()
    expect(change.locator("del")).to_have_text("Wien")
    expect(row.locator(".o_woow_decision_before del")).to_have_text("Graz")
    row.locator(".o_woow_decision_head").click()
    expect(row.get_by_role("alert")).to_contain_text("The records have changed")
    before, now = (
        row.locator(f".o_ai_chat_rehearsal_{one}", has_text="Linz") for one in ("before", "now")
    )
    expect(before.locator("del")).to_have_text("Graz")
    expect(now.locator("del")).to_have_text("Wien")
    assert before.bounding_box()["x"] == now.bounding_box()["x"]
    assert axe.violations(page, ".o_woow_decisions") == []
    page.set_viewport_size(WIDE)
    page.screenshot(path=E2E_LOGS / "decisions-changed-wide.png", full_page=True)
    assert before.bounding_box()["y"] == now.bounding_box()["y"]
    page.set_viewport_size(PHONE)
    page.screenshot(path=E2E_LOGS / "decisions-changed.png", full_page=True)
    assert odoo.rpc("res.partner", "read", [partner], ["city"])[0]["city"] == "Wien"
    row.get_by_role("button", name="Allow once").click()
    assert turn.wait_ended() == "done"
    expect(page.locator(".o_woow_decisions")).to_contain_text("Nothing is waiting for you.")
    assert odoo.rpc("res.partner", "read", [partner], ["city"])[0]["city"] == "Linz"
