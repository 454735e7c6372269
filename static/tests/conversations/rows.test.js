import { advanceTime, beforeEach, click, describe, edit, expect, press, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountChat, settle } from "../ai_chat_test_helpers";
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

test("a conversation is renamed and deleted in its row", async () => {
    const [first, second] = ["First", "Second"].map((name) => server.conversation({ name }));
    await mountChat({ conversationId: first.id });
    const row = `li:has([data-conversation-id='${second.id}'])`;
    await click(`${row} .o_ai_chat_row_rename`);
    await settle();
    expect(".o_ai_chat_row_name").toHaveValue("Second");
    expect(".o_ai_chat_row_name").toBeFocused();
    await edit("Weather");
    await press("Enter");
    await settle();
    expect(second.name).toBe("Weather");
    expect(`[data-conversation-id='${second.id}']`).toHaveText(/Weather/);

    await click(`${row} .o_ai_chat_row_delete`);
    await settle();
    expect(".modal-body").toHaveText(/“Weather”/);
    await click(".modal .btn-danger");
    await settle();
    expect(server.conversations).toEqual([first]);
    expect(".o_ai_chat_title").toHaveText("First");
});

test("an answer that nobody has seen is marked in the list until it is opened", async () => {
    const conversation = server.conversation({ unseen: true });
    await mountChat();
    expect(".o_ai_chat_unread").toHaveCount(1);
    await click(`[data-conversation-id='${conversation.id}']`);
    await settle();
    expect(".o_ai_chat_unread").toHaveCount(0);
});
