import { advanceTime, beforeEach, click, describe, expect, test } from "@odoo/hoot";
import { Component, reactive, useState, xml } from "@odoo/owl";
import { getService, mountWithCleanup, patchWithCleanup } from "@web/../tests/web_test_helpers";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { ask, CALL, mountChat, say, settle, setVisibility } from "../ai_chat_test_helpers";
import { AiChat } from "@woow_paas_platform/ai_chat/ai_chat";
import { FakeServer } from "../fake_server";

describe.current.tags("desktop");
defineMailModels();

/** @type {FakeServer} */
let server;
beforeEach(() => {
    sessionStorage.clear();
    server = new FakeServer();
});

test("shows text, the call before its result, the result, and ends", async () => {
    const conversation = server.conversation();
    await mountChat({ conversationId: conversation.id });
    await ask("What time is it?");
    expect(".o_ai_chat_bubble").toHaveText("What time is it?");
    expect(".o_ai_chat_activity").toHaveText("Starting…");
    expect(".o_ai_chat_stop").toHaveCount(1);

    await say(
        server,

        [1, { type: "turn_started", turn_id: conversation.turn.id }],
        [2, { type: "text", content: "Let me ", step: 1 }],
        [3, { type: "text", content: "*look*", step: 1 }]
    );
    expect(".o_ai_chat_plain").toHaveText("Let me *look*");
    expect(".o_ai_chat_turn").toHaveAttribute("aria-busy", "true");

    await say(
        server,

        [4, { type: "text_block", html: "<p>Let me <em>look</em></p>", step: 1 }],
        [5, CALL]
    );
    expect(".o_ai_chat_plain").toHaveCount(0);
    expect(".o_ai_chat_html em").toHaveText("look");
    expect(".o_ai_chat_round").toHaveText("Round 1 of 5");
    expect(".o_ai_chat_tool[data-outcome=running]").toHaveCount(1);
    expect("div.visually-hidden[role=status]").toHaveText("The assistant is using Get Time.");
    expect(".o_ai_chat_activity").toHaveText("Using tools…");

    await say(
        server,

        [6, { type: "tool_result", id: "c1", result: "12:00", outcome: "ok", duration_ms: 5 }],
        [7, { type: "text", content: "Noon.", step: 2 }],
        [8, { type: "text_block", html: "<p>Noon.</p>", step: 2 }],
        [9, { type: "usage", tool_calls: 1, input_tokens: 1000, output_tokens: 234 }]
    );
    expect(".o_ai_chat_tool[data-outcome=ok]").toHaveCount(1);

    conversation.turn.state = "done";
    await say(server, [10, { type: "done", message_id: 77, state: "done" }]);
    expect(".o_ai_chat_turn").toHaveAttribute("aria-busy", "false");
    expect(".o_ai_chat_usage").toHaveText("1 tool call · 1,234 tokens");
    expect(".o_ai_chat_stop").toHaveCount(0);
    expect("div.visually-hidden[role=status]").toHaveText("The answer is complete.");
    expect(".o_ai_chat_message_assistant").toHaveAttribute("data-message-id", "77");
});

test("is found again after a reload, from its first event", async () => {
    const conversation = server.conversation();
    server.message(conversation, "user", "Slow question");
    server.startTurn(conversation);
    await mountChat({ conversationId: conversation.id });
    expect(".o_ai_chat_bubble").toHaveText("Slow question");
    expect(".o_ai_chat_stop").toHaveCount(1);
    expect(server.requestsTo("/stream").map(({ line }) => line)).toEqual([
        `GET /api/ai/turns/${conversation.turn.id}/stream`,
    ]);
    await say(server, [1, CALL], [2, { type: "text", content: "Here", step: 1 }]);
    expect(".o_ai_chat_tool").toHaveCount(1);
    expect(".o_ai_chat_plain").toHaveText("Here");
});

test("shows what the model thinks aloud folded, apart from the answer", async () => {
    const conversation = server.conversation();
    await mountChat({ conversationId: conversation.id });
    await ask("Hm?");
    await say(
        server,
        [1, { type: "thinking", content: "Let me <b>", step: 0 }],
        [2, { type: "thinking", content: "see</b>.", step: 0, ms: 12400 }]
    );
    expect(".o_ai_chat_thinking summary").toHaveText("Thinking…");
    expect(".o_ai_chat_thinking").toHaveProperty("open", false);
    expect(".o_ai_chat_activity").toHaveCount(0);
    await advanceTime(5000);
    expect(".o_ai_chat_thinking summary").toHaveText("Thinking… · 5 s");
    await click(".o_ai_chat_thinking summary");
    expect(".o_ai_chat_thinking_text").toHaveText("Let me <b>see</b>.");
    await say(server, [3, { type: "text", content: "Yes.", step: 0 }]);
    expect(".o_ai_chat_thinking summary").toHaveText("Thought for 12 s");
    expect(".o_ai_chat_thinking").toHaveProperty("open", true);
    await say(server, [4, { type: "state", state: "running", step: 0 }]);
    expect(".o_ai_chat_thinking").toHaveCount(0);
});

test("shows what was thought in the history too", async () => {
    const conversation = server.conversation();
    server.message(conversation, "user", "Hm?");
    const timeline = [
        { type: "thinking", text: "So it is." },
        { type: "text_block", html: "<p>Yes.</p>", text: "Yes." },
    ];
    const turn = { id: 5, state: "done", tool_calls: [], usage: null, error: null, timeline };
    server.message(conversation, "assistant", "Yes.", turn);
    await mountChat({ conversationId: conversation.id });
    expect(".o_ai_chat_thinking summary").toHaveText("Thoughts");
    expect(".o_ai_chat_thinking").toHaveProperty("open", false);
    expect(".o_ai_chat_html").toHaveText("Yes.");
});

test("takes back what the server withdraws", async () => {
    const conversation = server.conversation();
    await mountChat({ conversationId: conversation.id });
    await ask("Hi");
    await say(server, [1, { type: "text", content: "Half an ans", step: 1 }]);
    await say(server, [2, { type: "state", state: "running", step: 1 }]);
    expect(".o_ai_chat_plain").toHaveCount(0);
    await say(server, [3, { type: "text", content: "A whole one", step: 1 }]);
    expect(".o_ai_chat_plain").toHaveText("A whole one");
});

test("tells who is away, unless that is switched off", async () => {
    patchWithCleanup(window, {
        Notification: class {
            static permission = "granted";
            constructor(title, { body }) {
                expect.step(`${title}: ${body}`);
            }
        },
    });
    const conversation = server.conversation();
    await mountChat({ conversationId: conversation.id });
    const end = async (seq) => {
        setVisibility("hidden");
        conversation.turn.state = "done";
        await say(server, [seq, { type: "done", message_id: 79, state: "done" }]);
        conversation.turn = null;
        setVisibility("visible");
        await settle();
    };
    await ask("One");
    await end(1);
    expect.verifySteps(["A talk: The answer is ready."]);

    await click(".o_ai_chat_notify");
    await settle();
    expect(server.preferences.notify).toBe(false);
    expect(".o_ai_chat_notify").toHaveAttribute("aria-pressed", "false");
    await ask("Two");
    await end(1);
    expect.verifySteps([]);
});

test("shows in the list what it waits for", async () => {
    const conversation = server.conversation();
    await mountChat({ conversationId: conversation.id });
    await ask("Book it");
    expect(".o_ai_chat_conversation .spinner-border").toHaveCount(1);
    await say(
        server,

        [1, CALL],
        [2, { type: "input_required", id: "q1", call_id: "c1", kind: "form", schema: {} }]
    );
    expect(".o_ai_chat_conversation .spinner-border").toHaveCount(0);
    expect(".o_ai_chat_conversation .fa-hand-paper-o").toHaveCount(1);
});

test("says for how long nothing is to be seen", async () => {
    const conversation = server.conversation();
    await mountChat({ conversationId: conversation.id });
    await ask("Hm?");
    expect(".o_ai_chat_elapsed").toHaveCount(0);
    await advanceTime(6000);
    expect(".o_ai_chat_elapsed").toHaveText("· 6 s");
    expect(".o_ai_chat_slow").toHaveCount(0);
    await advanceTime(30000);
    expect(".o_ai_chat_slow").toHaveText(/You may leave this page/);
    await say(server, [1, { type: "text", content: "Yes.", step: 0 }]);
    expect(".o_ai_chat_elapsed").toHaveCount(0);
    expect(".o_ai_chat_slow").toHaveCount(0);
});

test("can be stopped", async () => {
    const conversation = server.conversation();
    await mountChat({ conversationId: conversation.id });
    await ask("Count to a million");
    await say(server, [1, CALL]);
    await click(".o_ai_chat_stop");
    await settle();
    expect(server.requestsTo("/stop")).toHaveLength(1);
    expect(".o_ai_chat_stop").not.toBeEnabled();
    expect(".o_ai_chat_activity").toHaveText("Stopping…");
    conversation.turn.state = "stopped";
    await say(
        server,

        [2, { type: "tool_result", id: "c1", outcome: "cancelled", is_error: true }],
        [3, { type: "done", state: "stopped", message_id: null }]
    );
    expect(".o_ai_chat_ending").toHaveText(/This answer was stopped/);
    expect("div.visually-hidden[role=status]").toHaveText("The answer was stopped.");
    expect(".o_ai_chat_send").toHaveCount(1);
});

test("that failed says why and can be retried", async () => {
    const conversation = server.conversation();
    await mountChat({ conversationId: conversation.id });
    await ask("Hi");
    const first = conversation.turn;
    conversation.turn = null;
    first.stream.event(1, { type: "error", code: "llm_down", message: "No answer came." });
    await settle();
    expect(".o_ai_chat_ending_failed").toHaveText(/No answer came\./);
    await click(".o_ai_chat_retry");
    await settle();
    expect(server.requestsTo("/messages")).toHaveLength(1);
    expect(server.requestsTo(`/turns/${first.id}/retry`)).toHaveLength(1);
    expect(".o_ai_chat_retry").toHaveCount(0);
    expect(".o_ai_chat_message_user").toHaveCount(1);
    expect(".o_ai_chat_message_assistant").toHaveCount(1);
    await say(server, [1, { type: "text", content: "Hello." }]);
    expect(".o_ai_chat_plain").toHaveText("Hello.");
});

test("shows its calls afterwards only to those who want them", async () => {
    server.preferences.show_tool_calls = false;
    const conversation = server.conversation();
    await mountChat({ conversationId: conversation.id });
    await ask("Hi");
    await say(server, [1, CALL]);
    expect(".o_ai_chat_tool").toHaveCount(1);
    await say(
        server,

        [2, { type: "tool_result", id: "c1", outcome: "ok", result: "yes" }],
        [3, { type: "done", state: "done", message_id: null }]
    );
    expect(".o_ai_chat_tool").toHaveCount(0);
    await click(".o_ai_chat_calls");
    await settle();
    expect(".o_ai_chat_tool").toHaveCount(1);
    expect(server.preferences.show_tool_calls).toBe(true);
});

test("is not held open for a conversation that is not shown", async () => {
    const other = server.conversation({ name: "Other" });
    const conversation = server.conversation();
    server.message(conversation, "user", "Hi");
    server.startTurn(conversation);
    await mountChat({ conversationId: conversation.id });
    await say(server, [1, { type: "text", content: "One ", step: 1 }]);
    await click(`[data-conversation-id='${other.id}']`);
    await settle();
    expect(".o_ai_chat_stop").toHaveCount(0);
    conversation.turn.stream = new conversation.turn.stream.constructor();
    await click(`[data-conversation-id='${conversation.id}']`);
    await settle();
    expect(server.requestsTo("/stream").at(-1).line).toMatch(/\?after=1$/);
    await say(server, [2, { type: "text", content: "two", step: 1 }]);
    expect(".o_ai_chat_plain").toHaveText("One two");
});

test("goes on where another view of the chat was never on the screen", async () => {
    const conversation = server.conversation();
    server.message(conversation, "user", "Hi");
    server.startTurn(conversation);
    await mountChat({ conversationId: conversation.id });
    await say(server, [1, { type: "text", content: "One ", step: 1 }]);
    const chat = getService("ai_chat");
    const about = { id: 5, name: "n8n" };
    chat.enter("a page that is left before it is drawn", about);
    expect(chat.list.cloudServiceId).toBe(5);
    chat.exit("a page that is left before it is drawn");
    await settle();
    expect(chat.list.cloudServiceId).toBe(undefined);
    await say(server, [2, { type: "text", content: "two", step: 1 }]);
    expect(".o_ai_chat_plain").toHaveText("One two");
    expect(".o_ai_chat_stop").toHaveCount(1);
});

test("goes on where another view of the chat takes the place of this one", async () => {
    const conversation = server.conversation();
    server.message(conversation, "user", "Hi");
    server.startTurn(conversation);
    const isFirst = reactive({ value: true });
    class Pages extends Component {
        static template = xml`
            <AiChat t-if="isFirst.value" conversationId="${conversation.id}"/>
            <AiChat t-else="" conversationId="${conversation.id}"/>`;
        static components = { AiChat };
        static props = {};
        setup() {
            this.isFirst = useState(isFirst);
        }
    }
    await mountWithCleanup(Pages);
    await settle();
    await say(server, [1, { type: "text", content: "One ", step: 1 }]);
    conversation.turn.stream = new conversation.turn.stream.constructor();
    isFirst.value = false;
    await settle();
    expect(".o_ai_chat_stop").toHaveCount(1);
    await say(server, [2, { type: "text", content: "two", step: 1 }]);
    expect(".o_ai_chat_plain").toHaveText("One two");
});
