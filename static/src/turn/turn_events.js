/**
 * The turn as a pure function of its events: `(state, event) → state`.
 * No DOM, no clock, no network; old states stay valid and unchanged parts keep their identity.
 */
import { newApproval, newQuestion, toolCall } from "./turn_state";

function replaceItem(turn, index, item) {
    const items = turn.items.slice();
    items[index] = item;
    return { ...turn, items };
}

function addItem(turn, item) {
    return { ...turn, items: [...turn.items, item] };
}

function findCall(turn, id) {
    return turn.items.findIndex((item) => item.type === "tool" && item.call.id === id);
}

function updateCall(turn, event, change) {
    const index = findCall(turn, event.id);
    if (index === -1) {
        const call = { ...toolCall({ ...event, round: turn.round }), ...change };
        return addItem(turn, { type: "tool", key: `tool-${event.id}`, call });
    }
    const item = turn.items[index];
    return replaceItem(turn, index, { ...item, call: { ...item.call, ...change } });
}

function callOfQuestion(turn, id) {
    const asks = ({ type, call }) => type === "tool" && call.questions.some((q) => q.id === id);
    return turn.items.find(asks)?.call;
}

/** Adds a piece to what comes in pieces: text, or what the model thinks aloud; `values` are those of the last piece. */
function addPiece(turn, { type, seq, step = 0, content = "" }, values = {}) {
    const index = turn.items.length - 1;
    const last = turn.items[index];
    if (last?.type === type && last.step === step) {
        return replaceItem(turn, index, { ...last, ...values, text: last.text + content });
    }
    return addItem(turn, { type, key: `${type}-${seq}`, step, ...values, text: content });
}

const HANDLERS = {
    turn_started(turn, event) {
        return { ...turn, turnId: event.turn_id ?? turn.turnId, state: "running" };
    },

    text(turn, event) {
        return addPiece(turn, event);
    },

    thinking(turn, event) {
        return addPiece(turn, event, { ms: event.ms || 0 });
    },

    /** Takes the place of the raw text that came since the last block. */
    text_block(turn, event) {
        const step = event.step || 0;
        const isOpen = (item) => item.type === "text" && item.step === step;
        const open = turn.items.filter(isOpen);
        const block = {
            type: "block",
            key: open[0]?.key || `text-${event.seq}`,
            step,
            html: event.html || "",
            text: open.map((item) => item.text).join(""),
        };
        if (!open.length) {
            return addItem(turn, block);
        }
        const items = turn.items
            .map((item) => (item === open[0] ? block : item))
            .filter((item) => !isOpen(item));
        return { ...turn, items };
    },

    /** The model has summed up what was said before this turn. */
    conversation_summary(turn, event) {
        return addItem(turn, { type: "summary", key: `summary-${event.until}`, summary: event });
    },

    /** What the person has sent meanwhile has entered the turn. */
    steered(turn, event) {
        const { turn_id: turnId, content: text } = event;
        return addItem(turn, { type: "steered", key: `steered-${turnId}`, turnId, text });
    },

    tool_call(turn, event) {
        const round = event.round || turn.round;
        const next = { ...turn, round, maxRounds: event.max_rounds || turn.maxRounds };
        if (findCall(turn, event.id) !== -1) {
            return next;
        }
        return addItem(next, { type: "tool", key: `tool-${event.id}`, call: toolCall(event) });
    },

    tool_progress(turn, event) {
        const progress = {
            progress: event.progress ?? 0,
            total: event.total ?? null,
            message: event.message || "",
        };
        return updateCall(turn, event, { progress });
    },

    tool_result(turn, event) {
        const outcome = event.outcome || (event.is_error ? "error" : "ok");
        return updateCall(turn, event, {
            result: event.result ?? null,
            outcome,
            isError: Boolean(event.is_error ?? outcome !== "ok"),
            durationMs: event.duration_ms ?? null,
            truncated: Boolean(event.truncated),
            attachments: event.attachments || [],
            progress: null,
        });
    },

    approval_required(turn, event) {
        return updateCall(turn, event, { approval: newApproval(turn, event) });
    },

    confirm_required(turn, event) {
        const key = `confirm-${event.seq}`;
        const approval = newApproval(turn, event);
        return addItem(turn, { type: "confirm", key, round: event.round || 0, approval });
    },

    input_required(turn, event) {
        const { questions = [] } = turn.items[findCall(turn, event.call_id)]?.call || {};
        const others = questions.filter(({ id }) => id !== event.id);
        const question = newQuestion(turn.turnId, event);
        return updateCall(
            turn,
            { ...event, id: event.call_id },
            { questions: [...others, question] }
        );
    },

    decided(turn, event) {
        const call = callOfQuestion(turn, event.id);
        if (call) {
            const { decision, by = "" } = event;
            const questions = call.questions.map((question) =>
                question.id === event.id ? { ...question, decision, by } : question
            );
            return updateCall(turn, call, { questions });
        }
        const decided = {
            decision: event.decision,
            by: event.by || "",
            decisionReason: event.reason || "",
        };
        const index = turn.items.findIndex(
            (item) => item.type === "confirm" && item.approval.id === event.id
        );
        if (index !== -1) {
            const item = turn.items[index];
            return replaceItem(turn, index, {
                ...item,
                approval: { ...item.approval, ...decided },
            });
        }
        const known = turn.items[findCall(turn, event.id)]?.call;
        const approval = { ...(known?.approval || newApproval(turn, event)), ...decided };
        return updateCall(turn, event, {
            approval,
            ...(event.args && known ? { args: event.args } : {}),
        });
    },

    notice(turn, event) {
        return addItem(turn, {
            type: "notice",
            key: `notice-${event.seq}`,
            code: event.code || "",
            message: event.message || "",
        });
    },

    /** With a `step`: what was said from there on is withdrawn and comes again. */
    state(turn, event) {
        const next = { ...turn, state: event.state || turn.state };
        if (event.step === undefined || event.step === null) {
            return next;
        }
        const isWithdrawn = (item) =>
            ["text", "block", "thinking"].includes(item.type) && item.step >= event.step;
        return { ...next, items: turn.items.filter((item) => !isWithdrawn(item)) };
    },

    usage(turn, event) {
        return { ...turn, usage: event };
    },

    done(turn, event) {
        const messageId = event.message_id || turn.messageId;
        return { ...turn, state: event.state || "done", messageId };
    },

    error(turn, event) {
        const error = { code: event.code || "", message: event.message || "" };
        const messageId = event.message_id || turn.messageId;
        return { ...turn, state: "failed", error, messageId };
    },
};

/**
 * @param {import("./turn_state").TurnState} turn
 * @param {Object} event of the stream, with its `seq`; unknown types only move `lastSeq`
 * @returns {import("./turn_state").TurnState}
 */
export function applyEvent(turn, event) {
    if (event.seq <= turn.lastSeq) {
        return turn;
    }
    const handler = Object.hasOwn(HANDLERS, event.type) ? HANDLERS[event.type] : (state) => state;
    return { ...handler(turn, event), lastSeq: event.seq };
}

export function applyEvents(turn, events) {
    return events.reduce(applyEvent, turn);
}
