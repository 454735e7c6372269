"""Tests of an assistant in a real browser: made of an answer, run, and failed by a worse version; no call is real."""

import re

import axe
from chat import Chat, calls, first, then
from conftest import E2E_LOGS, TOOLS
from counter import count
from dark import darken
from playwright.sync_api import expect
from waiting import eventually

TESTS = "woow_paas_platform.assistant_test"
RUNS = "woow_paas_platform.assistant_test_run"
TURNS = "woow_paas_platform.ai_turn"
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
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

    page = page_of(odoo, "admin", viewport=WIDE)
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


def test_one_written_by_hand_is_judged(odoo, scripted_llm, page_of):
    """Each kind of expectation in the form, and what a judge says."""
    asked, rubric = "Who keeps the boxes of hall 8?", "It is kind."
    scripted_llm.script(
        first(rubric, {"content": "FAIL It names nobody kindly."}),
        first(asked, {"content": "Nobody. Ask in 21 days."}),
    )
    (provider,) = odoo.rpc("ai.config", "search_read", [], ["name"], limit=1)
    (assistant,) = odoo.rpc("ai.assistant", "search_read", [], ["name"], limit=1)
    color = odoo.rpc("res.partner", "create", [{"name": "Hall 8", "color": 21}])
    page = page_of(odoo, "admin", viewport=WIDE)
    page.goto("/odoo/ai-tests/new")
    form = page.locator(".o_form_view").first
    form.locator("[name='name'] input").fill("Hall 8")
    choose(page, form, "assistant_id", assistant["name"])
    form.locator("[name='questions'] textarea").fill(asked)
    for kind, values in (
        ("User is asked nothing", {}),
        ("Tokens at most", {"number": "3"}),
        ("Seconds at most", {"number": "600"}),
        ("Tool is not called", {"tool": "count"}),
        ("Answer does not contain", {"text": "somebody"}),
    ):
        form.get_by_role("button", name="Add a line").click()
        dialog = page.locator(".modal")
        dialog.locator("[name='kind'] input").click()
        page.locator(".o_select_menu_item", has_text=kind).click()
        for name, value in values.items():
            dialog.locator(f"[name='{name}'] input").fill(value)
        dialog.get_by_role("button", name="Save & Close").click()
        expect(dialog).to_have_count(0)
    form.get_by_role("tab", name="Judge").click()
    choose(page, form, "judge_id", provider["name"])
    form.locator("[name='rubric'] textarea").fill(rubric)
    form.locator(".o_form_button_save").click()
    expect(page).to_have_url(re.compile(r"/ai-tests/\d+$"))
    test = int(page.url.rsplit("/", 1)[1])
    value = {"kind": "value", "model_id": model_of(odoo, "res.partner"), "field_name": "color"}
    domain = f"[('id', '=', {color[0]})]"
    line = [0, 0, {**value, "domain": domain}]
    odoo.rpc(TESTS, "write", [test], {"expectation_ids": [line]})
    page.reload()
    page.get_by_role("button", name="Run", exact=True).click()
    form = page.locator(".o_form_view")
    expect(form.locator(".o_woow_test_comparison")).to_contain_text("Failed")
    look(page, "judged-run", ".o_woow_test_comparison")
    run = page.url
    form.locator("[name='result_ids'] .o_data_row").click()
    told = page.locator(".modal .o_form_view, .o_form_view:has([name='verdict'])").first
    expect(told.locator("[name='verdict']")).to_contain_text("FAIL It names nobody kindly.")
    reason = told.locator("[name='reason']")
    expect(reason).to_contain_text("more than 3")
    expect(reason).to_contain_text("The judge did not accept the answer")
    expect(reason).not_to_contain_text("value")
    look(page, "judged-result", "[name='verdict']")
    page.goto(f"/odoo/ai-tests/{test}")
    expect(page.locator("[name='expectation_ids'] .o_data_row")).to_have_count(6)
    look(page, "judged-test", "td[name='summary']")
    page.goto("/odoo/ai-tests")
    expect(page.locator(".o_data_row", has_text="Hall 8")).to_be_visible()
    look(page, "list", "td[name='name']")
    darken(page, odoo.url)
    page.set_viewport_size(PHONE)
    for path, inside in (
        (f"/odoo/ai-tests/{test}", "td[name='summary']"),
        (run, ".o_woow_test_comparison"),
        (run, "article.o_kanban_record"),
    ):
        page.goto(path)
        expect(page.locator(inside).first).to_be_visible()
        page.screenshot(path=E2E_LOGS / f"tests-dark-{inside[3:7]}.png", full_page=True)
        assert axe.violations(page, inside) == []
    odoo.rpc(TESTS, "unlink", [test])


def choose(page, form, name, value):
    form.locator(f"[name='{name}'] input").fill(value)
    page.locator(".o-autocomplete--dropdown-item", has_text=value).first.click()


def model_of(odoo, name):
    return odoo.rpc("ir.model", "search", [("model", "=", name)])[0]


def look(page, name, inside):
    """A picture of each width, and no fault of accessibility; the page is never wider than a phone."""
    for size in (PHONE, WIDE):
        page.set_viewport_size(size)
        assert axe.violations(page, inside) == []
        page.wait_for_function("document.scrollingElement.scrollWidth <= innerWidth")
        page.screenshot(path=E2E_LOGS / f"tests-{name}-{size['width']}.png", full_page=True)
