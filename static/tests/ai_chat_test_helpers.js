import { after, animationFrame, click, edit, getFixture, press, tick } from "@odoo/hoot";
import { mountWithCleanup } from "@web/../tests/web_test_helpers";
import { AiChat } from "@woow_paas_platform/ai_chat/ai_chat";

const OBSERVED = { attributes: true, characterData: true, childList: true, subtree: true };
const MOST_FRAMES = 10; // something may always be moving

/** Lets streams, promises and renderings come to rest: until a frame has changed nothing any more. */
export async function settle() {
    let changed;
    const observer = new MutationObserver(() => (changed = true));
    observer.observe(document.body, OBSERVED);
    for (let frame = 0; frame < MOST_FRAMES; frame++) {
        changed = false;
        for (let turn = 0; turn < 5; turn++) {
            await tick();
        }
        await animationFrame();
        if (!changed) {
            break;
        }
    }
    observer.disconnect();
}

export function setVisibility(state) {
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
    after(() => delete document.visibilityState);
    document.dispatchEvent(new Event("visibilitychange"));
}

/** The whole chat, as the portal page mounts it. */
export async function mountChat(props = {}) {
    getFixture().style.height = "600px";
    await mountWithCleanup(AiChat, { props });
    await settle();
}

export async function ask(text) {
    await click(".o_ai_chat_input");
    await edit(text);
    await press("Enter");
    await settle();
}

/** Events of the turn that runs, as [seq, data]. */
export async function say(server, ...events) {
    for (const [seq, data] of events) {
        server.stream.event(seq, data);
    }
    await settle();
}

export const CALL = {
    type: "tool_call",
    id: "c1",
    tool: "get_time",
    title: "Get Time",
    server: "time",
    args: {},
    round: 1,
    max_rounds: 5,
};
