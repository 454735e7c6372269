import { newApproval, newTurnState, toolCall } from "./turn_state";

/** @returns {import("./turn_state").ToolCall} */
export function pastCall(data) {
    const outcome = data.outcome || (data.is_error ? "error" : "unknown");
    return toolCall({ ...data, outcome });
}

/** Entries of a timeline as the items that their events would have made. */
const ITEMS = {
    text_block: ({ html, text }, index) => ({
        type: "block",
        key: `text-${index}`,
        step: 0,
        html,
        text: text || "",
    }),
    thinking: ({ text, ms = 0 }, index) => ({
        type: "thinking",
        key: `thinking-${index}`,
        step: 0,
        text,
        ms,
    }),
    steered: ({ text }, index) => ({
        type: "steered",
        key: `steered-${index}`,
        turnId: null,
        text,
    }),
    tool_call: ({ id }, index, calls) => ({ type: "tool", key: `tool-${id}`, call: calls.get(id) }),
    conversation_summary: (event) => ({
        type: "summary",
        key: `summary-${event.until}`,
        summary: event,
    }),
    notice: ({ code, message }, index) => ({
        type: "notice",
        key: `notice-${index}`,
        code,
        message,
    }),
    confirm_required: (event, index) => ({
        type: "confirm",
        key: `confirm-${index}`,
        round: event.round,
        approval: {
            ...newApproval({ turnId: null }, event),
            decision: event.decision,
            by: event.by || "",
        },
    }),
};

/**
 * The same shape for a message of the history, whose events may be long gone.
 *
 * @param {{id: number, html: string, text: string, turn: Object|null}} message
 * @returns {import("./turn_state").TurnState}
 */
export function turnStateFromMessage({ id, html, text, turn }) {
    const calls = new Map((turn?.tool_calls || []).map((data) => [data.id, pastCall(data)]));
    const answer = html ? [{ type: "text_block", html, text }] : [];
    const timeline = turn?.timeline || answer;
    // kinds that this page does not know yet are left out, as they are of the stream
    const known = timeline.filter(({ type }) => Object.hasOwn(ITEMS, type));
    const items = known.map((entry, index) => ITEMS[entry.type](entry, index, calls));
    return {
        ...newTurnState(turn?.id ?? null, turn?.state || "done"),
        items,
        round: Math.max(0, ...[...calls.values()].map(({ round }) => round)),
        error: turn?.error || null,
        usage: turn?.usage || null,
        messageId: id,
    };
}
