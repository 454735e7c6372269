import { beforeEach, click, describe, edit, expect, press, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { formatAbout, percentOf } from "@woow_paas_platform/context/context_numbers";
import { ask, mountChat, say, settle } from "../ai_chat_test_helpers";
import { FakeServer } from "../fake_server";

describe.current.tags("desktop");
defineMailModels();

const SUMMARY = {
    type: "conversation_summary",
    content: "## Decided\n\n- S00042 goes to **Tainan**.",
    html: "<h2>Decided</h2><ul><li>S00042 goes to <strong>Tainan</strong>.</li></ul>",
    until: 5,
    messages: 12,
    tokens_before: 9432,
    tokens_after: 612,
    model: "scripted",
};
const USE = { used: 5900, limit: 32768, definitions: 4000, summary: 0, messages: 1900 };

/** @type {FakeServer} */
let server, conversation;
beforeEach(() => {
    sessionStorage.clear();
    server = new FakeServer();
    conversation = server.conversation();
});

test("an estimate has two digits", async () => {
    await mountChat({ conversationId: conversation.id });
    expect([9432, 612, 96, 7, 0].map(formatAbout)).toEqual(["9,400", "610", "96", "7", "0"]);
    expect(percentOf(USE)).toBe(18);
    expect(percentOf({ used: 9, limit: 0 })).toBe(0);
    expect(percentOf({ used: 9, limit: 8 })).toBe(100);
});

test("the gauge says how full it is, and of what", async () => {
    conversation.context = USE;
    await mountChat({ conversationId: conversation.id });
    expect(".o_ai_chat_gauge_toggle").toHaveText("18 %");
    expect(".o_ai_chat_gauge_toggle").toHaveAttribute(
        "aria-label",
        "About 18 % of the context used"
    );
    await click(".o_ai_chat_gauge_toggle");
    await settle();
    expect(".o_ai_chat_gauge_rows dt").toHaveCount(3); // nothing was summed up
    expect(".o_ai_chat_gauge_rows dd:first").toHaveText("4,000");
    await press("Escape");
    await settle();
    expect(".o_ai_chat_gauge_panel").toHaveCount(0);
    expect(".o_ai_chat_gauge_toggle").toBeFocused();
});

test("the gauge follows the answer, and a chat that nobody measured has none", async () => {
    await mountChat({ conversationId: conversation.id });
    expect(".o_ai_chat_gauge").toHaveCount(0);
    await ask("Hi");
    await say(
        server,
        [1, { type: "text_block", html: "<p>Hello.</p>", step: 0 }],
        [2, { type: "usage", context: { ...USE, summary: 600, used: 26214 } }]
    );
    expect(".o_ai_chat_gauge_toggle").toHaveText("80 %");
    expect(".o_ai_chat_gauge_full").toHaveCount(1);
    await click(".o_ai_chat_gauge_toggle");
    await settle();
    expect(".o_ai_chat_gauge_rows dt").toHaveCount(4);
});

test("a line stands where earlier messages were summed up, and unfolds", async () => {
    await mountChat({ conversationId: conversation.id });
    await ask("Hi");
    await say(server, [1, SUMMARY], [2, { type: "text_block", html: "<p>Hello.</p>", step: 0 }]);
    expect(".o_ai_chat_summary > summary").toHaveText(
        "12 earlier messages summed up: about 9,400 → 610 tokens"
    );
    expect(".o_ai_chat_summary").not.toHaveAttribute("open");
    await click(".o_ai_chat_summary > summary");
    await settle();
    expect(".o_ai_chat_summary").toHaveAttribute("open");
    expect(".o_ai_chat_summary_text h2").toHaveText("Decided");
    expect(".o_ai_chat_summary_text li").toHaveText("S00042 goes to Tainan.");
});

test("the history has the same line", async () => {
    const { type, ...values } = SUMMARY;
    const timeline = [{ type, ...values }];
    const turn = { id: 3, state: "done", tool_calls: [], usage: null, error: null, timeline };
    server.message(conversation, "user", "/compact");
    server.message(conversation, "assistant", "", turn).id = null;
    await mountChat({ conversationId: conversation.id });
    expect(".o_ai_chat_summary").toHaveCount(1);
    expect(".o_ai_chat_ending").toHaveCount(0);
});

test("/compact is sent as what it is, with what to keep in mind", async () => {
    server.message(conversation, "user", "One");
    await mountChat({ conversationId: conversation.id });
    await ask("/compact keep the ids");
    const [{ body }] = server.requestsTo("POST /api/ai/conversations");
    expect(body.compact).toBe(true);
    expect(body.content).toBe("keep the ids");
    expect(".o_ai_chat_bubble:last").toHaveText("/compact keep the ids");
    expect(".o_ai_chat_input").toHaveValue("");
    await say(server, [1, SUMMARY], [2, { type: "done", message_id: null, state: "done" }]);
    expect(".o_ai_chat_summary").toHaveCount(1);
});

test("in other words it is still /compact", async () => {
    server.message(conversation, "user", "One");
    const { id } = server.message(conversation, "user", "/compact keep the ids");
    await mountChat({ conversationId: conversation.id });
    await click(".o_ai_chat_edit_question:last");
    await settle();
    await click(".o_ai_chat_question_input");
    await edit("/compact keep the prices");
    await click(".o_ai_chat_question_form [type=submit]");
    await settle();
    const [{ body }] = server.requestsTo("POST /api/ai/conversations");
    expect([body.compact, body.content, body.edit_of]).toEqual([true, "keep the prices", id]);
});

test("a chat that has not begun has nothing to sum up", async () => {
    await mountChat();
    await ask("/compact");
    expect(".o_ai_chat_command strong").toHaveText("There is nothing to sum up yet.");
    expect(server.requestsTo("POST")).toEqual([]);
});
