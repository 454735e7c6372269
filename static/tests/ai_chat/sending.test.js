import {
    animationFrame,
    beforeEach,
    click,
    Deferred,
    describe,
    edit,
    expect,
    press,
    queryAll,
    queryAllTexts,
    test,
} from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { ask, CALL, mountChat, say, settle, setVisibility } from "../ai_chat_test_helpers";
import { json } from "../fake_responses";
import { FakeServer } from "../fake_server";

describe.current.tags("desktop");
defineMailModels();

const PROMPT = {
    server: { id: 1, name: "wiki" },
    name: "sum",
    title: "",
    description: "",
    arguments: [{ name: "page", title: "", description: "", required: true }],
};

/** @type {FakeServer} */
let server;
beforeEach(() => {
    sessionStorage.clear();
    server = new FakeServer();
});

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

test("that was taken back leaves the running answer below its own question", async () => {
    const conversation = server.conversation();
    const asked = server.message(conversation, "user", "First");
    asked.turn_id = server.startTurn(conversation).id;
    server.message(conversation, "user", "Second").turn_id = asked.turn_id + 1;
    const none = { tool_calls: [], timeline: [], usage: null, error: null };
    const stopped = { id: asked.turn_id + 1, state: "stopped", ...none };
    server.message(conversation, "assistant", "", stopped);
    await mountChat({ conversationId: conversation.id });
    await say(server, [1, { type: "text_block", html: "<p>One.</p>", step: 0 }]);
    const shown = queryAllTexts(".o_ai_chat_message");
    expect(shown.map((text) => text.match(/First|One|Second|stopped/)?.[0])).toEqual([
        "First",
        "One",
        "Second",
        "stopped",
    ]);
    expect(".o_ai_chat_versions").toHaveCount(0);
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

test("a prompt that is pasted and sent at once is no unknown command", async () => {
    const known = new Deferred();
    server.interrupt("/prompts", known);
    const conversation = server.conversation();
    await mountChat({ conversationId: conversation.id });
    await ask("/wiki:sum");
    expect(".o_ai_chat_command").toHaveCount(0);
    known.resolve(json({ prompts: [PROMPT], problems: [] }));
    await settle();
    expect(".o_ai_chat_command").not.toHaveText(/is not a command/);
    expect(server.requestsTo("/messages")).toHaveLength(0);
    expect(server.requestsTo("/prompts")).toHaveLength(1);
});
