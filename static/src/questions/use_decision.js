import { useState } from "@odoo/owl";
import { useService } from "@web/core/utils/hooks";

/** Sends a decision once and keeps what the server said against it: a sentence, and codes of fields. */
export function useDecision() {
    const chat = useService("ai_chat");
    const state = useState({ isBusy: false, error: "", fields: {} });
    async function decide(turnId, body) {
        if (state.isBusy) {
            return;
        }
        Object.assign(state, { isBusy: true, error: "", fields: {} });
        try {
            await chat.api.decide(turnId, body);
        } catch (error) {
            state.error = error.message;
            state.fields = error.details?.fields || {};
            if (error.status === 409) {
                chat.thread?.refresh();
            }
        } finally {
            state.isBusy = false;
        }
    }
    return { state, decide };
}
