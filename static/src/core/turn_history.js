import { newTurnState, toolCall } from "./turn_state";

/**
 * The same shape for a message of the history, whose events may be long gone.
 *
 * @param {{id: number, html: string, text: string, turn: Object|null}} message
 * @returns {import("./turn_state").TurnState}
 */
export function turnStateFromMessage({ id, html, text, turn }) {
    const calls = (turn?.tool_calls || []).map((data) => ({
        type: "tool",
        key: `tool-${data.id}`,
        call: toolCall({
            ...data,
            outcome: data.outcome || (data.is_error ? "error" : "unknown"),
        }),
    }));
    const answer = html ? [{ type: "block", key: "answer", step: 0, html, text: text || "" }] : [];
    return {
        ...newTurnState(turn?.id ?? null, turn?.state || "done"),
        items: [...calls, ...answer],
        round: Math.max(0, ...calls.map(({ call }) => call.round)),
        error: turn?.error || null,
        usage: turn?.usage || null,
        messageId: id,
    };
}
