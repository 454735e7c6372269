import {
    advanceTime,
    animationFrame,
    beforeEach,
    click,
    describe,
    edit,
    expect,
    getFixture,
    manuallyDispatchProgrammaticEvent,
    press,
    queryAllTexts,
    queryOne,
    test,
} from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup } from "@web/../tests/web_test_helpers";
import { AiChat } from "@woow_paas_platform/ai_chat/ai_chat";
import { LIST_REFRESH } from "@woow_paas_platform/ai_chat/ai_chat_service";
import { FakeServer, settle, setVisibility } from "../ai_chat_test_helpers";

describe.current.tags("desktop");
defineMailModels();

/** @type {FakeServer} */
let server;
beforeEach(() => {
    sessionStorage.clear();
    server = new FakeServer();
});

async function mountChat(props = {}) {
    getFixture().style.height = "600px";
    await mountWithCleanup(AiChat, { props });
    await settle();
}

async function ask(text) {
    await click(".o_ai_chat_input");
    await edit(text);
    await press("Enter");
    await settle();
}

async function say(...events) {
    for (const [seq, data] of events) {
        server.stream.event(seq, data);
    }
    await settle();
}

const CALL = {
    type: "tool_call",
    id: "c1",
    tool: "get_time",
    title: "Get Time",
    server: "time",
    args: {},
    round: 1,
    max_rounds: 5,
};

describe("a new chat", () => {
    test("with one assistant starts at once; nothing is created before the first message", async () => {
        await mountChat({ onShow: (id) => expect.step(id) });
        expect(".o_ai_chat_choice").toHaveCount(0);
        expect(".o_ai_chat_input").toHaveAttribute("placeholder", "Message Ada");
        expect(server.requestsTo("POST")).toHaveLength(0);
        await ask("What time is it?");
        expect(server.requestsTo("POST").map(({ body }) => body)).toMatchObject([
            { assistant_id: 1 },
            { content: "What time is it?" },
        ]);
        expect(".o_ai_chat_input").toHaveValue("");
        expect.verifySteps([null, server.conversations[0].id]);
    });

    test("offers the choice of assistant and cloud service", async () => {
        server.assistants.push({ id: 2, name: "Bob", description: "Ops", tools: 1 });
        server.cloudServices = [{ id: 5, name: "Shop", workspace: { id: 1, name: "ACME" } }];
        await mountChat();
        expect(queryAllTexts(".o_ai_chat_choice .fw-bold")).toEqual(["Ada", "Bob"]);
        await click(".o_ai_chat_choice:last");
        await click(".o_ai_chat_service");
        queryOne(".o_ai_chat_service").value = "5";
        await manuallyDispatchProgrammaticEvent(queryOne(".o_ai_chat_service"), "change");
        await animationFrame();
        await ask("Hi");
        expect(server.requestsTo("POST")[0].body).toEqual({
            assistant_id: 2,
            cloud_service_id: 5,
        });
    });

    test("says so when there is no assistant", async () => {
        server.assistants = [];
        await mountChat();
        expect(".o_ai_chat_no_assistant").toHaveCount(1);
        expect(".o_ai_chat_input").not.toBeEnabled();
    });

    test("keeps the text when the conversation cannot be made", async () => {
        await mountChat();
        server.interrupt("POST /api/ai/conversations", new TypeError("Failed to fetch"));
        await ask("Hello");
        expect(".o_ai_chat_input").toHaveValue("Hello");
        expect(".o_ai_chat_start .alert").toHaveText(/cannot be reached/);
        await press("Enter");
        await settle();
        expect(".o_ai_chat_bubble").toHaveText("Hello");
    });
});

describe("a running turn", () => {
    test("shows text, the call before its result, the result, and ends", async () => {
        const conversation = server.conversation();
        await mountChat({ conversationId: conversation.id });
        await ask("What time is it?");
        expect(".o_ai_chat_bubble").toHaveText("What time is it?");
        expect(".o_ai_chat_activity").toHaveText("Starting…");
        expect(".o_ai_chat_stop").toHaveCount(1);

        await say(
            [1, { type: "turn_started", turn_id: conversation.turn.id }],
            [2, { type: "text", content: "Let me ", step: 1 }],
            [3, { type: "text", content: "*look*", step: 1 }]
        );
        expect(".o_ai_chat_plain").toHaveText("Let me *look*");
        expect(".o_ai_chat_turn").toHaveAttribute("aria-busy", "true");

        await say(
            [4, { type: "text_block", html: "<p>Let me <em>look</em></p>", step: 1 }],
            [5, CALL]
        );
        expect(".o_ai_chat_plain").toHaveCount(0);
        expect(".o_ai_chat_html em").toHaveText("look");
        expect(".o_ai_chat_round").toHaveText("Round 1 of 5");
        expect(".o_ai_chat_tool[data-outcome=running]").toHaveCount(1);
        expect("[role=status]").toHaveText("The assistant uses Get Time.");

        await say(
            [6, { type: "tool_result", id: "c1", result: "12:00", outcome: "ok", duration_ms: 5 }],
            [7, { type: "text", content: "Noon.", step: 2 }],
            [8, { type: "text_block", html: "<p>Noon.</p>", step: 2 }],
            [9, { type: "usage", tool_calls: 1, input_tokens: 1000, output_tokens: 234 }]
        );
        expect(".o_ai_chat_tool[data-outcome=ok]").toHaveCount(1);

        conversation.turn.state = "done";
        await say([10, { type: "done", message_id: 77, state: "done" }]);
        expect(".o_ai_chat_turn").toHaveAttribute("aria-busy", "false");
        expect(".o_ai_chat_usage").toHaveText("1 tool call · 1,234 tokens");
        expect(".o_ai_chat_stop").toHaveCount(0);
        expect("[role=status]").toHaveText("The answer is complete.");
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
        await say([1, CALL], [2, { type: "text", content: "Here", step: 1 }]);
        expect(".o_ai_chat_tool").toHaveCount(1);
        expect(".o_ai_chat_plain").toHaveText("Here");
    });

    test("takes back what the server withdraws", async () => {
        const conversation = server.conversation();
        await mountChat({ conversationId: conversation.id });
        await ask("Hi");
        await say([1, { type: "text", content: "Half an ans", step: 1 }]);
        await say([2, { type: "state", state: "running", step: 1 }]);
        expect(".o_ai_chat_plain").toHaveCount(0);
        await say([3, { type: "text", content: "A whole one", step: 1 }]);
        expect(".o_ai_chat_plain").toHaveText("A whole one");
    });

    test("can be stopped", async () => {
        const conversation = server.conversation();
        await mountChat({ conversationId: conversation.id });
        await ask("Count to a million");
        await say([1, CALL]);
        await click(".o_ai_chat_stop");
        await settle();
        expect(server.requestsTo("/stop")).toHaveLength(1);
        expect(".o_ai_chat_stop").not.toBeEnabled();
        expect(".o_ai_chat_activity").toHaveText("Stopping…");
        conversation.turn.state = "stopped";
        await say(
            [2, { type: "tool_result", id: "c1", outcome: "cancelled", is_error: true }],
            [3, { type: "done", state: "stopped", message_id: null }]
        );
        expect(".o_ai_chat_ending").toHaveText(/This answer was stopped/);
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
        await say([1, { type: "text", content: "Hello." }]);
        expect(".o_ai_chat_plain").toHaveText("Hello.");
    });

    test("shows its calls afterwards only to those who want them", async () => {
        server.preferences.show_tool_calls = false;
        const conversation = server.conversation();
        await mountChat({ conversationId: conversation.id });
        await ask("Hi");
        await say([1, CALL]);
        expect(".o_ai_chat_tool").toHaveCount(1);
        await say(
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
        await say([1, { type: "text", content: "One ", step: 1 }]);
        await click(`[data-conversation-id='${other.id}']`);
        await settle();
        expect(".o_ai_chat_stop").toHaveCount(0);
        conversation.turn.stream = new conversation.turn.stream.constructor();
        await click(`[data-conversation-id='${conversation.id}']`);
        await settle();
        expect(server.requestsTo("/stream").at(-1).line).toMatch(/\?after=1$/);
        await say([2, { type: "text", content: "two", step: 1 }]);
        expect(".o_ai_chat_plain").toHaveText("One two");
    });
});

describe("sending", () => {
    test("that failed keeps the text and tries again with the same token", async () => {
        const conversation = server.conversation();
        await mountChat({ conversationId: conversation.id });
        server.interrupt("/messages", new TypeError("Failed to fetch"));
        await ask("Important");
        expect(".o_ai_chat_unsent").toHaveText(/cannot be reached/);
        await click(".o_ai_chat_resend");
        await settle();
        const tokens = server.requestsTo("/messages").map(({ body }) => body.client_token);
        expect(tokens).toHaveLength(2);
        expect(tokens[0]).toBe(tokens[1]);
        expect(".o_ai_chat_unsent").toHaveCount(0);
        expect(".o_ai_chat_bubble").toHaveCount(1);
        expect(conversation.messages).toHaveLength(1);
    });

    test("whose answer got lost is not shown twice", async () => {
        const conversation = server.conversation();
        await mountChat({ conversationId: conversation.id });
        const accept = server.accept.bind(server);
        server.accept = (...args) => {
            accept(...args);
            server.accept = accept;
            throw new TypeError("Failed to fetch");
        };
        await ask("Once");
        setVisibility("visible");
        await settle();
        await click(".o_ai_chat_resend");
        await settle();
        expect(".o_ai_chat_bubble").toHaveCount(1);
        expect(".o_ai_chat_message_assistant").toHaveCount(1);
        expect(conversation.messages).toHaveLength(1);
    });

    test("that failed can be edited instead", async () => {
        const conversation = server.conversation();
        await mountChat({ conversationId: conversation.id });
        server.interrupt("/messages", new TypeError("Failed to fetch"));
        await ask("Tpyo");
        await click(".o_ai_chat_edit");
        await animationFrame();
        expect(".o_ai_chat_bubble").toHaveCount(0);
        expect(".o_ai_chat_input").toHaveValue("Tpyo");
    });

    test("into a conversation that is busy elsewhere shows that turn", async () => {
        const conversation = server.conversation();
        await mountChat({ conversationId: conversation.id });
        server.message(conversation, "user", "From the other tab");
        server.startTurn(conversation);
        await ask("From here");
        expect(queryAllTexts(".o_ai_chat_bubble")).toEqual(["From the other tab", "From here"]);
        expect(".o_ai_chat_unsent").toHaveText(/Still busy/);
        expect(".o_ai_chat_stop").toHaveCount(1);
    });
});

describe("conversations", () => {
    test("keep a draft each", async () => {
        const first = server.conversation({ name: "First" });
        const second = server.conversation({ name: "Second" });
        await mountChat({ conversationId: first.id });
        await click(".o_ai_chat_input");
        await edit("for the first");
        await click(`[data-conversation-id='${second.id}']`);
        await settle();
        expect(".o_ai_chat_input").toHaveValue("");
        expect(".o_ai_chat_title").toHaveText("Second");
        await click(`[data-conversation-id='${first.id}']`);
        await settle();
        expect(".o_ai_chat_input").toHaveValue("for the first");
    });

    test("show their history the same way as a live turn", async () => {
        const conversation = server.conversation();
        server.message(conversation, "user", "Time?");
        server.message(conversation, "assistant", "Noon.", {
            id: 4,
            state: "done",
            tool_calls: [{ ...CALL, result: "12:00", outcome: "ok", duration_ms: 5 }],
            timeline: [
                { type: "text_block", html: "<p>One moment.</p>", text: "One moment." },
                { type: "tool_call", id: CALL.id },
                { type: "text_block", html: "<p>Noon.</p>", text: "Noon." },
            ],
            usage: null,
            error: null,
        });
        server.message(conversation, "user", "<b>Sure?</b>");
        server.message(conversation, "assistant", "", {
            id: 5,
            state: "failed",
            tool_calls: [],
            timeline: [],
            usage: null,
            error: { code: "llm_down", message: "No answer came." },
        }).id = null;
        await mountChat({ conversationId: conversation.id });
        expect(queryAllTexts(".o_ai_chat_bubble")).toEqual(["Time?", "<b>Sure?</b>"]);
        const rows = queryAllTexts(".o_ai_chat_turn:first > *").slice(0, 4);
        expect(rows.map((text) => text.split("\n")[0])).toEqual([
            "One moment.",
            "Round 1 of 5",
            "Done",
            "Noon.",
        ]);
        expect(".o_ai_chat_ending_failed").toHaveText(/No answer came\./);

        setVisibility("visible");
        await settle();
        expect(".o_ai_chat_message").toHaveCount(4);
    });

    test("that answer elsewhere are looked after until they are done", async () => {
        const other = server.conversation({ name: "Other" });
        server.startTurn(other);
        const conversation = server.conversation();
        await mountChat({ conversationId: conversation.id });
        expect(".o_ai_chat_conversation .o_ai_chat_spinner").toHaveCount(1);
        other.turn = null;
        await advanceTime(LIST_REFRESH);
        await settle();
        expect(".o_ai_chat_conversation .o_ai_chat_spinner").toHaveCount(0);
        const count = server.requests.length;
        await advanceTime(10 * LIST_REFRESH);
        expect(server.requests).toHaveLength(count);
    });

    test("load earlier messages on demand", async () => {
        const conversation = server.conversation();
        for (let index = 0; index < 40; index++) {
            server.message(conversation, "user", `Message ${index}`);
        }
        await mountChat({ conversationId: conversation.id });
        expect(".o_ai_chat_bubble").toHaveCount(30);
        expect(".o_ai_chat_bubble:first").toHaveText("Message 10");
        await click(".o_ai_chat_older");
        await settle();
        expect(".o_ai_chat_bubble").toHaveCount(40);
        expect(".o_ai_chat_bubble:first").toHaveText("Message 0");
        expect(".o_ai_chat_older").toHaveCount(0);

        setVisibility("visible");
        await settle();
        expect(".o_ai_chat_bubble").toHaveCount(40);
        expect(".o_ai_chat_older").toHaveCount(0);
    });

    test("are renamed and deleted", async () => {
        const conversation = server.conversation({ name: "Old name" });
        await mountChat({ conversationId: conversation.id });
        await click(".o_ai_chat_rename");
        await animationFrame();
        await edit("New name");
        await press("Enter");
        await settle();
        expect(conversation.name).toBe("New name");
        expect(".o_ai_chat_title").toHaveText("New name");
        expect(".o_ai_chat_conversation .fw-bold").toHaveText("New name");

        await click(".o_ai_chat_delete");
        await animationFrame();
        await click(".modal .btn-danger");
        await settle();
        expect(server.conversations).toHaveLength(0);
        expect(".o_ai_chat_conversation").toHaveCount(0);
        expect(".o_ai_chat_start").toHaveCount(1);
    });

    test("that are gone say so", async () => {
        await mountChat({ conversationId: 404 });
        expect(".o_ai_chat_error").toHaveText(/It is gone\./);
        expect(".o_ai_chat_input").not.toBeEnabled();
    });

    test("lead to the sign-in page when the session ended", async () => {
        const conversation = server.conversation();
        server.interrupt(
            `GET /api/ai/conversations/${conversation.id}`,
            new Response(JSON.stringify({ error: { code: "unauthenticated", message: "Bye." } }), {
                status: 401,
            })
        );
        await mountChat({ conversationId: conversation.id });
        expect(".o_ai_chat_error a").toHaveAttribute("href", /^\/web\/login\?redirect=/);
    });
});
