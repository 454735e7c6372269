"""Another assistant answers a question once more, in a browser: calls are taken over, answers compared."""

import axe
import pytest
from chat import calls, first, then
from conftest import E2E_LOGS
from playwright.sync_api import expect

CONVERSION = {"source_timezone": "Asia/Taipei", "time": "09:00", "target_timezone": "UTC"}
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def second(odoo):
    (first_one,) = odoo.rpc("ai.assistant", "search", [("name", "=", "Demo Assistant")])
    (made,) = odoo.rpc("ai.assistant", "copy", [first_one], {"name": "Second Opinion"})
    yield made
    odoo.rpc("ai.assistant", "write", [made], {"active": False})


@pytest.mark.parametrize("width", [1440, 390])
def test_another_assistant_answers(odoo, second, scripted_llm, page_of, width):
    question = f"Convert it {width}"
    scripted_llm.script(
        first(question, calls(("time__convert_time", CONVERSION))),
        then(question, {"content": "One o’clock."}),
    )
    page = page_of(odoo, "user", viewport={"width": width, "height": 844}, has_touch=width < 500)
    page.goto("/my/ai")
    page.locator(".o_ai_chat_input").fill(question)
    page.locator(".o_ai_chat_send").click()
    answers = page.locator(".o_ai_chat_message_assistant")
    expect(answers).to_contain_text("One o’clock.")
    earlier = answers.locator(".o_ai_chat_author").inner_text()

    scripted_llm.reset()
    scripted_llm.script(then(question, {"content": "At 01:00 in UTC."}))
    page.get_by_role("button", name="Retry with another assistant").press("Enter")
    expect(page.get_by_role("menuitem").first).to_be_focused()
    assert axe.violations(page, ".o_ai_chat") == []
    page.get_by_role("menuitem", name="Retry with Second Opinion").press("Enter")
    expect(answers).to_contain_text("At 01:00 in UTC.")
    expect(answers.locator(".o_ai_chat_author")).to_have_text("Second Opinion")
    expect(answers.locator(".o_ai_chat_tool")).to_have_count(1)  # taken over, and not made again
    told = scripted_llm.requests()[-1]["body"]["messages"]
    assert [one["role"] for one in told[-3:]] == ["user", "assistant", "tool"]

    page.reload()
    expect(answers.locator(".o_ai_chat_author")).to_have_text("Second Opinion")
    compare = answers.get_by_role("button", name="Side by side").first
    if width < 500:  # one below the other would be no comparison
        expect(compare).to_be_hidden()
        page.get_by_role("button", name="Previous version").click()
        expect(answers).to_contain_text("One o’clock.")
        return
    compare.press("Enter")
    expect(answers.locator(".o_ai_chat_author")).to_have_text([earlier, "Second Opinion"])
    boxes = [answers.nth(number).bounding_box() for number in range(2)]
    assert boxes[0]["y"] == boxes[1]["y"] and boxes[0]["x"] < boxes[1]["x"]
    assert page.evaluate(OVERFLOW) <= 0
    page.screenshot(path=E2E_LOGS / "beside-light.png")
    assert axe.violations(page, ".o_ai_chat") == []
    page.get_by_role("button", name="One at a time").first.click()
    expect(answers).to_have_count(1)
    page.context.add_cookies([{"name": "color_scheme", "value": "dark", "url": page.url}])
    page.reload()
    compare.click()
    expect(answers).to_have_count(2)
    page.screenshot(path=E2E_LOGS / "beside-dark.png")
    assert axe.violations(page, ".o_ai_chat") == []
