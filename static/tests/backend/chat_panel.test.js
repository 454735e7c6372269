import { click, expect, press, queryOne, test } from "@odoo/hoot";
import { Component, xml } from "@odoo/owl";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import {
    allowTranslations,
    mountWithCleanup,
    patchWithCleanup,
} from "@web/../tests/web_test_helpers";
import { ChatPanel, chatPanelService, ChatSystray } from "@woow_paas_platform/backend/chat_panel";
import { settle } from "../ai_chat_test_helpers";

defineMailModels();

class Frame extends Component {
    static template = xml`<button class="close" t-on-click="props.chat.onClose">Close</button>`;
    static props = ["*"];
}

test("whichever way the panel is closed, its button has the focus again", async () => {
    patchWithCleanup(ChatPanel, { components: { ChatFrame: Frame } });
    await mountWithCleanup(ChatSystray);
    for (const close of [() => click(".close"), () => press("Escape")]) {
        await click(".o_ai_chat_systray button");
        await settle();
        queryOne(".close").focus();
        await close();
        await settle();
        expect(".o_ai_chat_panel").toHaveCount(0);
        expect(".o_ai_chat_systray button").toBeFocused();
    }
});

test("an answer that failed is not told as one", () => {
    allowTranslations();
    const handlers = {};
    const add = (sentence, { type }) => expect.step(`${type}: ${sentence}`);
    chatPanelService.start(
        { services: {} },
        {
            action: {},
            orm: {},
            bus_service: { subscribe: (event, handler) => (handlers[event] = handler) },
            notification: { add },
            title: { setCounters: () => {} },
        }
    );
    const at = new Date(Date.now() + 60_000).toISOString();
    for (const state of ["done", "waiting", "failed"]) {
        const values = { conversation_id: 5, name: "Tea", assistant: "Ada", at };
        handlers["woow_ai/turn_ended"]({ ...values, state });
    }
    expect.verifySteps([
        "success: Ada replied in “Tea”.",
        "warning: Ada is waiting for your decision in “Tea”.",
        "danger: Ada could not answer in “Tea”.",
    ]);
});

test("what was read anywhere is new no more", () => {
    const handlers = {};
    const panel = chatPanelService.start(
        { services: {} },
        {
            action: {},
            orm: {},
            bus_service: { subscribe: (event, handler) => (handlers[event] = handler) },
            notification: { add: () => () => {} },
            title: { setCounters: () => {} },
        }
    );
    const at = new Date(Date.now() + 60_000).toISOString();
    handlers["woow_ai/turn_ended"]({ conversation_id: 5, name: "", assistant: "", at });
    expect([...panel.unseen]).toEqual([5]);
    handlers["woow_ai/seen"]({ conversation_id: 5 });
    expect(panel.unseen.size).toBe(0);
});

test("what was read in the chat is not unread in Discuss", () => {
    const handlers = {};
    const member = { message_unread_counter: 1 };
    const thread = { self_member_id: member, markAsRead: () => expect.step("read") };
    const known = { "discuss.channel": { 5: thread } };
    const store = { Thread: { get: ({ model, id }) => known[model][id] } };
    chatPanelService.start(
        { services: { "mail.store": store } },
        {
            action: {},
            orm: {},
            bus_service: { subscribe: (event, handler) => (handlers[event] = handler) },
            notification: { add: () => () => {} },
            title: { setCounters: () => {} },
        }
    );
    handlers["woow_ai/seen"]({ conversation_id: 6 });
    expect.verifySteps([]);
    handlers["woow_ai/seen"]({ conversation_id: 5 });
    expect.verifySteps(["read"]);
    expect(member.message_unread_counter).toBe(0);
    handlers["woow_ai/seen"]({ conversation_id: 5 });
    expect.verifySteps([]);
});

test("a chat that is on the screen opens what is asked for", async () => {
    const chat = { isShown: true, open: (id) => expect.step(id) };
    const panel = chatPanelService.start(
        { services: { ai_chat: chat } },
        {
            action: {},
            orm: {},
            bus_service: { subscribe: () => {} },
            notification: { add: () => () => {} },
            title: { setCounters: () => {} },
        }
    );
    panel.unseen.add(5);
    await panel.open(5);
    expect.verifySteps([5]);
    expect(panel.isOpen).toBe(false);
    expect(panel.unseen.size).toBe(0);
});
