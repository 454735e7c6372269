import { onPatched, onWillUnmount, useEnv, useState } from "@odoo/owl";
import { useService } from "@web/core/utils/hooks";

/** Where the person is next who has decided with this element: at the call, else in the answer. */
function placeAfter(element) {
    return (
        element.closest(".o_ai_chat_tool")?.querySelector(".o_ai_chat_tool_head") ||
        element.closest(".o_ai_chat_scroll")
    );
}

/**
 * Sends a decision once and keeps what the server said against it: a sentence, and codes of fields.
 *
 * `onDecision` of the environment, `(body, error) => void`, is told of it where no stream is.
 */
export function useDecision() {
    const chat = useService("ai_chat");
    const { onDecision } = useEnv();
    const state = useState({ isBusy: false, error: "", fields: {} });
    let decider = null;
    let place = null;

    /** What was decided with goes from the screen: its focus does not go with it. */
    function keepFocus() {
        const active = document.activeElement;
        if (place && (active === document.body || active === decider)) {
            place.focus({ preventScroll: true });
        }
        place = null;
    }

    async function decide(turnId, body) {
        if (state.isBusy) {
            return;
        }
        decider = document.activeElement;
        place = placeAfter(decider);
        Object.assign(state, { isBusy: true, error: "", fields: {} });
        try {
            await chat.api.decide(turnId, body);
            onDecision?.(body, null);
        } catch (error) {
            state.error = error;
            state.fields = error.details?.fields || {};
            if (error.status === 409) {
                chat.thread?.refresh();
            }
            onDecision?.(body, error);
        } finally {
            state.isBusy = false;
        }
    }
    onPatched(() => !decider?.isConnected && keepFocus());
    onWillUnmount(keepFocus);
    return { state, decide };
}
