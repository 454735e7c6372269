import { beforeEach, describe, expect, press, queryAllTexts, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { actionOf, shortcutRows } from "@woow_paas_platform/commands/shortcuts";
import { ask, mountChat, say, settle } from "../ai_chat_test_helpers";
import { FakeServer } from "../fake_server";

const key = (name, pressed) => new KeyboardEvent("keydown", { key: name, ...pressed });

describe("keys", () => {
    describe.current.tags("headless");

    test("mean the same on each system, by its own key", () => {
        const portal = { isOurs: true };
        expect(actionOf(key("k", { ctrlKey: true }), { ...portal, isMac: false })).toBe("search");
        expect(actionOf(key("k", { metaKey: true }), { ...portal, isMac: true })).toBe("search");
        expect(actionOf(key("k", { ctrlKey: true }), { ...portal, isMac: true })).toBe("");
        expect(actionOf(key("O", { ctrlKey: true, shiftKey: true }), { isMac: false })).toBe(
            "startNew"
        );
        for (const pressed of [{}, { ctrlKey: true }, { ctrlKey: true, altKey: true }]) {
            expect(actionOf(key("o", pressed), { isMac: false })).toBe("");
        }
    });

    test("leave Odoo's palette its own", () => {
        const backend = { isMac: false, isOurs: false };
        expect(actionOf(key("k", { ctrlKey: true }), backend)).toBe("");
        const names = (where) => shortcutRows(where).map(({ name }) => name);
        expect(names(backend)).toEqual(["Ctrl+Shift+O", "Shift+Esc", "Esc"]);
        expect(names({ isMac: true, isOurs: true })[0]).toBe("⌘+K");
    });
});

describe("in the chat", () => {
    describe.current.tags("desktop");
    defineMailModels();

    /** @type {FakeServer} */
    let server;
    beforeEach(() => {
        sessionStorage.clear();
        server = new FakeServer();
    });

    test("a new chat is begun, and the input reached, from anywhere", async () => {
        await mountChat({ conversationId: server.conversation({ name: "Old" }).id });
        expect(".o_ai_chat_title").toHaveText("Old");
        document.activeElement.blur();
        await press(["ctrl", "shift", "o"]);
        await settle();
        expect(".o_ai_chat_title").toHaveText("New chat");
        expect(".o_ai_chat_input").toBeFocused();
        document.querySelector(".o_ai_chat_search").focus();
        await press(["shift", "Escape"]);
        expect(".o_ai_chat_input").toBeFocused();
    });

    test("Escape stops the answer", async () => {
        await mountChat();
        await ask("Hi");
        await say(server, [1, { type: "text", content: "He", step: 0 }]);
        await press("Escape");
        await settle();
        expect(server.requestsTo("/stop")).toHaveLength(1);
        await press("Escape");
        await settle();
        expect(server.requestsTo("/stop")).toHaveLength(1);
    });

    test("/help lists them", async () => {
        await mountChat();
        await ask("/help");
        expect(queryAllTexts(".o_ai_chat_command dt")).toInclude("Esc");
    });
});
