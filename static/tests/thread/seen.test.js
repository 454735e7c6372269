import { beforeEach, describe, expect, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { ask, mountChat, say, setVisibility, settle } from "../ai_chat_test_helpers";
import { FakeServer } from "../fake_server";

describe.current.tags("desktop");
defineMailModels();

const DONE = { type: "done", state: "done", message_id: null };

/** @type {FakeServer} */
let server;
beforeEach(() => {
    sessionStorage.clear();
    server = new FakeServer();
});

function told() {
    return server.requestsTo("/seen").length;
}

test("an answer that comes in view is told as seen", async () => {
    const conversation = server.conversation();
    await mountChat({ conversationId: conversation.id });
    expect(told()).toBe(0);
    await ask("Hi");
    await say(server, [1, { type: "text", content: "Hello." }], [2, DONE]);
    expect(told()).toBe(1);
});

test("one that came meanwhile is told when the person looks", async () => {
    const conversation = server.conversation({ unseen: true });
    setVisibility("hidden");
    await mountChat({ conversationId: conversation.id });
    expect(told()).toBe(0);
    setVisibility("visible");
    await settle();
    expect(told()).toBe(1);
});
