"""The pictures of README and docs, taken from a real browser: ``make pictures``; they are looked at, not compared."""

import os
import re
from datetime import datetime
from zoneinfo import ZoneInfo

import languages
import pytest
from chat import Chat, calls, first, then
from conftest import CHROMIUM_ARGUMENTS
from counter import count
from PIL import Image
from playwright.sync_api import expect, sync_playwright
from test_recall import api, facts  # noqa: F401 fixtures
from test_records import ACCESS, use_partners

from dev.paths import ROOT
from dev.setup import chromium

IMAGES = ROOT / "docs/images"
SHOP = ROOT / "static/description"
SIZE = {"width": 1280, "height": 800}
TAIPEI = {"timezone": "Asia/Taipei"}
QUESTION = "What time is it in Taipei?"
TIDES = """### The tide in Keelung

It turns at **14:10**. The harbour office publishes [the whole table](https://example.com/tides).

| Time | Height |
|---|---|
| 02:10 | 1.1 m |
| 08:02 | 0.3 m |
| 14:10 | 1.2 m |

- [x] checked today
- [ ] checked tomorrow

```python
from lighthouse import tide

print(tide("Keelung").high)
```
"""


@pytest.fixture(scope="session")
def browser():
    """With a font for Chinese, wherever the pictures are taken."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=chromium.headless(),
            args=CHROMIUM_ARGUMENTS,
            env={**os.environ, "XDG_DATA_HOME": str(chromium.chinese_fonts())},
        )
        yield started
        started.close()


@pytest.fixture
def open_page(odoo, page_of):
    def open_at(login, path, **options):
        page = page_of(odoo, login, viewport=SIZE, **options)
        page.goto(path)
        return page

    return open_at


def ask(page, text):
    page.locator(".o_ai_chat_input").fill(text)
    page.keyboard.press("Enter")


def wait_for_answer(page):
    turn = page.locator(".o_ai_chat_turn").last
    expect(turn).to_have_attribute("data-state", "done")


def open_cards(page):
    for card in page.locator(".o_ai_chat_tool").all():
        head = card.get_by_role("button").first
        if head.get_attribute("aria-expanded") != "true":
            head.click()
        result = card.locator(".o_ai_chat_tool_result, .o_ai_chat_tool_table")
        expect(result.first).to_be_visible()


def take(page, name, folder=IMAGES):
    # A new browser is told once more what others were told a moment ago.
    page.add_style_tag(content=".o_notification_manager { display: none }")
    page.mouse.move(0, 0)
    page.wait_for_function("document.fonts.ready.then(() => true)")
    path = folder / f"{name}.png"
    page.screenshot(path=path, animations="disabled", caret="hide")
    # A page has few colours, and the addon carries its pictures.
    Image.open(path).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
        path, optimize=True
    )


def taipei_time(form):
    """What the tool says, so that no picture contradicts itself."""
    return datetime.now(ZoneInfo(TAIPEI["timezone"])).strftime(form)


def script_time(llm, question=QUESTION):
    llm.script(
        first(question, calls(("time__get_current_time", TAIPEI))),
        then(question, {"content": f"It is **{taipei_time('%-I:%M %p')}** in Taipei."}),
    )


def test_a_first_answer(scripted_llm, open_page):
    script_time(scripted_llm)
    page = open_page("user", "/my/ai")
    ask(page, QUESTION)
    wait_for_answer(page)
    open_cards(page)
    take(page, "chat")
    take(page, "chat", SHOP)


def test_an_action_that_asks(odoo, open_page):
    (partner,) = odoo.rpc("ir.model", "search", [("model", "=", "res.partner")])
    values = {
        "name": "Check new contacts",
        "state": "woow_ask_assistant",
        "model_id": partner,
        "woow_assistant_id": odoo.rpc("ai.assistant", "search", [], limit=1)[0],
        "woow_instruction": "Check the contact {{ object.name }} from {{ object.city }}.\n"
        "Say what is missing, in two sentences.",
    }
    (action,) = odoo.rpc("ir.actions.server", "create", [values])
    page = open_page("admin", f"/odoo/ai-actions/{action}")
    expect(page.locator(".o_form_view")).to_contain_text("Runs As")
    take(page, "admin-automation")
    odoo.rpc("ir.actions.server", "unlink", [action])


def test_two_versions_of_an_assistant(odoo, scripted_llm, open_page):
    assistant = odoo.rpc("ai.assistant", "search", [], limit=1)[0]
    (former,) = odoo.rpc("ai.assistant", "read", [assistant], ["max_rounds", "version_id"])
    tests = [
        {
            "name": f"Weather in {city}",
            "assistant_id": assistant,
            "questions": f"Weather in {city}?",
            "expectation_ids": [[0, 0, {"kind": "contains", "text": "sunny"}]],
        }
        for city in ("Graz", "Linz", "Wien")
    ]
    ids = odoo.rpc("woow_paas_platform.assistant_test", "create", tests)
    odoo.rpc("ai.assistant", "write", [assistant], {"max_rounds": former["max_rounds"] + 1})
    (now,) = odoo.rpc("ai.assistant", "read", [assistant], ["version_id"])
    scripted_llm.script(
        first("Weather in Graz?", {"content": "It is sunny in Graz."}),
        first("Weather in Linz?", {"content": "It is sunny in Linz."}),
        first("Weather in Wien?", {"content": "I do not know."}),
    )
    versions = [one["version_id"][0] for one in (former, now)]
    values = {"assistant_id": assistant, "version_ids": versions, "test_ids": ids}
    (run,) = odoo.rpc("woow_paas_platform.assistant_test_run", "create", [values])
    odoo.rpc("woow_paas_platform.assistant_test_run", "action_start", [run])
    page = open_page("admin", f"/odoo/ai-test-runs/{run}")
    expect(page.locator("[name='progress']")).to_contain_text("100")
    take(page, "admin-test-run")
    page.goto(f"/odoo/ai-tests/{ids[0]}")
    expect(page.locator("[name='expectation_ids'] .o_data_row")).to_have_count(1)
    take(page, "admin-test")
    odoo.rpc("woow_paas_platform.assistant_test", "unlink", ids)


def test_a_draft(odoo, open_page):
    (provider,) = odoo.rpc("ai.config", "search", [("name", "=", "Demo Model")])
    values = {
        "name": "Travel",
        "config_id": provider,
        "system_prompt": "Help with journeys.\nAnswer in two sentences.",
    }
    made = odoo.rpc("ai.assistant", "create", values)
    switch = "woow_paas_platform.drafts"
    odoo.rpc("ir.config_parameter", "set_param", switch, "True")
    page = open_page("admin", f"/odoo/ai-assistants/{made}")
    page.get_by_role("button", name="Edit Draft").click()
    prompt = page.locator("div[name=system_prompt] textarea")
    prompt.fill("Help with journeys.\nAnswer in two sentences, with times of departure.")
    page.locator("div[name=draft_note] input").fill("People asked for times")
    page.locator(".o_form_button_save").click()
    expect(page.locator("div[name=draft_difference] ins")).to_be_visible()
    take(page, "admin-draft")
    page.close()
    odoo.rpc("ir.config_parameter", "set_param", switch, False)
    odoo.rpc("ai.assistant", "unlink", [made])


def test_a_rating(odoo, scripted_llm, open_page):
    script_time(scripted_llm)
    page = open_page("user", "/my/ai")
    ask(page, QUESTION)
    wait_for_answer(page)
    page.locator("[data-rating='bad']").click()
    form = page.get_by_role("form", name="Details of your rating")
    form.get_by_label("What was wrong?").select_option("inaccurate")
    form.get_by_label("Comment").fill("The clock here says something else.")
    form.get_by_role("checkbox", name="Share this question and answer").check()
    form.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Thank you for your feedback.")).to_be_visible()
    admin = open_page("admin", "/odoo/ai-ratings")
    admin.get_by_text("The clock here says").click()
    expect(admin.locator("[name='shared_answer']")).to_be_visible()
    take(admin, "admin-rating")


def test_what_a_user_sees(scripted_llm, open_page):
    question, both = "When is the tide in Keelung?", "Show me a picture and the weather."
    scripted_llm.script(
        first(question, calls(("time__get_current_time", TAIPEI))),
        then(question, {"content": TIDES}),
        first(
            both,
            calls(
                ("everything__get-tiny-image", {}),
                ("everything__get-structured-content", {"location": "New York"}),
            ),
        ),
        then(both, {"content": "A picture, and the weather of **New York**."}),
    )
    page = open_page("user", "/my/ai")
    ask(page, question)
    wait_for_answer(page)
    take(page, "user-answer")
    page.get_by_role("button", name="New chat").click()
    ask(page, both)
    wait_for_answer(page)
    open_cards(page)
    take(page, "user-calls")
    page.context.add_cookies([{"name": "color_scheme", "value": "dark", "url": page.url}])
    page.reload()
    wait_for_answer(page)
    take(page, "user-dark")


def test_a_prompt(open_page):
    page = open_page("user", "/my/ai")
    page.locator(".o_ai_chat_input").fill("/everything:args")
    page.get_by_role("option", name=re.compile("args-prompt")).click()
    page.locator(".o_ai_chat_completed input").first.fill("Keelung")
    take(page, "user-prompt")


def test_a_service(odoo, scripted_llm, open_page):
    question = "Which flow ran last?"
    scripted_llm.script(
        first(question, {"content": "**Weather report**, at 14:05. It ended well."})
    )
    service = odoo.rpc("woow_paas_platform.cloud_service", "search", [], limit=1)[0]
    page = open_page("owner", f"/my/services/{service}/chat")
    ask(page, question)
    wait_for_answer(page)
    take(page, "user-service")
    page.goto(f"/my/services/{service}/mcp")
    expect(page.locator(".o_woow_mcp_servers")).to_be_visible()
    take(page, "portal-mcp")
    page.get_by_role("button", name="From a template").click()
    expect(page.locator(".o_woow_template").first).to_be_visible()
    take(page, "portal-templates")
    take(page, "templates", SHOP)
    admin = open_page("admin", f"/odoo/woow_paas_platform.cloud_service/{service}")
    expect(admin.locator(".o_form_view")).to_be_visible()
    take(admin, "admin-service")


def test_discuss(odoo, scripted_llm, open_page):
    script_time(scripted_llm)
    chat = Chat(odoo, "demo")
    chat.ask(QUESTION).events()
    page = open_page("demo", f"/odoo/discuss?active_id=discuss.channel_{chat.id}")
    expect(page.locator(".o_ai_chat_tool").first).to_be_visible()
    take(page, "discuss")


def test_a_call_that_asks(odoo, careful, scripted_llm, open_page):
    question = "Count one boat."
    scripted_llm.script(first(question, calls(count("boat"))))
    chat = Chat(odoo, "demo")
    turn = chat.ask(question)
    turn.until("approval_required")
    page = open_page("demo", f"/odoo/discuss?active_id=discuss.channel_{chat.id}")
    expect(page.get_by_role("button", name="Allow once").first).to_be_visible()
    take(page, "user-discuss")
    turn.stop()


def test_a_first_question_about_a_tool(odoo, careful, scripted_llm, open_page):
    question = "Count one boat."
    scripted_llm.script(first(question, calls(count("boat"))))
    page = open_page("admin", "/odoo/ai-chat")
    ask(page, question)
    expect(page.get_by_role("button", name="Allow once").first).to_be_visible()
    take(page, "admin-question")
    page.get_by_role("button", name="Stop").first.click()
    expect(page.locator(".o_ai_chat_turn").last).to_have_attribute("data-state", "stopped")


def test_a_sign_in(odoo, guarded, open_page):
    service = odoo.rpc("woow_paas_platform.cloud_service", "search", [], limit=1)[0]
    page = open_page("owner", f"/my/services/{service}/mcp")
    page.get_by_role("button", name="Add a server").click()
    page.get_by_label("Address").fill(guarded.url)
    page.get_by_label("Name").fill("notes")
    authorization = page.get_by_label("Authorization", exact=True)
    authorization.select_option(label="OAuth, one sign-in for everyone")
    page.get_by_role("button", name="Save").click()
    card = page.locator('.o_woow_server[data-server="notes"]')
    expect(card.locator(".o_woow_server_state")).to_have_text("Sign-in needed")
    take(page, "portal-oauth")
    servers = odoo.rpc("woow_paas_platform.mcp_server", "search", [("name", "=", "notes")])
    odoo.rpc("woow_paas_platform.mcp_server", "unlink", servers)


def test_recall(odoo, facts, scripted_llm, open_page):  # noqa: F811
    question = "Which orders does this customer have?"
    scripted_llm.script(
        first(question, calls(("record__listOrders", {"query": {"limit": 2}}))),
        then(question, {"content": "Two, and both are on their way."}),
    )
    page = open_page("admin", f"/odoo/woow_paas_platform.toolbox/{box_of(odoo)}")
    expect(page.get_by_text("listOrders").first).to_be_visible()
    take(page, "recall-toolbox")
    take_form(page, "action_type", odoo, "recall-action", [("at_id", "=", "at-orders")])
    page.get_by_role("button", name="Try It").click()
    page.locator(".modal [name=res_id] input").fill("Ada Lovelace")
    page.locator(".o-autocomplete--dropdown-item", has_text="Ada Lovelace").first.click()
    expect(page.locator(".modal")).to_contain_text("listOrders")
    take(page, "recall-try")
    chat = Chat(odoo, login="admin", res_model="res.partner", res_id=facts["partner"])
    chat.ask(question).events()
    page.goto(f"/odoo/ai-chat/{chat.id}")
    wait_for_answer(page)
    open_cards(page)
    take(page, "recall-chat")


def box_of(odoo):
    return odoo.rpc("woow_paas_platform.toolbox", "search", [("name", "=", "orders")])[0]


def test_the_panel(odoo, scripted_llm, open_page):
    question = "Who is this?"
    scripted_llm.script(first(question, {"content": "A company in Fremont, with four contacts."}))
    partner = odoo.rpc("res.partner", "create", [{"name": "Harbour Office", "is_company": True}])[0]
    page = open_page("admin", f"/odoo/res.partner/{partner}")
    page.locator(".o_ai_chat_systray button, button.o_ai_chat_systray").first.click()
    ask(page, question)
    wait_for_answer(page)
    take(page, "user-panel")


def test_what_an_administrator_sees(odoo, scripted_llm, open_page):
    page = open_page("admin", "/odoo/mcp-servers?view_type=kanban")
    expect(page.locator(".o_kanban_record").first).to_be_visible()
    take(page, "admin-servers")
    take_form(page, "mcp_server", odoo, "admin-server", [("name", "=", "time")])
    page.goto("/odoo/mcp-servers")
    page.get_by_role("button", name="New from Template").click()
    expect(page.locator(".o_woow_template").first).to_be_visible()
    take(page, "admin-template")
    assistant = odoo.rpc("ai.assistant", "search", [], limit=1)[0]
    page.goto(f"/odoo/ai.assistant/{assistant}")
    expect(page.locator(".o_form_view")).to_be_visible()
    take(page, "admin-assistant")
    take(page, "assistant", SHOP)
    page.goto("/odoo/settings#woow_paas_platform")
    expect(page.locator(".o_setting_container")).to_be_visible()
    take(page, "admin-settings")
    script_time(scripted_llm)
    page.goto("/odoo/ai-chat")
    ask(page, QUESTION)
    wait_for_answer(page)
    take(page, "admin-chat")


def test_in_chinese(odoo, scripted_llm, open_page):
    languages.install(odoo, "zh_TW")
    question = "台北現在幾點？"
    scripted_llm.script(
        first(question, calls(("time__get_current_time", TAIPEI))),
        then(question, {"content": f"台北現在是 **{taipei_time('%H:%M')}**。"}),
    )
    page = open_page("stranger", "/my/ai")
    expect(page.locator(".o_ai_chat_languages")).to_be_visible()
    take(page, "user-language")
    page.get_by_role("button", name="繁體中文").click()
    expect(page.locator(".o_ai_chat_new")).to_have_text("新對話")
    ask(page, question)
    wait_for_answer(page)
    open_cards(page)
    take(page, "user-chinese")


def test_records(odoo, scripted_llm, open_page):
    lines = use_partners(odoo, can_update=True)
    azure = odoo.rpc("res.partner", "search", [("name", "=", "Azure Interior")])
    listed = {
        "model": "res.partner",
        "filters": [{"field": "is_company", "value": True}],
        "limit": 5,
    }
    summed = {"model": "res.partner", "group_by": ["country_id"]}
    moved = {"model": "res.partner", "ids": azure, "values": {"city": "Linz", "zip": "4020"}}
    scripted_llm.script(
        first("Which companies", calls(("search_records", listed), ("aggregate_records", summed))),
        then("Which companies", {"content": "These, and most contacts are in the United States."}),
        first("moved to Linz", calls(("update_records", moved))),
        then("moved to Linz", {"content": "It is written down."}),
    )
    page = open_page("admin", "/odoo/ai-chat")
    ask(page, "Which companies do we know, and where?")
    wait_for_answer(page)
    page.wait_for_function("window.Chart?.getChart(document.querySelector('canvas'))")
    take(page, "user-records")
    ask(page, "Azure Interior moved to Linz, 4020.")
    expect(page.locator(".o_ai_chat_rehearsal")).to_be_visible()
    take(page, "user-rehearsal")
    page.goto("/odoo/ai-chat")
    page.locator(".o_ai_chat_input").press_sequentially("Where is @Azure")
    expect(page.get_by_role("option", name="Azure Interior").first).to_be_visible()
    take(page, "user-mention")
    assistant = odoo.rpc("ai.assistant", "search", [], limit=1)[0]
    page.goto(f"/odoo/ai.assistant/{assistant}")
    page.get_by_role("tab", name="Odoo Records").click()
    expect(page.locator("[name=record_access_ids]")).to_be_visible()
    take(page, "admin-records")
    odoo.rpc(ACCESS, "unlink", lines)


def take_form(page, model, odoo, name, domain):
    record = odoo.rpc(f"woow_paas_platform.{model}", "search", domain, limit=1)[0]
    page.goto(f"/odoo/woow_paas_platform.{model}/{record}")
    expect(page.locator(".o_form_view")).to_be_visible()
    take(page, name)


def test_an_orderly_list(odoo, scripted_llm, open_page):
    asked = ("Plan the harbour tour", "Prices of the season", "Greet new guests")
    for text in asked:
        scripted_llm.script(first(text, {"content": "Here it is."}))
        Chat(odoo, name=text).ask(text).events()
    page = open_page("user", "/my/ai")
    page.get_by_role("button", name="New folder").click()
    page.locator(".o_ai_chat_folder_name").fill("Rentals")
    page.keyboard.press("Enter")
    choose(page, "Actions for folder “Rentals”", "Instructions and files")
    dialog = page.locator(".o_ai_chat_folder_dialog")
    dialog.get_by_label("Instructions").fill("Answer briefly. Prices are in euros.")
    prices = {"name": "prices.csv", "mimeType": "text/csv", "buffer": b"room;price\nsea view;120"}
    dialog.locator("input[type=file]").set_input_files([prices])
    expect(dialog.locator("[data-state=kept]")).to_contain_text("prices.csv")
    take(page, "user-folder")
    page.get_by_role("button", name="Save", exact=True).click()
    choose(page, f"Actions for “{asked[0]}”", "Pin")
    page.get_by_role("button", name="Filters").click()
    page.get_by_role("button", name="Select conversations").click()
    for name in asked[1:]:
        page.get_by_role("checkbox", name=name).click()
    take(page, "user-list")


def choose(page, menu, item):
    page.get_by_role("button", name=menu).focus()
    page.keyboard.press("Enter")
    page.get_by_role("menuitem", name=item, exact=True).click()


def test_a_formula_and_a_link(odoo, scripted_llm, open_page):
    question = "How large is a round pool?"
    scripted_llm.script(
        first(
            question,
            {"content": "Its surface is\n\n$$A = \\pi r^2$$\n\nso with $r = 4$ m about **50 m²**."},
        )
    )
    page = open_page("demo", "/my/ai")
    ask(page, question)
    wait_for_answer(page)
    expect(page.locator(".o_ai_chat_html math").first).to_be_visible()
    page.get_by_role("button", name="Export").click()
    take(page, "user-export")
    with page.context.expect_page() as opened:
        page.get_by_role("menuitem", name="Share").click()
    sharing = opened.value
    sharing.set_viewport_size(SIZE)
    expect(sharing.get_by_role("heading", level=1)).to_have_text("Share This Conversation")
    take(sharing, "user-share")


def test_a_fact(odoo, scripted_llm, open_page):
    question = "Please remember that I like short answers."
    fact = {"text": "I prefer short answers."}
    scripted_llm.script(first(question, calls(("remember", fact))))
    page = open_page("user", "/my/ai/memory")
    page.get_by_role("button", name="Turn on").click()
    page.goto("/my/ai")
    ask(page, question)
    expect(page.get_by_role("button", name="Allow once").first).to_be_visible()
    take(page, "user-memory")
    page.get_by_role("button", name="Stop").first.click()
    expect(page.locator(".o_ai_chat_turn").last).to_have_attribute("data-state", "stopped")


def test_chats_about_a_record(odoo, scripted_llm, open_page):
    partner = odoo.rpc("res.partner", "create", [{"name": "Harbour Office", "is_company": True}])[0]
    for text in ("What do they owe us?", "Draft a reminder"):
        scripted_llm.script(first(text, {"content": "Nothing at the moment."}))
        chat = Chat(odoo, "admin", name=text, res_model="res.partner", res_id=partner)
        chat.ask(text).events()
    page = open_page("admin", f"/odoo/res.partner/{partner}")
    page.locator(".o_ai_chat_record_chats button").click()
    expect(page.get_by_role("menuitem", name="Draft a reminder")).to_be_visible()
    take(page, "user-record-chats")
