"""Every card that wants a decision, in the chat and in Discuss: read by axe in the light and the dark, then decided."""

import re

import axe
import pytest
from chat import Chat, calls, first, then
from counter import count
from dark import darken, is_dark, lighten
from playwright.sync_api import expect
from test_browser_approval import ask
from test_discuss import open_discuss, say

ORDER = "https://pay.example.com/order?id=1"
WAITING = calls(
    count("cards"),
    ("asks__trigger-elicitation-request", {}),
    ("asks__trigger-url-elicitation", {"url": ORDER, "message": "Please pay."}),
    ("guarded__note", {}),
)


def ask_in_the_chat(page, odoo, text):
    page.goto("/my/ai")
    ask(page, text)


def ask_in_discuss(page, odoo, text):
    open_discuss(page, Chat(odoo, client=odoo.session("demo")).id)
    say(page, text)


@pytest.fixture
def confirmed(careful):
    """The assistant asks whether to go on before its second round; what tools say of themselves is reviewed."""
    careful.shell(
        "for tool in env['woow_paas_platform.mcp_tool'].search([('is_unreviewed', '=', True)]):\n"
        "    tool._decide_definition('accepted', tool.review_hash)"
    )
    assistants = careful.rpc("ai.assistant", "search", [])
    careful.rpc("ai.assistant", "write", assistants, {"confirm_round": 2})
    yield careful
    careful.rpc("ai.assistant", "write", assistants, {"confirm_round": 0})


def is_readable(page, odoo, inside, card):
    """axe finds nothing, neither as the page is nor with the other colours; the cards outlive the reload."""
    assert axe.violations(page, inside) == []
    if is_dark(page.context):
        lighten(page)
    else:
        darken(page, odoo.url)
    page.reload()
    expect(card).to_be_visible()
    assert axe.violations(page, inside) == []
    return True


@pytest.mark.parametrize(
    ("login", "ask_there", "inside"),
    [("user", ask_in_the_chat, ".o_ai_chat"), ("demo", ask_in_discuss, ".o_ai_discuss")],
    ids=["chat", "discuss"],
)
def test_every_card_is_readable_and_decided(
    confirmed,
    trusted,
    registered,
    guarded,
    counter,
    scripted_llm,
    page_of,
    login,
    ask_there,
    inside,
):
    odoo = confirmed
    scripted_llm.script(
        first("Do it all", WAITING), then("Do it all", {"content": "All of it is done."})
    )
    page = page_of(odoo, login)
    ask_there(page, odoo, "Do it all")
    place = page.locator(inside)
    approval = place.locator(".o_ai_chat_approval")
    form, visit, sign_in = (
        place.locator(f".o_ai_chat_question[data-kind={kind}]")
        for kind in ("form", "url", "sign_in")
    )
    expect(visit).to_be_visible()
    assert is_readable(page, odoo, inside, form)
    form.get_by_role("button", name="Send").click()
    expect(form).to_contain_text("Fill in this field.")
    form.locator("[name=name]").fill("Ann")
    form.get_by_role("button", name="Send").click()
    expect(form).to_have_count(0)
    expect(visit.get_by_role("link", name="Open pay.example.com")).to_have_attribute("href", ORDER)
    visit.get_by_role("button", name="I have finished").click()
    expect(visit).to_have_count(0)

    expect(approval).to_be_visible()
    assert is_readable(page, odoo, inside, sign_in)
    with page.expect_popup() as popup:
        sign_in.get_by_role("link", name=re.compile("Sign in to")).press("Enter")
    expect(popup.value.get_by_role("status")).to_contain_text("You are signed in to guarded")
    expect(sign_in).to_have_count(0)
    before = counter.executions("cards")
    approval.get_by_role("button", name="Allow once").click()

    round_card = place.locator(".o_ai_chat_round_card")
    expect(round_card).to_be_visible()
    assert is_readable(page, odoo, inside, round_card)
    assert counter.executions("cards") == before + 1
    round_card.get_by_role("button", name="Continue").click()
    expect(page.get_by_text("All of it is done.").first).to_be_visible()
    expect(place.locator(".o_ai_chat_tool[data-outcome=ok]")).to_have_count(4)
    told = str(scripted_llm.requests()[-1]["body"]["messages"])
    assert "Ann" in told and "noted" in told
