import {
    advanceTime,
    animationFrame,
    beforeEach,
    click,
    Deferred,
    describe,
    edit,
    expect,
    press,
    queryAllTexts,
    queryOne,
    select,
    test,
} from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { ask, mountChat, settle } from "../ai_chat_test_helpers";
import { json } from "../fake_responses";
import { FakeServer } from "../fake_server";

describe.current.tags("desktop");
defineMailModels();

/** @type {FakeServer} */
let server;
beforeEach(() => {
    sessionStorage.clear();
    server = new FakeServer();
});

test("a search shows what was found, marked, and as text", async () => {
    server.conversation({ name: "Rates", excerpt: "… the <b>Exchange</b> rate of June …" });
    await mountChat();
    expect(".o_ai_chat_excerpt").toHaveCount(0);
    await click(".o_ai_chat_search");
    await edit("exchange");
    await advanceTime(300);
    await settle();
    expect(".o_ai_chat_excerpt").toHaveText("… the <b>Exchange</b> rate of June …");
    expect(".o_ai_chat_excerpt mark").toHaveText("Exchange");
});

test("a search is seen from its first letter until its answer", async () => {
    server.conversation({ name: "Rates" });
    await mountChat();
    await click(".o_ai_chat_search");
    await edit("rates");
    await animationFrame();
    expect(".o_ai_chat_searching").toHaveText("Searching…");
    const answer = new Deferred();
    server.interrupt("q=rates", answer);
    await advanceTime(300);
    expect(".o_ai_chat_searching").toHaveCount(1);
    answer.resolve(json({ conversations: [], has_more: false, incomplete: false }));
    await settle();
    expect(".o_ai_chat_searching").toHaveCount(0);
});

async function searchAndOpen(conversation, words) {
    await click(".o_ai_chat_search");
    await edit(words);
    await advanceTime(300);
    await settle();
    await click(`[data-conversation-id='${conversation.id}']`);
    await settle();
}

function marked() {
    return [...(CSS.highlights.get("o-ai-chat-found") || [])].map(String);
}

test("what a search has found is marked and in view, also among earlier messages", async () => {
    const conversation = server.conversation({ name: "Rates", excerpt: "the Exchange rate" });
    server.message(conversation, "user", "What is the Exchange\nrate of June?");
    for (let number = 0; number < 70; number++) {
        server.message(conversation, "user", `Question ${number}`);
    }
    await mountChat();
    await searchAndOpen(conversation, "exchange rate");
    expect(marked()).toEqual(["Exchange\nrate"]);
    expect(".o_ai_chat_bubble").toHaveCount(71);
    const view = queryOne(".o_ai_chat_scroll").getBoundingClientRect();
    const [range] = CSS.highlights.get("o-ai-chat-found");
    const { top, bottom } = range.getBoundingClientRect();
    expect(top).toBeGreaterThan(view.top);
    expect(bottom).toBeLessThan(view.bottom);
    expect(".o_ai_chat_latest").toBeVisible();
    await click(".o_ai_chat_search");
    await edit("");
    await advanceTime(300);
    await settle();
    expect(marked()).toEqual([]);
});

test("a conversation that was found by its name opens at its end", async () => {
    const conversation = server.conversation({ name: "Rates" });
    for (let number = 0; number < 40; number++) {
        server.message(conversation, "user", `Question ${number}`);
    }
    await mountChat();
    await searchAndOpen(conversation, "rates");
    expect(marked()).toEqual([]);
    expect(".o_ai_chat_bubble").toHaveCount(30);
    expect(".o_ai_chat_latest").not.toBeVisible();
});

test("a search that could not look through all says so", async () => {
    server.conversation({ name: "Rates" });
    server.isSlowToSearch = true;
    await mountChat();
    expect(".o_ai_chat_incomplete").toHaveCount(0);
    await click(".o_ai_chat_search");
    await edit("rate");
    await advanceTime(300);
    await settle();
    expect(".o_ai_chat_incomplete").toHaveText(/Only your latest conversations/);
});

/** Chooses an act in the menu of a row. */
async function choose(conversation, name) {
    await click(`li:has([data-conversation-id='${conversation.id}']) [aria-haspopup]`);
    await animationFrame();
    await click(`.o_ai_chat_action_menu [role=menuitem]:contains("${name}")`);
    await settle();
}

test("a conversation is renamed and deleted in its row", async () => {
    const [first, second] = ["First", "Second"].map((name) => server.conversation({ name }));
    await mountChat({ conversationId: first.id });
    await choose(second, "Rename");
    expect(".o_ai_chat_row_name").toHaveValue("Second");
    expect(".o_ai_chat_row_name").toBeFocused();
    await edit("Weather");
    await press("Enter");
    await settle();
    expect(second.name).toBe("Weather");
    expect(`[data-conversation-id='${second.id}']`).toHaveText(/Weather/);
    const menu = `li:has([data-conversation-id='${second.id}']) [aria-haspopup]`;
    expect(menu).toBeFocused();

    await choose(second, "Delete");
    expect(".modal-body").toHaveText(/“Weather”/);
    await click(".modal .btn-secondary");
    await settle();
    await choose(second, "Rename");
    await press("Escape");
    await animationFrame();
    expect(menu).toBeFocused();
    expect(server.conversations).toHaveLength(2);
    await choose(second, "Delete");
    await click(".modal .btn-danger");
    await settle();
    expect(server.conversations).toEqual([first]);
    expect(".o_ai_chat_title").toHaveText("First");
    expect(".o_ai_chat_said").toHaveText("“Weather” is deleted.");
});

test("a conversation is called as the server has kept its name", async () => {
    const conversation = server.conversation({ name: "First" });
    await mountChat({ conversationId: conversation.id });
    await choose(conversation, "Rename");
    expect(".o_ai_chat_row_name").toHaveAttribute("maxlength", "120");
    await edit("Wea\u200bther");
    await press("Enter");
    await settle();
    expect(`[data-conversation-id='${conversation.id}']`).toHaveText(/Weather/);
    expect(".o_ai_chat_title").toHaveText("Weather");
});

const names = () => queryAllTexts(".o_ai_chat_conversation .fw-bold");

test("a pinned conversation is the first one, under its own heading", async () => {
    const [one] = ["One", "Two", "Tea"].map((name) => server.conversation({ name }));
    await mountChat();
    expect(names()).toEqual(["Tea", "Two", "One"]);
    await choose(one, "Pin");
    expect(names()).toEqual(["One", "Tea", "Two"]);
    expect(queryAllTexts(".o_ai_chat_period")[0]).toBe("Pinned");
    await choose(one, "Unpin");
    expect(names()).toEqual(["Tea", "Two", "One"]);
    expect(one.pinned).toBe(false);
});

test("the archive has its own list, from which conversations come back", async () => {
    const [one] = ["One", "Two"].map((name) => server.conversation({ name }));
    await mountChat();
    await choose(one, "Archive");
    expect(names()).toEqual(["Two"]);
    expect(".o_ai_chat_said").toHaveText("“One” is archived.");
    expect("[data-conversation-id]").toBeFocused(); // the row went with the focus
    await click(".o_ai_chat_archive");
    await settle();
    expect(names()).toEqual(["One"]);
    expect(".o_ai_chat_place h2").toHaveText("Archive");
    expect(".o_ai_chat_leave").toBeFocused();
    await choose(one, "Restore");
    expect(".o_ai_chat_list p.px-3").toHaveText("The archive is empty.");
    await click(".o_ai_chat_leave");
    await settle();
    expect(names()).toEqual(["Two", "One"]);
});

const folders = () => queryAllTexts(".o_ai_chat_folder");

async function name(value) {
    await edit(value);
    await press("Enter");
    await settle();
}

test("folders are made, named and deleted, and keep their conversations", async () => {
    const [tea] = ["Tea", "Tide"].map((name) => server.conversation({ name }));
    await mountChat();
    await click(".o_ai_chat_new_folder");
    await animationFrame();
    await name("Drinks");
    expect(folders()).toEqual(["Drinks"]);
    expect(".o_ai_chat_new_folder").toBeFocused();
    await choose(tea, "Move to folder…");
    expect(".modal-title").toHaveText("Move to folder");
    expect(".modal p").toHaveText("Tea");
    await click(".modal .btn-light:contains(Drinks)");
    await settle();
    expect(names()).toEqual(["Tide"]);
    await click(".o_ai_chat_folder");
    await settle();
    expect(names()).toEqual(["Tea"]);
    expect(".o_ai_chat_place h2").toHaveText("Drinks");
    expect(".o_ai_chat_leave").toBeFocused();
    await ask("Another cup?");
    expect(server.conversations[0].folder_id).toBe(tea.folder_id);
    await click(".o_ai_chat_leave");
    await settle();
    expect(".o_ai_chat_new_folder").toBeFocused();
    const menu = ".o_ai_chat_folders li [aria-haspopup]";
    await click(menu);
    await animationFrame();
    await click("[role=menuitem]:contains(Rename)");
    await animationFrame();
    await name("Leaves");
    expect(folders()).toEqual(["Leaves"]);
    expect(menu).toBeFocused();
    await click(menu);
    await animationFrame();
    await click("[role=menuitem]:contains(Delete)");
    await settle();
    await click(".modal .btn-danger");
    await settle();
    expect(folders()).toEqual([]);
    expect(names()).toInclude("Tea");
});

test("a search outside of folders looks into them, and names them", async () => {
    const folder = server.folder("Drinks");
    server.conversation({ name: "Tea", folder_id: folder.id });
    await mountChat();
    expect(names()).toEqual([]);
    await searchAndOpen(server.conversations[0], "tea");
    expect(".o_ai_chat_conversation .text-truncate:last").toHaveText("Ada · Drinks");
});

test("filters narrow the list, also in folders, until they are cleared", async () => {
    const folder = server.folder("Drinks");
    server.conversation({ name: "Tea", folder_id: folder.id });
    server.conversation({ name: "Tide", assistant: { id: 2, name: "Bob", image_url: null } });
    await mountChat();
    await click(".o_ai_chat_filter_toggle");
    await settle();
    await click(".o_ai_chat_filter select:first");
    await select("1");
    await settle();
    expect(names()).toEqual(["Tea"]);
    expect(".o_ai_chat_folders").toHaveCount(0);
    await click(".o_ai_chat_filter select:last");
    await select("7");
    await settle();
    await click(".o_ai_chat_filter input");
    await settle();
    expect(server.requests.at(-1).line).toMatch(
        /assistant_id=1&since=\d{4}-\d\d-\d\d&has_files=1$/
    );
    await click(".o_ai_chat_clear");
    await settle();
    expect(names()).toEqual(["Tide"]);
    expect(folders()).toEqual(["Drinks"]);
});

test("what is selected is moved into a new folder", async () => {
    ["Tea", "Tide"].forEach((name) => server.conversation({ name }));
    await mountChat();
    await click(".o_ai_chat_several");
    await animationFrame();
    await click(".o_ai_chat_select_all");
    await animationFrame();
    await click(".o_ai_chat_bulk .btn-light:contains(Move)");
    await settle();
    await click(".modal input");
    await name("Harbour");
    expect(names()).toEqual([]);
    expect(folders()).toEqual(["Harbour"]);
    expect(".o_ai_chat_said").toHaveText("2 conversations are moved.");
});

test("several conversations are archived or deleted at once, by keyboard", async () => {
    const made = ["One", "Two", "Three"].map((name) => server.conversation({ name }));
    server.startTurn(made[0]);
    await mountChat();
    await click(".o_ai_chat_several");
    await animationFrame();
    expect(".o_ai_chat_count").toHaveText("0 selected");
    expect(".o_ai_chat_bulk .btn-light:first").not.toBeEnabled();
    await click(".o_ai_chat_select_all");
    await animationFrame();
    expect("[role=checkbox][aria-checked=true]").toHaveCount(3);
    await click(".o_ai_chat_bulk .btn-light:contains(Delete)");
    await settle();
    expect(".modal-body").toHaveText(/^3 conversations/);
    await click(".modal .btn-danger");
    await settle();
    expect(names()).toEqual(["One"]);
    expect(".o_notification").toHaveText(/“One”: Not now\./);
    await click("[role=checkbox]");
    await press("Escape");
    await animationFrame();
    expect(".o_ai_chat_bulk").toHaveCount(0);
});

test("an answer that nobody has seen is marked in the list until it is opened", async () => {
    const conversation = server.conversation({ unseen: true });
    await mountChat();
    expect(".o_ai_chat_unread").toHaveCount(1);
    await click(`[data-conversation-id='${conversation.id}']`);
    await settle();
    expect(".o_ai_chat_unread").toHaveCount(0);
});
