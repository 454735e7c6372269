import { expect, test } from "@odoo/hoot";
import { threadActionsRegistry } from "@mail/core/common/thread_actions";
import { Thread } from "@mail/core/common/thread_model";
import "@woow_paas_platform/backend/discuss_patch";

test("an assistant's answer makes no bubble over every screen", () => {
    const store = { discuss: { isActive: false } };
    const hasBubble = (isAiConversation) =>
        Reflect.get(Thread.prototype, "inChathubOnNewMessage", { isAiConversation, store });
    expect(hasBubble(true)).toBe(false);
    expect(hasBubble(false)).toBe(true);
});

test("the server says who may let assistants reply to mentions", () => {
    const { condition } = threadActionsRegistry.get("woow-ai-mentions");
    const isOffered = (thread) => condition({ thread });
    expect(isOffered({ channel_type: "channel", woow_may_allow_mentions: true })).toBe(true);
    expect(isOffered({ channel_type: "channel", woow_may_allow_mentions: false })).toBe(false);
    expect(isOffered(undefined)).toBe(false);
});
