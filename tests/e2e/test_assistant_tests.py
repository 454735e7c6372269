"""Tests of an assistant in a real browser: made of an answer, run, and failed by a worse version; no call is real."""

import axe
from chat import Chat, calls, first, then
from conftest import E2E_LOGS, TOOLS
from counter import count
from playwright.sync_api import expect
from waiting import eventually

TESTS = "woow_paas_platform.assistant_test"
RUNS = "woow_paas_platform.assistant_test_run"
TURNS = "woow_paas_platform.ai_turn"
ASKED = "Count the boxes of hall 7"
ANSWER = "There are 12 boxes."


def test_a_worse_version_fails_the_test_of_an_answer(odoo, scripted_llm, counter, page_of, request):
    server = counter.register(odoo)
    request.addfinalizer(lambda: odoo.rpc("woow_paas_platform.mcp_server", "unlink", [server]))
    chat = Chat(odoo, client=odoo.session("admin"))
    request.addfinalizer(lambda: chat.http.delete(f"/api/ai/conversations/{chat.id}"))
    scripted_llm.script(
        first(ASKED, calls(count("hall_7"))),
        then(ASKED, {"content": ANSWER}),
    )
    assistant = chat.json("GET", "/api/ai/assistants")["assistants"][0]["id"]
    chat.ask(ASKED).events()
    assert counter.executions("hall_7") == 1
    (turn,) = odoo.rpc(TURNS, "search", [("prompt", "=", ASKED)])

    page = page_of(odoo, "admin", viewport={"width": 1440, "height": 900})
    page.goto(f"/odoo/ai-turns/{turn}")
    page.get_by_role("button", name="Add to Tests").click()
    form = page.locator(".o_form_view")
    expect(form.locator("[name='questions'] textarea")).to_have_value(ASKED)
    page.get_by_role("row", name="Tool is called count").click()
    page.get_by_role("button", name="Discard").click()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(form.locator(".o_woow_test_comparison")).to_contain_text("Passed")
    expect(form.locator("[name='progress']")).to_contain_text("100")
    assert axe.violations(page, ".o_woow_test_comparison") == []
    page.screenshot(path=E2E_LOGS / "test-run-passed.png")

    (tool,) = odoo.rpc(TOOLS, "search", [("name", "=", "count"), ("server_id", "=", server)])
    odoo.rpc("ai.assistant", "write", [assistant], {"mcp_tool_disabled_ids": [[4, tool]]})
    (test,) = odoo.rpc(TESTS, "search", [("turn_id", "=", turn)])
    page.goto(f"/odoo/ai-tests/{test}")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(form.locator(".o_woow_test_comparison")).to_contain_text("Failed")
    expect(form.locator("[name='result_ids']")).to_contain_text("The tool “count” was not called.")
    page.screenshot(path=E2E_LOGS / "test-run-failed.png")

    runs = odoo.rpc(RUNS, "search_read", [("assistant_id", "=", assistant)], ["version_ids"])
    versions = [version for run in runs for version in run["version_ids"]]
    (both,) = odoo.rpc(
        RUNS, "create", [{"assistant_id": assistant, "version_ids": versions, "test_ids": [test]}]
    )
    odoo.rpc(RUNS, "action_start", [both])
    done = [("id", "=", both), ("state", "=", "done")]
    eventually(lambda: odoo.rpc(RUNS, "search", done))
    page.goto(f"/odoo/ai-test-runs/{both}")
    cells = form.locator(".o_woow_test_comparison tbody td")
    expect(cells.nth(1)).to_contain_text("Passed")
    expect(cells.nth(2)).to_contain_text("Failed")
    page.screenshot(path=E2E_LOGS / "test-run-both.png")
    assert counter.executions("hall_7") == 1
    odoo.rpc(TESTS, "unlink", [test])
