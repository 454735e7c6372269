"""A server that wants a sign-in, from the first question to the last sign-out, in a real browser."""

import re

from chat import Chat, calls, first, of, then
from playwright.sync_api import expect
from waiting import eventually

SERVERS = "woow_paas_platform.mcp_server"


def test_an_owner_adds_a_server_that_wants_a_sign_in(odoo, guarded, page_of):
    """It is saved, the owner signs in, and the tools are there; out again, and it waits for the next sign-in."""
    odoo.session("admin")  # whose sign-in tells Odoo its own address
    page = page_of(odoo, "owner")
    page.goto("/my/services")
    page.get_by_role("link", name="n8n Automation").click()
    page.get_by_role("link", name="MCP", exact=True).click()
    page.get_by_role("button", name="Add a server").click()
    page.get_by_label("Address").fill(guarded.url)
    page.get_by_label("Name").fill("notes")
    page.get_by_label("Authorization", exact=True).select_option(
        label="OAuth, one sign-in for everyone"
    )
    page.get_by_role("button", name="Save").click()
    card = page.locator('.o_woow_server[data-server="notes"]')
    try:
        expect(card.locator(".o_woow_server_state")).to_have_text("Sign-in needed")
        with page.expect_popup() as popup:
            card.get_by_role("link", name="Sign in").click()
        expect(popup.value.get_by_role("status")).to_contain_text("You are signed in to notes")
        expect(card.locator('[data-tool="note"]')).to_be_visible()
        expect(card.locator(".o_woow_server_state")).to_have_text("Connected")
        card.get_by_role("button", name="Edit").click()
        card.get_by_text("More", exact=True).click()
        card.get_by_label("Description").fill("What we noted")
        page.keyboard.press("Enter")
        expect(card).to_contain_text("For all chats")
        card.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("dialog")).to_contain_text("No chat can use “notes”")
        page.get_by_role("dialog").get_by_role("button", name="Sign out").click()
        expect(card.locator(".o_woow_server_state")).to_have_text("Sign-in needed")
    finally:
        servers = odoo.rpc(SERVERS, "search", [("name", "=", "notes")])
        odoo.rpc(SERVERS, "unlink", servers)


def test_sign_in_during_a_chat(odoo, guarded, registered, page_of, scripted_llm):
    scripted_llm.script(
        first("note it", calls(("guarded__note", {}))), then("note it", {"content": "Noted."})
    )
    page = page_of(odoo, "user")
    page.goto("/my/ai")
    page.locator(".o_ai_chat_input").fill("note it")
    page.keyboard.press("Enter")
    card = page.get_by_role("group", name="“guarded” requires you to sign in")
    link = card.get_by_role("link", name=re.compile(r"Sign in to 127\.0\.0\.1:\d+"))
    expect(link).to_be_visible()
    assert guarded.executions("noted") == 0
    with page.expect_popup() as popup:
        link.click()
    expect(popup.value.get_by_role("status")).to_contain_text("You are signed in to guarded")
    expect(page.locator(".o_ai_chat_tool")).to_have_attribute("data-outcome", "ok")
    assert guarded.executions("noted") == 1

    another = Chat(odoo, client=odoo.session("user")).ask("note it").events()
    assert not of(another, "input_required")
    assert guarded.executions("noted") == 2

    def given_back():
        return [guarded.executions(kind) for kind in ("refresh_token", "access_token")]

    known = given_back()
    popup.value.locator("summary", has_text="Sign out").click()
    popup.value.get_by_role("button", name="Sign out now").click()
    expect(popup.value.get_by_text("You have not signed in to any server.")).to_be_visible()
    chat = Chat(odoo, client=odoo.session("user"))
    turn = chat.ask("note it")
    question = turn.until("input_required")
    assert (question["kind"], question["choices"]) == ("sign_in", ["decline"])
    answer = {"id": question["id"], "decision": "decline"}
    chat.json("POST", f"/api/ai/turns/{turn.id}/decision", answer)
    (result,) = of(turn.events(), "tool_result")
    assert result["outcome"] == "denied"
    assert guarded.executions("noted") == 2
    eventually(lambda: given_back() == [before + 1 for before in known])
