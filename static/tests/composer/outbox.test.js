import { beforeEach, click, describe, edit, expect, press, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { user } from "@web/core/user";
import { patchWithCleanup } from "@web/../tests/web_test_helpers";
import { AiChatStore } from "@woow_paas_platform/ai_chat/ai_chat_service";
import { AiApi } from "@woow_paas_platform/core/ai_api";
import { ask, mountChat, settle } from "../ai_chat_test_helpers";
import { refusal } from "../fake_responses";
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
});

/** What a reload does: the same tab, and nothing else of the page before. */
async function openNextPage() {
    const page = new AiChatStore(new AiApi());
    await page.enter("page");
    await settle();
    return page;
}

function sentTokens() {
    return server.requestsTo("/messages").map(({ body }) => body.client_token);
}

test("what was on its way when the page was left arrives, and once", async () => {
    server.interrupt("/messages", new Promise(() => {}));
    await mountChat({ conversationId: conversation.id });
    await ask("Hi");
    expect(conversation.messages).toHaveLength(0);
    await openNextPage();
    await openNextPage();
    const [first, again, ...more] = sentTokens();
    expect(again).toBe(first);
    expect(more).toEqual([]);
    expect(conversation.messages.map(({ text }) => text)).toEqual(["Hi"]);
});

test("what had arrived when its answer was lost is not asked twice", async () => {
    await mountChat({ conversationId: conversation.id });
    const accept = server.accept.bind(server);
    server.accept = (...request) => {
        accept(...request);
        throw new TypeError("Failed to fetch");
    };
    await ask("Hi");
    server.accept = accept;
    const page = await openNextPage();
    await page.open(conversation.id);
    await settle();
    expect(sentTokens()).toHaveLength(2);
    expect(conversation.messages).toHaveLength(1);
    expect(page.thread.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
});

test("who was signed out finds it sent after the next sign-in", async () => {
    server.interrupt("/messages", refusal(401, "not_signed_in", "Sign in again."));
    await mountChat({ conversationId: conversation.id });
    await ask("Hi");
    await openNextPage();
    expect(sentTokens()).toHaveLength(2);
    expect(conversation.messages).toHaveLength(1);
});

test("what was refused is not sent again by itself", async () => {
    server.interrupt("/messages", refusal(400, "too_long", "It is too long."));
    await mountChat({ conversationId: conversation.id });
    await ask("Hi");
    await openNextPage();
    expect(sentTokens()).toHaveLength(1);
});

test("other words of a question that could not be sent stand in its editor, and are not sent by themselves", async () => {
    server.message(conversation, "user", "Old words");
    await mountChat({ conversationId: conversation.id });
    server.interrupt("/messages", new TypeError("Failed to fetch"));
    await click(".o_ai_chat_edit_question");
    await settle();
    await click(".o_ai_chat_question_input");
    await edit("New words");
    await press("Enter");
    await settle();
    expect(".o_ai_chat_question_input").toHaveValue("New words");
    await openNextPage();
    expect(sentTokens()).toHaveLength(1);
});

test("the next person in the tab finds nothing of the one before", async () => {
    new AiChatStore(new AiApi()).setDraft("Mine");
    expect(new AiChatStore(new AiApi()).draft).toBe("Mine");
    patchWithCleanup(user, { userId: user.userId + 1 });
    expect(new AiChatStore(new AiApi()).draft).toBe("");
});
