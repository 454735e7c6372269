import { expect, test } from "@odoo/hoot";
import { Thread } from "@mail/core/common/thread_model";
import "@woow_paas_platform/backend/discuss_patch";

test("an assistant's answer makes no bubble over every screen", () => {
    const store = { discuss: { isActive: false } };
    const hasBubble = (isAiConversation) =>
        Reflect.get(Thread.prototype, "inChathubOnNewMessage", { isAiConversation, store });
    expect(hasBubble(true)).toBe(false);
    expect(hasBubble(false)).toBe(true);
});
