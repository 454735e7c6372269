"""The chat, Discuss and the backend in Traditional Chinese, in the dark."""

import languages
import pytest
from chat import calls, first, then
from dark import darken
from playwright.sync_api import expect

TAIPEI = ("time__get_current_time", {"timezone": "Asia/Taipei"})


@pytest.fixture(scope="module")
def chinese(odoo):
    """The shared Odoo with Traditional Chinese for two users."""
    languages.install(odoo, "zh_TW")
    users = odoo.rpc("res.users", "search", [("login", "in", ("demo", "user"))])
    odoo.rpc("res.users", "write", users, {"lang": "zh_TW"})
    odoo.forget_sessions()  # they know the language of before
    yield odoo
    odoo.rpc("res.users", "write", users, {"lang": "en_US"})
    odoo.forget_sessions()


@pytest.mark.parametrize(
    ("login", "path"), [("demo", "/odoo/ai-chat"), ("user", "/my/ai")], ids=["backend", "portal"]
)
def test_the_chat(chinese, scripted_llm, page_of, login, path):
    scripted_llm.script(
        first("現在幾點", calls(TAIPEI)), then("現在幾點", {"content": "現在是下午茶時間。"})
    )
    page = page_of(chinese, login, color_scheme="dark")
    darken(page, chinese.url)
    page.goto(path)
    expect(page.locator(".o_ai_chat_new")).to_have_text("新對話")
    # What the server says is in the page's language, not in that of the browser.
    expect(page.locator(".o_ai_chat_start")).to_contain_text("示範助理")
    page.locator(".o_ai_chat_input").fill("現在幾點")
    page.keyboard.press("Enter")
    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("現在是下午茶時間。")
    expect(page.locator(".o_ai_chat_usage")).to_contain_text("1 次工具呼叫")
    dark = page.evaluate(
        "() => { const rgb = getComputedStyle(document.querySelector('.o_ai_chat'))"
        ".backgroundColor.match(/[\\d.]+/g).map(Number);"
        " return rgb.slice(0, 3).every((part) => part < 110); }"
    )
    assert dark


@pytest.mark.parametrize(
    ("group", "path"), [("user", "/odoo/ai-chat"), ("portal", "/my/ai")], ids=["backend", "portal"]
)
def test_the_first_chat_asks_which_language(chinese, page_of, group, path):
    login = f"newcomer_{group}"
    [found] = chinese.rpc(
        "ir.model.data",
        "search_read",
        [("module", "=", "base"), ("name", "=", f"group_{group}")],
        ["res_id"],
    )
    values = {"name": login, "login": login, "password": login, "lang": "en_US"}
    chinese.rpc("res.users", "create", [{**values, "group_ids": [(6, 0, [found["res_id"]])]}])
    page = page_of(chinese, login)
    page.goto(path)
    page.get_by_role("button", name="繁體中文").click()
    expect(page.locator(".o_ai_chat_new")).to_have_text("新對話")
    page.goto(path)
    chosen = page.get_by_role("button", name="繁體中文")
    expect(chosen).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="English (US)").click()
    expect(page.locator(".o_ai_chat_new")).to_have_text("New chat")


def test_discuss(chinese, scripted_llm, page_of):
    scripted_llm.script(
        first("幾點了", calls(TAIPEI)), then("幾點了", {"content": "下午茶時間到了。"})
    )
    page = page_of(chinese, "demo")
    chat = page.context.request.post(
        f"{chinese.url}/api/ai/conversations",
        data={"assistant_id": 1},
        headers={"Content-Type": "application/json"},
    ).json()
    page.goto(f"/odoo/discuss?active_id=discuss.channel_{chat['id']}")
    expect(page.locator(".o_ai_chat_category")).to_contain_text("AI 助理")
    page.locator(".o-mail-Composer-input").first.fill("幾點了")
    page.keyboard.press("Enter")
    answer = page.locator(".o-mail-Message", has_text="下午茶時間到了。")
    expect(answer.locator(".o_ai_call_summary")).to_contain_text("使用的工具")
