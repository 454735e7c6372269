"""Folders in the chat: what they hold for their conversations, in the portal and the backend."""

import threading
from concurrent.futures import ThreadPoolExecutor

import axe
import pytest
from chat import first
from conftest import E2E_LOGS
from playwright.sync_api import expect

FOLDERS = "woow_paas_platform_conversation_folder"
MAX_FOLDERS = 200  # of one person
MAX_PROMPTS = 100
PAGE = {"X-Woow-Language": "en_US"}  # what a page sends with a form
DARK = {"name": "color_scheme", "value": "dark"}
PRICES = {"name": "prices.csv", "mimeType": "text/csv", "buffer": b"room;price\nsea view;4711"}


def ask(page, text):
    box = page.locator(".o_ai_chat_input")
    expect(box).to_be_enabled()
    box.fill(text)
    box.press("Enter")


def said_to(scripted_llm):
    """(role, content) of the last request."""
    messages = scripted_llm.requests()[-1]["body"]["messages"]
    return [(message["role"], str(message["content"])) for message in messages]


def at_once(odoo, requests):
    """Codes of the answers to requests that are sent at the same time, each over a line of its own."""
    clients = [odoo.login("user") for _request in requests]
    ready = threading.Barrier(len(requests))

    def send(client, request):
        ready.wait()
        return client.request(*request[:2], json=request[2]).status_code

    with ThreadPoolExecutor(len(requests)) as pool:
        return sorted(pool.map(send, clients, requests))


def test_the_limits_hold_for_requests_at_once(odoo):
    """The last free folder is made once; of several sets of files the last one is kept whole."""
    http, folders = odoo.session("user"), "/api/ai/folders"
    trips = http.post(folders, json={"name": "Trips at once"}).json()
    owner = f"(SELECT user_id FROM {FOLDERS} WHERE id = {trips['id']})"
    odoo.sql(
        f"INSERT INTO {FOLDERS} (name, user_id) SELECT 'Full ' || g, {owner} FROM generate_series("
        f"1, {MAX_FOLDERS - 1} - (SELECT COUNT(*) FROM {FOLDERS} WHERE user_id = {owner})::int) g"
    )
    made = at_once(odoo, [("POST", folders, {"name": f"Last {n}"}) for n in range(6)])
    assert made == [201, *[422] * 5]
    assert len(http.get(folders).json()["folders"]) == MAX_FOLDERS

    upload = "/api/ai/attachments"
    files = [
        http.post(upload, files={"file": (f"{n}.txt", b"word")}, headers=PAGE).json()["id"]
        for n in range(12)
    ]
    sets = [files[n : n + 4] for n in (0, 4, 8)]
    path = f"{folders}/{trips['id']}"
    assert at_once(odoo, [("PATCH", path, {"attachment_ids": ids}) for ids in sets]) == [200] * 3
    (folder,) = [one for one in http.get(folders).json()["folders"] if one["id"] == trips["id"]]
    assert sorted(file["id"] for file in folder["files"]) in sets
    http.delete(path)
    odoo.sql(f"DELETE FROM {FOLDERS} WHERE name LIKE 'Full %' OR name LIKE 'Last %'")


def test_the_last_free_prompt_is_made_once(odoo):
    http, path = odoo.session("user"), "/api/ai/saved-prompts"
    kept = len(http.get(path).json()["prompts"])
    body = {"content": "Hello.", "workspace_id": None}
    for number in range(MAX_PROMPTS - kept - 1):
        assert http.post(path, json={**body, "name": f"full{number}"}).status_code == 201
    made = at_once(odoo, [("POST", path, {**body, "name": f"last{n}"}) for n in range(6)])
    assert made == [201, *[422] * 5]
    for prompt in http.get(path).json()["prompts"]:
        if prompt["name"].startswith(("full", "last")):
            http.delete(f"{path}/{prompt['id']}")


@pytest.mark.parametrize("look", ["wide", "phone", "dark"])
def test_a_folder_holds_instructions_and_files(odoo, scripted_llm, page_of, look):
    scripted_llm.script(first("What is the price?", {"content": "It is 4711."}))
    width = 390 if look == "phone" else 1440
    page = page_of(odoo, "user", viewport={"width": width, "height": 844})
    if look == "dark":
        page.context.add_cookies([{**DARK, "url": odoo.url}])
    page.goto("/my/ai")
    expect(page.locator(".o_ai_chat_input")).to_be_enabled()
    if look == "phone":
        page.get_by_role("button", name="Conversations").click()
    page.get_by_role("button", name="New folder").click()
    page.locator(".o_ai_chat_folder_name").fill(f"Trips {look}")
    page.keyboard.press("Enter")
    page.get_by_role("button", name=f"Actions for folder “Trips {look}”").click()
    page.get_by_role("menuitem", name="Instructions and files").click()
    dialog = page.locator(".o_ai_chat_folder_dialog")
    dialog.get_by_label("Instructions").fill("Answer like a pirate.")
    dialog.locator("input[type=file]").set_input_files([PRICES])
    expect(dialog.locator("[data-state=kept]")).to_contain_text("prices.csv")
    assert axe.violations(page, ".modal") == []
    scheme = dialog.evaluate("el => getComputedStyle(el).colorScheme")
    assert ("dark" in scheme) == (look == "dark")
    page.screenshot(path=E2E_LOGS / f"folder_dialog_{look}.png")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(dialog).to_have_count(0)
    page.locator(".o_ai_chat_folder", has_text=f"Trips {look}").click()
    line = page.locator(".o_ai_chat_folder_line")
    applies = f"Folder “Trips {look}” applies: instructions · 1 file"
    expect(line).to_have_text(applies)
    if look == "phone":
        page.keyboard.press("Escape")
        expect(page.locator(".o_ai_chat_sidebar")).not_to_be_visible()
    ask(page, "What is the price?")
    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("It is 4711.")
    system, instructions, _reply, question = said_to(scripted_llm)[:4]
    assert "pirate" not in system[1]
    assert instructions[0] == "user" and "pirate" in instructions[1] and "4711" in instructions[1]
    assert question == ("user", "What is the price?")
    expect(line).to_have_text(applies)
    page.reload()
    expect(line).to_have_text(applies)
    assert axe.violations(page, ".o_ai_chat") == []
    page.screenshot(path=E2E_LOGS / f"folder_chat_{look}.png")
    line.click()
    expect(dialog.get_by_label("Instructions")).to_have_value("Answer like a pirate.")
    link = odoo.session("user").get("/api/ai/folders").json()["folders"][0]["files"][0]["url"]
    assert odoo.session("user").get(link).content == PRICES["buffer"]


@pytest.mark.parametrize("width", [1440, 390], ids=["wide", "phone"])
def test_a_folder_about_a_record(odoo, scripted_llm, page_of, width):
    scripted_llm.script(first("Who is this?", {"content": "A **contact**."}))
    name = f"Harbour {width}"
    (partner,) = odoo.rpc("res.partner", "create", [{"name": name}])
    page = page_of(odoo, "admin", viewport={"width": width, "height": 844})
    page.goto(f"/odoo/res.partner/{partner}")
    expect(page.locator(".o_form_view")).to_be_visible()
    page.locator(".o_ai_chat_systray button").click()
    panel = page.locator(".o_ai_chat_panel")
    panel.get_by_role("button", name="New folder about this record").click()
    expect(panel.locator(".o_ai_chat_folder_line")).to_have_text(f"In folder “{name}”")
    assert axe.violations(page, ".o_ai_chat_panel") == []
    page.screenshot(path=E2E_LOGS / f"folder_record_{width}.png")
    ask(page, "Who is this?")
    expect(panel.locator(".o_ai_chat_message_assistant")).to_contain_text("A contact.")
    page.goto("/odoo/action-woow_paas_platform.ai_chat_action")
    if width < 1000:
        page.get_by_role("button", name="Conversations").click()
    page.locator(".o_ai_chat_folder", has_text=name).click()
    expect(page.locator(".o_ai_chat_about")).to_contain_text(name)
    expect(page.locator(".o_ai_chat_conversation")).to_have_count(1)


@pytest.mark.parametrize("width", [1440, 390], ids=["wide", "phone"])
def test_a_form_counts_and_opens_the_persons_chats_about_its_record(
    odoo, scripted_llm, page_of, width
):
    scripted_llm.script(first("Who is this?", {"content": "A **contact**."}))
    (talked,) = odoo.rpc("res.partner", "create", [{"name": f"Talked {width}"}])
    page = page_of(odoo, "admin", viewport={"width": width, "height": 844})
    errors, counted = [], []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda one: "conversations/records" in one.url and counted.append(one.url))
    page.goto(f"/odoo/res.partner/{talked}")
    expect(page.locator(".o_form_view")).to_be_visible()
    button, panel = page.locator(".o_ai_chat_record_chats button"), page.locator(".o_ai_chat_panel")
    page.locator(".o_ai_chat_systray button").click()
    expect(button).to_have_count(0)
    ask(page, "Who is this?")
    expect(panel.locator(".o_ai_chat_message_assistant")).to_contain_text("A contact.")
    panel.get_by_role("button", name="Close").click()
    expect(button).to_contain_text("1")
    page.reload()
    expect(button).to_have_accessible_name("1 AI chats")
    assert axe.violations(page, ".o_ai_chat_record_chats") == []
    page.screenshot(path=E2E_LOGS / f"record_chats_{width}.png")
    button.click()
    page.get_by_role("menuitem", name="Who is this?").click()
    expect(panel.locator(".o_ai_chat_message_assistant")).to_contain_text("A contact.")
    panel.get_by_role("button", name="Close").click()

    # one request for all forms of the page
    before = len(counted)
    page.locator(".o_form_button_create").click()
    expect(button).to_have_count(0)
    page.locator("div[name=name] input, div[name=name] textarea").first.fill("Silent")
    page.locator(".o_form_button_save").click()
    expect(page.locator(".o_form_saved")).to_have_count(1)
    expect(button).to_have_count(0)
    assert len(counted) == before
    assert not errors
