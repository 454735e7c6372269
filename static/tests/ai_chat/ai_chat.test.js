import {
    advanceTime,
    animationFrame,
    beforeEach,
    click,
    describe,
    edit,
    expect,
    manuallyDispatchProgrammaticEvent,
    press,
    queryAll,
    queryAllTexts,
    queryOne,
    test,
} from "@odoo/hoot";
import { browser } from "@web/core/browser/browser";
import { patchWithCleanup } from "@web/../tests/web_test_helpers";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import {
    ask,
    CALL,
    FakeServer,
    mountChat,
    say,
    settle,
    setVisibility,
} from "../ai_chat_test_helpers";

describe.current.tags("desktop");
defineMailModels();

/** @type {FakeServer} */
let server;
beforeEach(() => {
    sessionStorage.clear();
    server = new FakeServer();
});

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
        server.cloudServices = [
            { id: 5, name: "Shop", state: "running", workspace: { id: 1, name: "ACME" } },
        ];
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

    test("greets with the face of its assistant, and a click asks what is suggested", async () => {
        Object.assign(server.assistants[0], {
            image_url: "/web/static/img/placeholder.png",
            greeting: "What may I look up?",
            starters: ["What time is it?"],
        });
        const starters = ["What runs?"];
        server.cloudServices = [
            { id: 5, name: "Shop", state: "running", starters, workspace: { id: 1, name: "ACME" } },
        ];
        const record = { model: "res.partner", id: 4, name: "Azure" };
        await mountChat({ newChat: { cloud_service_id: 5, record } });
        expect(".o_ai_chat_start h2").toHaveText("What may I look up?");
        expect(".o_ai_chat_start .o_ai_chat_avatar img").toHaveCount(1);
        expect(queryAllTexts(".o_ai_chat_starters button")).toEqual([
            "Summarize “Azure”.",
            "What is open on “Azure”?",
            "What runs?",
            "What time is it?",
        ]);
        await click(".o_ai_chat_starters button:last");
        await settle();
        expect(server.requestsTo("/messages")[0].body).toMatchObject({
            content: "What time is it?",
        });
    });

    test("without an image the face is the first letter, also when the image is gone", async () => {
        await mountChat();
        expect(".o_ai_chat_start .o_ai_chat_avatar").toHaveText("A");
        server.assistants[0].image_url = "/web/static/img/placeholder.png";
        const conversation = server.conversation({
            assistant: { id: 1, name: "Ada", image_url: "/web/static/img/placeholder.png" },
        });
        const turn = { id: 5, state: "done", tool_calls: [], usage: null, error: null };
        server.message(conversation, "assistant", "Yes.", turn);
        setVisibility("visible");
        await settle();
        await click(`[data-conversation-id='${conversation.id}']`);
        await settle();
        const face = ".o_ai_chat_message_assistant .o_ai_chat_avatar";
        await manuallyDispatchProgrammaticEvent(queryOne(`${face} img`), "error");
        await animationFrame();
        expect(face).toHaveText("A");
    });

    test("the first one asks which language it is to be", async () => {
        Object.assign(server.preferences, {
            language: "en_US",
            languages: [
                { code: "en_US", name: "English (US)" },
                { code: "zh_TW", name: "繁體中文" },
            ],
        });
        patchWithCleanup(browser.location, { assign: (path) => expect.step(path) });
        await mountChat();
        expect(queryAllTexts(".o_ai_chat_languages .btn")).toEqual(["English (US)", "繁體中文"]);
        expect(".o_ai_chat_languages .btn:first").toHaveAttribute("aria-pressed", "true");
        await click(".o_ai_chat_languages .btn:last");
        await settle();
        expect(server.preferences.language).toBe("zh_TW");
        expect.verifySteps([browser.location.pathname + browser.location.search]);
    });

    test("later ones do not ask again", async () => {
        server.preferences.languages = [
            { code: "en_US", name: "English (US)" },
            { code: "zh_TW", name: "繁體中文" },
        ];
        server.conversation();
        await mountChat();
        expect(".o_ai_chat_languages").toHaveCount(0);
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
        expect(".o_ai_chat_round").toHaveCount(0); // one round needs no number
        expect(".o_ai_chat_tool[data-outcome=running]").toHaveCount(1);
        expect("[role=status]").toHaveText("The assistant is using Get Time.");
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
            [2, { type: "thinking", content: "see</b>.", step: 0 }]
        );
        expect(".o_ai_chat_thinking summary").toHaveText("Thinking…");
        expect(".o_ai_chat_thinking").toHaveProperty("open", false);
        expect(".o_ai_chat_activity").toHaveCount(0);
        await click(".o_ai_chat_thinking summary");
        expect(".o_ai_chat_thinking_text").toHaveText("Let me <b>see</b>.");
        await say(server, [3, { type: "text", content: "Yes.", step: 0 }]);
        expect(".o_ai_chat_thinking summary").toHaveText("Thoughts");
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

    test("during an answer is queued, and answered after it", async () => {
        const conversation = server.conversation();
        await mountChat({ conversationId: conversation.id });
        await ask("First");
        await ask("Second");
        expect(server.requestsTo("/messages").at(-1).body).toMatchObject({ when: "queue" });
        const kinds = () => queryAll(".o_ai_chat_message").map((el) => el.textContent.trim());
        expect(queryAllTexts(".o_ai_chat_bubble")).toEqual(["First", "Second"]);
        expect(".o_ai_chat_message_assistant").toHaveCount(1);
        expect(kinds()[1]).toMatch(/Ada/);
        expect(".o_ai_chat_queued").toHaveText(/Queued/);

        await say(server, [1, { type: "text_block", html: "<p>One.</p>", step: 0 }]);
        const done = { type: "done", message_id: 70, state: "done" };
        server.stream.event(2, done);
        server.endTurn(conversation);
        await settle();
        expect(".o_ai_chat_queued").toHaveCount(0);
        expect(".o_ai_chat_message_assistant").toHaveCount(2);
        await say(server, [1, { type: "text_block", html: "<p>Two.</p>", step: 0 }]);
        expect(queryAllTexts(".o_ai_chat_html")).toEqual(["One.", "Two."]);
    });

    test("that is queued is found after a reload, and can be taken back", async () => {
        const conversation = server.conversation();
        await mountChat({ conversationId: conversation.id });
        await ask("First");
        await ask("Second");
        setVisibility("visible");
        await settle();
        expect(".o_ai_chat_queued").toHaveCount(1);
        expect(".o_ai_chat_message:last .o_ai_chat_bubble").toHaveText("Second");
        const [{ id }] = conversation.queued;
        await click(".o_ai_chat_cancel_queued");
        await settle();
        expect(server.requestsTo(`/turns/${id}/stop`)).toHaveLength(1);
        expect(".o_ai_chat_queued").toHaveCount(0);
        expect(".o_ai_chat_stop").toHaveCount(1);
    });

    test("during an answer may join it, and stands where it did", async () => {
        const conversation = server.conversation();
        await mountChat({ conversationId: conversation.id });
        await ask("First");
        await say(server, [1, { type: "state", state: "running" }]);
        await click(".o_ai_chat_input");
        await edit("In Tainan");
        await settle();
        await click(".o_ai_chat_steer");
        await settle();
        expect(server.requestsTo("/messages").at(-1).body).toMatchObject({ when: "steer" });
        expect(".o_ai_chat_queued").toHaveText(/Joins this answer/);
        expect(queryAllTexts(".o_ai_chat_bubble")).toEqual(["First", "In Tainan"]);

        const [{ id }] = conversation.queued.splice(0);
        await say(
            server,
            [2, { ...CALL, round: 1 }],
            [3, { type: "tool_result", id: "c1", result: "x", outcome: "ok", duration_ms: 5 }],
            [4, { type: "steered", turn_id: id, content: "In Tainan" }],
            [5, { type: "text_block", html: "<p>Rain.</p>", step: 1 }]
        );
        expect(".o_ai_chat_queued").toHaveCount(0);
        expect(queryAllTexts(".o_ai_chat_bubble")).toEqual(["First", "In Tainan"]);
        expect(".o_ai_chat_steered .o_ai_chat_bubble").toHaveText("In Tainan");
        expect(".o_ai_chat_message").toHaveCount(2);
    });

    test("that waits for a decision takes no more, what is sent is queued", async () => {
        const conversation = server.conversation();
        await mountChat({ conversationId: conversation.id });
        await ask("First");
        await say(server, [1, { type: "state", state: "waiting" }]);
        await click(".o_ai_chat_input");
        await edit("And then?");
        await settle();
        expect(".o_ai_chat_steer").toHaveCount(0);
        await press("Enter");
        await settle();
        expect(server.requestsTo("/messages").at(-1).body).toMatchObject({ when: "queue" });
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
