"""Action recall in real processes: server-everything, an HTTP service with an OpenAPI document, a browser."""

import contextlib
import re
import threading
from collections.abc import Iterator

import pytest
from chat import Chat, calls, first, of, then
from fake_api import FakeApi
from playwright.sync_api import TimeoutError as PageTimeout
from playwright.sync_api import expect
from waiting import eventually

TOOLBOX = "woow_paas_platform.toolbox"
RETRIEVAL = "/api/agent-retrieval/in/v1"
ACCOUNT = {"x-account-id": "acc-1", "x-account-type": "user"}

SET_UP = """
server = env.ref("woow_paas_platform.mcp_server_demo_everything")
tool = env["woow_paas_platform.mcp_tool"].search(
    [("server_id", "=", server.id), ("name", "=", "get-sum")])
box = env["woow_paas_platform.toolbox"].browse(%(box)s)
operations = {operation.name: operation for operation in box.operation_ids}
network = env["woow_paas_platform.knowledge_network"].create({"name": "Customers", "kn_id": "kn"})
partner = env["res.partner"].create({"name": "Ada Lovelace", "email": "ada@example.com"})
common = {"network_id": network.id, "model_id": env["ir.model"]._get("res.partner").id}
env["woow_paas_platform.action_type"].create([
    {**common, "name": "Price of the customer", "at_id": "at-sum", "tool_id": tool.id,
     "parameter_ids": [(0, 0, {"name": "a", "source": "field", "field_path": "id"}),
                       (0, 0, {"name": "b", "description": "What is added"})]},
    {**common, "name": "Orders of the customer", "at_id": "at-orders", "source": "tool",
     "operation_id": operations["listOrders"].id,
     "parameter_ids": [(0, 0, {"location": "path", "name": "customer_id",
                               "source": "field", "field_path": "id"})]},
])
result = {"partner": partner.id, "mcp_id": server.mcp_id, "box_id": box.box_id,
          "operations": sorted(operations), "base_url": box.base_url}
"""


@pytest.fixture(scope="module")
def api() -> Iterator[FakeApi]:
    with FakeApi(key="k-1") as running:
        yield running


@pytest.fixture(scope="module")
def facts(odoo, api):
    """Two actions on contacts, and the contact; the document is read over HTTP by the real loop."""
    box = {"name": "orders", "document_url": api.document_url}
    key = {"credential_type": "header", "credential_name": "X-API-Key", "credential": "k-1"}
    (box_id,) = odoo.rpc(TOOLBOX, "create", [box | key])
    odoo.rpc(TOOLBOX, "action_import", [box_id])
    eventually(lambda: odoo.rpc(TOOLBOX, "read", [box_id], ["last_import"])[0]["last_import"])
    found = odoo.shell(SET_UP % {"box": box_id})
    assert found["operations"] == ["addNote", "listOrders", "stock", "upload"]
    assert found["base_url"] == f"{api.url}/v1"
    return found


def recall(http, facts, at_id):
    answer = http.post(
        f"{RETRIEVAL}/kn/get_action_info",
        params={"kn_id": "kn", "at_id": at_id},
        json={"unique_identity": {"id": facts["partner"]}},
        headers=ACCOUNT,
    )
    assert answer.status_code == 200, answer.text
    (tool,) = answer.json()["_dynamic_tools"]
    return tool


def test_recall_then_call_through_the_proxy_with_an_api_key(odoo, facts):
    """The sequence of document 002, 4.1."""
    with odoo.bearer("admin") as http:
        tool = recall(http, facts, "at-sum")
        assert tool["fixed_params"] == {"a": facts["partner"]}
        path = f"{RETRIEVAL}/mcp/proxy/{facts['mcp_id']}/tools/get-sum/call"
        assert tool["api_url"].endswith(path)
        answer = http.post(path, json={"b": 1, **tool["fixed_params"]})
    assert answer.status_code == 200
    assert answer.json()["content"][0]["type"] == "text"
    assert str(facts["partner"] + 1) in answer.json()["content"][0]["text"]
    row = odoo.sql(
        "SELECT outcome, turn_id IS NULL, duration_ms IS NOT NULL FROM woow_paas_platform_tool_call"
        " WHERE call_id LIKE 'direct_%' ORDER BY id DESC LIMIT 1"
    )
    assert row.strip() == "ok|t|t"


def test_an_operation_runs_against_the_service(odoo, facts, api):
    http = odoo.session("admin")
    tool = recall(http, facts, "at-orders")
    path = f"{RETRIEVAL}/tool/proxy/{facts['box_id']}/tools/listOrders/call"
    answer = http.post(path, json={**tool["fixed_params"], "query": {"limit": 1}}).json()
    assert answer["status_code"] == 200
    assert answer["structuredContent"]["orders"][0]["customer"] == str(facts["partner"])
    assert api.requests[-1][2]["x-account-id"] == "acc-1"


def test_no_cursor_is_held_while_a_direct_call_waits(each_odoo, counter):
    """Two calls side by side, for as long as it takes to look: PostgreSQL sees no transaction of Odoo that idles."""
    odoo = each_odoo
    server = counter.register(odoo)
    row = f"SELECT mcp_id FROM woow_paas_platform_mcp_server WHERE id = {server}"
    path = f"{RETRIEVAL}/mcp/proxy/{odoo.sql(row).strip()}/tools/count/call"
    # Clients' calls of other tests may wait for their users for an hour.
    waiting = f"SELECT COUNT(*) FROM woow_paas_platform_tool_call WHERE server_id = {server} AND outcome IS NULL"
    held = (
        f"SELECT ({waiting}), COUNT(*) FROM pg_stat_activity WHERE datname = '{odoo.db}'"
        " AND state LIKE 'idle in transaction%'"
    )
    answers, seen = [], []

    def call(http, name):
        with contextlib.closing(http):
            body = {"id": name, "until": f"{odoo.db}.go"}
            answers.append(http.post(path, json=body).status_code)

    def look():
        seen.append(odoo.sql(held).strip())
        return seen[-1] == "2|0"

    threads = [
        threading.Thread(target=call, args=(odoo.login("admin"), f"{odoo.db}{number}"))
        for number in range(2)
    ]
    try:
        for thread in threads:
            thread.start()
        eventually(look, lambda: f"open calls | idle transactions: {seen[-20:]}, {answers}")
    finally:
        counter.release(f"{odoo.db}.go")
        for thread in threads:
            thread.join()
        odoo.rpc("woow_paas_platform.mcp_server", "unlink", [server])
    assert answers == [200, 200]


def test_the_model_calls_with_the_records_values_that_nobody_typed(odoo, facts, scripted_llm, api):
    scripted_llm.script(
        first(
            "Which orders?",
            calls(("record__listOrders", {"query": {"limit": 1}, "path": {"customer_id": 666}})),
        ),
        then("Which orders?", {"content": "One order."}),
    )
    chat = Chat(odoo, login="admin", res_model="res.partner", res_id=facts["partner"])
    events = chat.ask("Which orders?").events()
    (call,), (result,) = of(events, "tool_call"), of(events, "tool_result")
    assert call["args"] == {"query": {"limit": 1}, "path": {"customer_id": facts["partner"]}}
    assert call["fixed"] == ["path.customer_id"]
    assert (call["server"], call["title"]) == ("orders", "Orders of the customer")
    assert result["outcome"] == "ok"
    assert f"SO-{facts['partner']}-1" in str(result["result"])
    offered = scripted_llm.requests()[0]["body"]["tools"]
    (tool,) = [t for t in offered if t["function"]["name"] == "record__listOrders"]
    assert sorted(tool["function"]["parameters"]["properties"]) == ["header", "query"]
    kept = chat.page()["messages"][-1]["turn"]["tool_calls"][0]
    assert (kept["args"], kept["fixed"]) == (call["args"], call["fixed"])


def test_from_the_form_of_a_customer_to_the_answer(odoo, facts, scripted_llm, page_of):
    scripted_llm.script(
        first("What does this customer cost?", calls(("record__get-sum", {"b": 1}))),
        then("What does this customer cost?", {"content": "That is the price."}),
    )
    page = page_of(odoo, "admin")
    page.goto(f"/odoo/res.partner/{facts['partner']}")
    expect(page.locator(".o_breadcrumb")).to_contain_text("Ada Lovelace")
    item = page.get_by_role("menuitem", name=re.compile("Chat with an Assistant"))

    def opened():  # what is still loading beside it closes the menu again
        if not page.locator(".o-dropdown--menu").count():
            page.locator(".o_cp_action_menus button").first.click()
        with contextlib.suppress(PageTimeout):  # a second click meanwhile would close it
            item.wait_for(timeout=5_000)
        return item.is_visible()

    eventually(opened, seen=lambda: page.locator(".o-dropdown--menu").all_inner_texts())
    item.click()
    expect(page.locator(".o_ai_chat_about")).to_contain_text("Ada Lovelace")
    page.locator(".o_ai_chat_input").fill("What does this customer cost?")
    page.keyboard.press("Enter")
    card = page.locator(".o_ai_chat_tool")
    expect(card).to_have_attribute("data-outcome", "ok")
    expect(page.locator(".o_ai_chat_context")).to_contain_text("Ada Lovelace")
    card.get_by_role("button").first.click()
    expect(card.locator(".o_ai_chat_tool_args")).to_contain_text(f'"a": {facts["partner"]}')
    expect(card.locator(".o_ai_chat_tool_fixed")).to_have_text(
        re.compile(r"Filled in from the record:\s*a\s*$")
    )
    expect(card.locator(".o_ai_chat_tool_result")).to_contain_text(str(facts["partner"] + 1))
    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("That is the price.")
