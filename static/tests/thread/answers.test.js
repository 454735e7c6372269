import {
    beforeEach,
    click,
    describe,
    edit,
    expect,
    manuallyDispatchProgrammaticEvent,
    pointerDown,
    pointerUp,
    press,
    queryAll,
    queryAllTexts,
    queryOne,
    queryRect,
    scroll,
    test,
} from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { patchWithCleanup } from "@web/../tests/web_test_helpers";
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

test("a question that was deleted in Discuss says so", async () => {
    const message = server.message(conversation, "user", "");
    message.html = '<span class="o-mail-Message-edited"></span>';
    await mountChat({ conversationId: conversation.id });
    expect(queryAllTexts(".o_ai_chat_removed")).toEqual(["This message has been removed."]);
    expect(queryAllTexts(".o_ai_chat_bubble")).toEqual(["Hi"]);
});

test("answers to one question stand in one place, the last in sight", async () => {
    answer(2, "Good day.");
    server.message(conversation, "user", "Bye");
    answer(3, "See you.");
    await mountChat({ conversationId: conversation.id });
    expect(answers()).toEqual(["Good day.", "See you."]);
    expect(queryAllTexts(".o_ai_chat_versions")).toEqual(["2/2"]);
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
    expect(".o_ai_chat_versions").toHaveText("2/2");
    await click(".o_ai_chat_answers [aria-label='Previous version']");
    await settle();
    expect(answers()).toEqual(["Hello."]);
});

test("another assistant answers the last question, and both answers are compared", async () => {
    server.assistants.push({ id: 2, name: "Bob", image_url: null });
    await mountChat({ conversationId: conversation.id });
    server.turnOwners.set(1, conversation);
    await click("[aria-label='Retry with another assistant']");
    await settle();
    expect(queryAllTexts("[role=menuitem]")).toEqual(["Retry with Bob"]);
    await click("[role=menuitem]");
    await settle();
    expect(server.requestsTo("/retry").map(({ body }) => body)).toEqual([{ assistant_id: 2 }]);
    await say(server, [1, { type: "text_block", html: "<p>Good day.</p>", index: 0 }]);
    expect(answers()).toEqual(["Good day."]);
    expect(".o_ai_chat_author").toHaveText("Bob");
    await click(".o_ai_chat_compare");
    await settle();
    expect(answers()).toEqual(["Hello.", "Good day."]);
    expect(queryAllTexts(".o_ai_chat_author")).toEqual(["Ada", "Bob"]);
    expect(".o_ai_chat_versions").toHaveCount(0);
    await click(".o_ai_chat_compare");
    await settle();
    expect(answers()).toEqual(["Good day."]);
    expect(".o_ai_chat_compare").toBeFocused();
    await say(server, [2, { type: "done", usage: null }]);
    await click(".o_ai_chat_retry");
    await settle();
    expect(".o_ai_chat_author").toHaveText("Bob");
});

test("without another assistant there is no such menu", async () => {
    await mountChat({ conversationId: conversation.id });
    expect("[aria-label='Retry with another assistant']").toHaveCount(0);
});

test("a passage of an answer, or all of it, is quoted in the next message", async () => {
    await mountChat({ conversationId: conversation.id });
    await click(".o_ai_chat_input");
    await edit("So:");
    const said = queryOne(".o_ai_chat_message_assistant .o_ai_chat_html");
    document.getSelection().selectAllChildren(said);
    document.getSelection().modify("extend", "backward", "character");
    await click(".o_ai_chat_quote");
    await settle();
    expect(".o_ai_chat_input").toHaveValue("So:\n\n> Hello\n\n");
    expect(".o_ai_chat_input").toBeFocused();
    document.getSelection().removeAllRanges();
    await click(".o_ai_chat_quote");
    await settle();
    expect(".o_ai_chat_input").toHaveValue("So:\n\n> Hello\n\n> Hello.\n\n");
});

test("nothing moves under a pointer that is pressed", async () => {
    for (let n = 0; n < 30; n++) {
        server.message(conversation, "user", `Question ${n}`);
    }
    await mountChat({ conversationId: conversation.id });
    const view = queryOne(".o_ai_chat_scroll");
    const before = view.scrollTop;
    await pointerDown(queryAll(".o_ai_chat_bubble").at(-1));
    queryOne(".o_ai_chat_scroll .o_ai_chat_column").append("More. ".repeat(300));
    await settle();
    expect(view.scrollTop).toBe(before);
    await pointerUp(queryAll(".o_ai_chat_bubble").at(-1));
    await settle();
    expect(view.scrollTop).toBeGreaterThan(before);
});

test("the way to the latest covers nothing and moves nothing", async () => {
    for (let n = 0; n < 30; n++) {
        server.message(conversation, "user", `Question ${n}`);
    }
    await mountChat({ conversationId: conversation.id });
    expect(".o_ai_chat_latest").not.toBeVisible();
    const { bottom } = queryRect(".o_ai_chat_scroll");
    await scroll(".o_ai_chat_scroll", { top: 0 });
    await settle();
    expect(".o_ai_chat_latest").toBeVisible();
    expect(queryRect(".o_ai_chat_scroll").bottom).toBe(bottom);
    expect(bottom).toBeLessThan(queryRect(".o_ai_chat_latest").top + 1);
});

test("the Escape that ends a composition leaves the question in its editor", async () => {
    await mountChat({ conversationId: conversation.id });
    await click(".o_ai_chat_edit_question");
    await settle();
    const editor = queryOne(".o_ai_chat_question_input");
    await manuallyDispatchProgrammaticEvent(editor, "keydown", {
        key: "Escape",
        isComposing: true,
    });
    await settle();
    expect(".o_ai_chat_question_input").toHaveCount(1);
    await manuallyDispatchProgrammaticEvent(editor, "keydown", { key: "Escape" });
    await settle();
    expect(".o_ai_chat_question_input").toHaveCount(0);
});

test("a finger begins a line with Enter in a question that is edited, too", async () => {
    await mountChat({ conversationId: conversation.id });
    patchWithCleanup(window, { matchMedia: () => ({ matches: true }) });
    await click(".o_ai_chat_edit_question");
    await settle();
    expect(".o_ai_chat_question_input").toBeFocused();
    const [keydown] = await press("Enter"); // hoot submits the form then, a browser does not
    expect(keydown.defaultPrevented).toBe(false);
});
