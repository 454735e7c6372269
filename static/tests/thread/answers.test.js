import {
    beforeEach,
    click,
    describe,
    expect,
    queryAllTexts,
    queryRect,
    scroll,
    test,
} from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountChat, say, settle } from "../ai_chat_test_helpers";
import { FakeServer } from "../fake_server";

describe.current.tags("desktop");
defineMailModels();

/** @type {FakeServer} */
let server;
let conversation;
beforeEach(() => {
    sessionStorage.clear();
    server = new FakeServer();
    conversation = server.conversation();
    server.message(conversation, "user", "Hi");
    answer(1, "Hello.");
});

function answer(id, text) {
    const ended = { id, state: "done", tool_calls: [], usage: null, error: null };
    server.message(conversation, "assistant", text, ended);
}

function answers() {
    return queryAllTexts(".o_ai_chat_message_assistant .o_ai_chat_html");
}

test("answers to one question stand in one place, the last in sight", async () => {
    answer(2, "Good day.");
    server.message(conversation, "user", "Bye");
    answer(3, "See you.");
    await mountChat({ conversationId: conversation.id });
    expect(answers()).toEqual(["Good day.", "See you."]);
    expect(queryAllTexts(".o_ai_chat_answers")).toEqual(["2/2"]);
    await click(".o_ai_chat_answers [aria-label='Previous version']");
    await settle();
    expect(answers()).toEqual(["Hello.", "See you."]);
    expect(".o_ai_chat_answers").toHaveText(/1\/2[^]*The assistant remembers the last one\./);
    expect(".o_ai_chat_answers [role=group]").toHaveAttribute("aria-label", "Version 1 of 2");
    await click(".o_ai_chat_answers [aria-label='Next version']");
    await settle();
    expect(answers()).toEqual(["Good day.", "See you."]);
});

test("another try takes the place of the answer, which can be looked at", async () => {
    await mountChat({ conversationId: conversation.id });
    server.turnOwners.set(1, conversation);
    await click(".o_ai_chat_retry");
    await settle();
    await say(server, [1, { type: "text_block", html: "<p>Good day.</p>", index: 0 }]);
    expect(answers()).toEqual(["Good day."]);
    expect(".o_ai_chat_answers").toHaveText("2/2");
    await click(".o_ai_chat_answers [aria-label='Previous version']");
    await settle();
    expect(answers()).toEqual(["Hello."]);
});

test("the way to the latest covers nothing", async () => {
    for (let n = 0; n < 30; n++) {
        server.message(conversation, "user", `Question ${n}`);
    }
    await mountChat({ conversationId: conversation.id });
    await scroll(".o_ai_chat_scroll", { top: 0 });
    await settle();
    const pill = queryRect(".o_ai_chat_latest");
    expect(queryRect(".o_ai_chat_scroll").bottom).toBeLessThan(pill.top + 1);
});
