"""The chat on the page of a cloud service: its own conversations, its own tools, an address that lasts."""

import re

import axe
import pytest
from chat import Chat, calls, first, then
from playwright.sync_api import expect

SERVER = "woow_paas_platform.mcp_server"
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}


@pytest.fixture
def service(odoo, mcp_everything):
    """The demo's cloud service, with an MCP server of its own."""
    [service] = odoo.rpc("woow_paas_platform.cloud_service", "search", [])
    values = {"name": "flows", "url": mcp_everything.url, "scope": "user", "trust_level": "full"}
    values["cloud_service_id"] = service
    [server] = odoo.rpc(SERVER, "create", [values], context={"woow_no_sync": True})
    odoo.sync_tools(server)
    yield service
    odoo.rpc(SERVER, "unlink", [server])


def ask(page, text, answer):
    page.locator(".o_ai_chat_input").fill(text)
    page.locator(".o_ai_chat_send").click()
    expect(page.locator(".o_ai_chat_message_assistant").last).to_contain_text(answer)


def test_a_service_has_its_own_chat(odoo, service, page_of, scripted_llm):
    scripted_llm.script(
        first("Run the flow", calls(("flows__echo", {"message": "from the flow"}))),
        then("Run the flow", {"content": "The flow ran."}),
        first("Elsewhere", {"content": "In general."}),
    )
    general = Chat(odoo)
    general.ask("Elsewhere").events()
    page = page_of(odoo, "user")
    page.goto("/my/services")
    page.get_by_role("link", name="n8n Automation").click()
    page.get_by_role("link", name="Chat", exact=True).click()
    expect(page.locator(".o_ai_chat_about")).to_contain_text("n8n Automation")
    expect(page.locator(".o_ai_chat_service")).to_have_count(0)
    ask(page, "Run the flow", "The flow ran.")
    assert "Echo: from the flow" in str(scripted_llm.requests()[-1]["body"]["messages"])

    expect(page).to_have_url(re.compile(rf"/my/services/{service}/chat/\d+$"))
    conversation = page.locator(".o_ai_chat_conversation.active")
    shown = conversation.get_attribute("data-conversation-id")
    page.reload()
    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("The flow ran.")
    expect(conversation).to_have_attribute("data-conversation-id", shown)
    listed = page.locator(".o_ai_chat_conversation").evaluate_all(
        "all => all.map(one => Number(one.dataset.conversationId))"
    )
    assert general.id not in listed
    page.go_back()
    expect(page.get_by_role("link", name="Overview")).to_have_attribute("aria-current", "page")
    page.go_forward()
    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("The flow ran.")


@pytest.mark.parametrize("look", ["light", "dark"])
def test_on_a_phone(odoo, service, page_of, scripted_llm, look):
    scripted_llm.script(first("small", {"content": "Fits."}))
    page = page_of(odoo, "owner", **PHONE)
    page.context.add_cookies([{"name": "color_scheme", "value": look, "url": odoo.url}])
    page.goto(f"/my/services/{service}/chat")
    expect(page.locator(".o_ai_chat_about")).to_be_visible()
    assert axe.violations(page, "main") == []
    ask(page, "small", "Fits.")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.evaluate("document.documentElement.scrollHeight <= window.innerHeight")
    assert axe.violations(page, "main") == []
