import {
    advanceTime,
    animationFrame,
    beforeEach,
    click,
    describe,
    edit,
    expect,
    press,
    queryAllTexts,
    queryOne,
    test,
} from "@odoo/hoot";
import { mockService } from "@web/../tests/web_test_helpers";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { ConversationIndex } from "@woow_paas_platform/conversations/conversation_index";
import { LIST_REFRESH } from "@woow_paas_platform/ai_chat/ai_chat_service";
import { ask, CALL, mountChat, settle, setVisibility } from "../ai_chat_test_helpers";
import { refusal } from "../fake_responses";
import { FakeServer } from "../fake_server";

describe.current.tags("desktop");
defineMailModels();

/** @type {FakeServer} */
let server;
beforeEach(() => {
    sessionStorage.clear();
    server = new FakeServer();
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
        const lines = rows.map((text) => text.split("\n")[0]);
        expect(lines).toEqual(["One moment.", "Round 1 of 5", "Done", "Noon."]);
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

    test("about one cloud service are the only ones that its page lists and makes", async () => {
        const shop = { id: 5, name: "Shop" };
        server.cloudServices = [
            { ...shop, state: "running", workspace: { id: 1, name: "ACME" } },
            { id: 6, name: "Wiki", state: "running", workspace: { id: 1, name: "ACME" } },
        ];
        const listed = server.conversation({ cloud_service: shop });
        await mountChat({ conversationId: listed.id, cloudService: shop });
        expect(server.requestsTo("GET /api/ai/conversations?")[0].line).toMatch(
            /cloud_service_id=5/
        );
        expect(".o_ai_chat_conversation").not.toHaveText(/Shop/);
        await click(".o_ai_chat_delete");
        await animationFrame();
        await click(".modal .btn-danger");
        await settle();
        expect(".o_ai_chat_service").toHaveCount(0);
        expect(".o_ai_chat_about").toHaveText("This chat is about Shop");
        await ask("Restart it");
        expect(server.requestsTo("POST /api/ai/conversations")[1].body.cloud_service_id).toBe(5);
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
        expect(".o_ai_chat_rename").toBeFocused();
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
            refusal(401, "unauthenticated", "Bye.")
        );
        await mountChat({ conversationId: conversation.id });
        expect(".o_ai_chat_error a").toHaveAttribute("href", /^\/web\/login\?redirect=/);
    });
});

describe("export", () => {
    test("is a menu for the keyboard, with files and a copy", async () => {
        const conversation = server.conversation({ name: "Trip" });
        await mountChat({ conversationId: conversation.id });
        await settle();
        expect(".o_ai_chat_action_menu").toHaveCount(0);
        await click(".o_ai_chat_export button[aria-haspopup]");
        await animationFrame();
        expect(".o_ai_chat_action_menu [role=menuitem]:eq(0)").toBeFocused();
        await press("ArrowDown");
        expect(".o_ai_chat_action_menu [role=menuitem]:eq(1)").toBeFocused();
        await press("Escape");
        await animationFrame();
        expect(".o_ai_chat_action_menu").toHaveCount(0);
        expect(".o_ai_chat_export button[aria-haspopup]").toBeFocused();
    });

    test("closes when its button moves, and not when an answer scrolls", async () => {
        const conversation = server.conversation({ name: "Trip" });
        await mountChat({ conversationId: conversation.id });
        const moves = [
            [window, "resize"],
            [document, "scroll"],
        ];
        for (const [place, name] of moves) {
            await click(".o_ai_chat_export button[aria-haspopup]");
            await animationFrame();
            queryOne(".o_ai_chat_scroll").dispatchEvent(new Event("scroll"));
            await animationFrame();
            expect(".o_ai_chat_action_menu").toHaveCount(1);
            place.dispatchEvent(new Event(name));
            await animationFrame();
            expect(".o_ai_chat_action_menu").toHaveCount(0);
        }
    });

    test("says why there is no file", async () => {
        const conversation = server.conversation({ name: "Trip" });
        mockService("notification", { add: (sentence) => expect.step(sentence) });
        await mountChat({ conversationId: conversation.id });
        server.interrupt("format=pdf", refusal(422, "pdf_unavailable", "No PDF here."));
        await click(".o_ai_chat_export button[aria-haspopup]");
        await animationFrame();
        await click("[role=menuitem]:contains(PDF)");
        await settle();
        expect.verifySteps(["No PDF here."]);
    });
});

test("one that is deleted elsewhere goes, also from a list that has more", async () => {
    const rows = Array.from({ length: 70 }, (_, index) => ({
        id: index + 1,
        pinned: false,
        last_message_at: new Date(Date.UTC(2026, 0, 70 - index)).toISOString(),
    }));
    const page = (before) => {
        const start = before ? rows.findIndex(({ id }) => id === before) + 1 : 0;
        return { conversations: rows.slice(start, start + 30), has_more: start + 30 < rows.length };
    };
    const list = new ConversationIndex({ conversations: async ({ before }) => page(before) });
    await list.load();
    await list.loadMore();
    const shown = () => list.conversations.map(({ id }) => id);
    const firstOf = (count) => rows.slice(0, count).map(({ id }) => id);
    expect(shown()).toEqual(firstOf(60));
    rows.splice(2, 1);
    await list.load();
    expect(shown()).toEqual(firstOf(59));
    rows.splice(58, 1);
    await list.loadMore();
    expect(shown()).toEqual(firstOf(30));
    await list.loadMore();
    expect(shown()).toEqual(firstOf(60));
    rows.splice(60);
    await list.loadMore();
    expect(shown()).toEqual(firstOf(60));
});
