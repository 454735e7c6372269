"""What servers, models and people say is shown and never run, wherever it is shown."""

import sys
from pathlib import Path

import pytest
from chat import Chat, calls, first, then
from conftest import E2E_LOGS, SERVERS, TOOLS
from evil_server import ASK
from playwright.sync_api import expect
from waiting import eventually
from xss_corpus import PAYLOADS
from xss_trap import Trap

from dev import processes
from services import text

PROGRAM = Path(__file__).with_name("evil_server.py")
HALVES = ((0, 49), (49, 98))  # a server has 50 tools at most, a form 50 fields
CALLS_OF_AN_ANSWER = 16  # calls of one answer
EVIL = PAYLOADS[4]
OPEN_CARDS = """() => document.querySelectorAll(".o_ai_chat_tool_head[aria-expanded=false]").forEach(
    (head) => head.click()
)"""
ASSISTANTS = "ai.assistant"


def seen(said):
    """As it is shown: a line, without what cannot be seen."""
    return " ".join(text.clean(said).split())


@pytest.fixture(scope="module")
def servers(odoo):
    """Two MCP servers that say the whole corpus: the ids of their records, and their aliases by tool."""
    running, ids = [], []
    for start, end in HALVES:
        port = processes.free_port()
        process = processes.start(
            "MCP server evil",
            [sys.executable, PROGRAM, str(port), str(start), str(end)],
            log=E2E_LOGS / f"mcp-evil-{start}.log",
            env=processes.bare_environment(),
        )
        running.append(process)
        process.wait_until(lambda port=port: processes.listens(port), timeout=60)
        values = {
            "name": f"{start}{EVIL}",
            "url": f"http://127.0.0.1:{port}/mcp",
            "description": "\n".join(PAYLOADS),
            "trust_level": "full",
        }
        ids += odoo.rpc(SERVERS, "create", [values], context={"woow_no_sync": True})
        odoo.sync_tools(ids[-1])
    # Each result is foreign words: what is called after it would ask.
    tools = odoo.rpc(TOOLS, "search", [("server_id", "in", ids)])
    odoo.rpc(TOOLS, "write", tools, {"is_exempt": True})
    yield ids
    odoo.rpc(SERVERS, "unlink", ids)
    for process in running:
        process.stop(5)


@pytest.fixture(scope="module")
def assistant(odoo, servers):
    """An assistant with these servers; the first tool asks before it runs."""
    config = odoo.rpc(ASSISTANTS, "search_read", [], ["config_id"])[0]["config_id"][0]
    values = {
        "name": EVIL,
        "system_prompt": "\n".join(PAYLOADS),
        "config_id": config,
        "group_ids": [],
        "mcp_server_ids": [[6, 0, servers]],
    }
    ids = odoo.rpc(ASSISTANTS, "create", [values])
    yield ids[0]
    odoo.rpc(ASSISTANTS, "write", ids, {"active": False})


@pytest.fixture(scope="module")
def aliases(odoo, servers):
    """Payload -> the name under which the model calls the tool of this name."""
    rows = odoo.rpc(TOOLS, "search_read", [("server_id", "in", servers)], ["name", "alias"])
    by_name = {seen(row["name"]): row["alias"] for row in rows}
    return {payload: by_name[seen(payload)] for payload in PAYLOADS}


@pytest.fixture(scope="module")
def conversation(odoo, assistant, aliases, _scripted_llm):
    """Every payload was asked, called, returned and answered; then a call and two servers ask."""
    chat = Chat(odoo, client=odoo.session("demo"), assistant_id=assistant, name=EVIL)
    for start in range(0, len(PAYLOADS), CALLS_OF_AN_ANSWER):
        part, said = f"Part {start}.", PAYLOADS[start : start + CALLS_OF_AN_ANSWER]
        _scripted_llm.script(
            first(part, calls(*((aliases[payload], {payload: payload}) for payload in said))),
            then(part, {"content": "\n\n".join(said)}),
        )
        assert chat.ask("\n".join([part, *said])).wait_ended() == "done"
    asking = odoo.rpc(TOOLS, "search", [("name", "=", PAYLOADS[0])])
    odoo.rpc(TOOLS, "write", asking, {"approval_policy": "ask"})
    asks = odoo.rpc(TOOLS, "search_read", [("name", "=", ASK)], ["alias"])
    odoo.rpc(TOOLS, "write", [tool["id"] for tool in asks], {"approval_policy": "auto"})
    questions = [(tool["alias"], {}) for tool in asks]
    approval = (aliases[PAYLOADS[0]], {payload: payload for payload in PAYLOADS})
    _scripted_llm.script(first("The end.", calls(*questions, approval)))
    turn = chat.ask("The end.")
    eventually(lambda: turn.state() == "waiting")
    return chat


def said_in(locator):
    """Payloads that can be read there."""
    shown = seen(locator.text_content())
    return {payload for payload in PAYLOADS if seen(payload) in shown}


@pytest.mark.parametrize(
    "path", ["/my/ai/{}", "/odoo/ai-chat/{}", "/odoo/discuss?active_id=discuss.channel_{}"]
)
def test_a_conversation_is_text(odoo, conversation, page_of, path):
    page = page_of(odoo, "demo", bypass_csp=True)
    trap = Trap(page)
    page.goto(path.format(conversation.id))
    cards = page.locator(".o_ai_chat_tool")
    expect(cards).to_have_count(len(PAYLOADS) + 3)
    expect(page.locator(".o_ai_chat_question")).to_have_count(2)
    fields = page.locator(".o_ai_chat_approval .form-control")
    expect(fields).to_have_count(len(PAYLOADS))
    page.evaluate(OPEN_CARDS)
    expect(page.locator(".o_ai_chat_tool_args")).to_have_count(len(PAYLOADS) + 1)
    assert trap.sprung() == []
    assert said_in(page.locator(".o_ai_chat_approval")) == set(PAYLOADS)
    asked = (said_in(card) for card in page.locator(".o_ai_chat_question").all())
    assert set().union(*asked) == set(PAYLOADS)
    called = set().union(*(said_in(card) for card in cards.all()))
    assert called == set(PAYLOADS)


def test_an_answer_that_streams_is_text(odoo, assistant, scripted_llm, page_of):
    scripted_llm.script(
        first("Say it all.", {"content": "\n\n".join(PAYLOADS)}, latency=1, chunkSize=40)
    )
    chat = Chat(odoo, client=odoo.session("user"), assistant_id=assistant)
    page = page_of(odoo, "user", bypass_csp=True)
    trap = Trap(page)
    page.goto(f"/my/ai/{chat.id}")
    page.locator(".o_ai_chat_input").fill("\n".join(["Say it all.", *PAYLOADS]))
    page.keyboard.press("Enter")
    turn = page.locator(".o_ai_chat_turn")
    expect(turn).to_have_attribute("data-state", "done")
    expect(page.locator(".o_ai_chat_streaming")).to_have_count(0)  # all of it is laid out
    assert trap.sprung() == []
    assert said_in(page.locator(".o_ai_chat_message_user")) == set(PAYLOADS)
    page.reload()
    expect(turn).to_have_attribute("data-state", "done")
    assert said_in(page.locator(".o_ai_chat_message_user")) == set(PAYLOADS)
    assert len(said_in(turn)) > 66, "raw HTML is to be read; Markdown and entities have a meaning"


def test_what_a_conversation_may_use_is_text(odoo, conversation, page_of):
    """Prompts, their arguments, resources, servers and the titles of other conversations."""
    for payload in PAYLOADS:
        conversation.json("POST", "/api/ai/conversations", {"assistant_id": 1, "name": payload})
    page = page_of(odoo, "demo", bypass_csp=True)
    trap = Trap(page)
    page.goto("/my/ai")
    more = page.get_by_role("button", name="Show more")
    titles = page.locator(".o_ai_chat_conversation")
    expect(titles.first).to_be_visible()
    while more.count():
        before = titles.count()
        more.click()
        eventually(lambda before=before: titles.count() > before)
    assert len(said_in(page.locator(".o_ai_chat_list"))) > 90, "the longest are cut"
    assert trap.sprung() == []

    page.goto(f"/my/ai/{conversation.id}")
    box = page.locator(".o_ai_chat_input")
    box.fill("/")
    offers = page.locator(".o_ai_chat_commands [role=option]")
    eventually(lambda: offers.count() > 50)
    assert said_in(page.locator(".o_ai_chat_commands")) == set(PAYLOADS)
    offers.nth(30).dispatch_event("mousedown")
    expect(page.locator(".o_ai_chat_completed input")).to_be_visible()
    assert trap.sprung() == []
    page.keyboard.press("Escape")
    box.fill("/mcp tools")
    page.keyboard.press("Enter")
    rows = page.locator(".o_ai_chat_command_rows")
    expect(rows).to_be_visible()
    held = {
        one for one in PAYLOADS if set(one) & {"\u200b", "\u202e"}
    }  # such tools wait for a review
    assert said_in(rows) == set(PAYLOADS) - held
    page.get_by_role("button", name="Attach").click()
    page.get_by_role("menuitem", name="From a server…").click()
    picker = page.locator(".o_ai_chat_resources")
    expect(picker.get_by_role("option")).to_have_count(50)
    picker.get_by_role("button", name="Show more").click()
    expect(picker.get_by_role("option")).to_have_count(len(PAYLOADS) + 2)  # a template of each
    assert said_in(picker) == set(PAYLOADS)
    assert trap.sprung() == []


def test_the_backend_shows_text(odoo, servers, assistant, conversation, page_of):
    def newest(model, *domain):
        return odoo.rpc(f"woow_paas_platform.{model}", "search", [*domain], limit=1)[0]

    forms = {
        "mcp_server": servers[0],
        "ai_assistant": assistant,
        "mcp_tool": newest("mcp_tool", ("name", "=", PAYLOADS[-1])),
        "ai_turn": newest("ai_turn", ("state", "=", "waiting")),
        "tool_call": newest("tool_call", ("tool_name", "=", PAYLOADS[-1])),
    }
    page = page_of(odoo, "admin", bypass_csp=True)
    trap = Trap(page)
    for name, record in forms.items():
        page.goto(f"/odoo/action-woow_paas_platform.{name}_action/{record}")
        form = page.locator(".o_form_view")
        expect(form).to_be_visible()
        shown = said_in(form)
        for tab in form.locator(".o_notebook .nav-link:visible").all():
            tab.click()
            shown |= said_in(form)
        assert trap.sprung() == []
        assert shown, name


def test_the_tab_of_a_service_shows_text(odoo, servers, page_of):
    (own,) = odoo.rpc(SERVERS, "read", servers[:1], ["name", "url", "description"])
    service = odoo.rpc("woow_paas_platform.cloud_service", "search", [("name", "ilike", "n8n")])[0]
    values = {**own, "scope": "user", "cloud_service_id": service}
    del values["id"]
    added = odoo.rpc(SERVERS, "create", [values], context={"woow_no_sync": True})
    try:
        odoo.sync_tools(added[0])
        page = page_of(odoo, "owner", bypass_csp=True)
        trap = Trap(page)
        page.goto("/my/services")
        page.get_by_role("link", name="n8n Automation").click()
        page.get_by_role("link", name="MCP", exact=True).click()
        page.locator(".o_woow_server button[aria-expanded=false]").first.click()
        tools = page.locator(".o_woow_tool")
        expect(tools).to_have_count(50)
        page.evaluate("() => document.querySelectorAll('details').forEach((d) => (d.open = true))")
        assert said_in(page.locator(".o_woow_tools")) == set(PAYLOADS[:49])
        assert trap.sprung() == []
        page.get_by_role("button", name="Edit").click()
        assert trap.sprung() == []
    finally:
        odoo.rpc(SERVERS, "unlink", added)
