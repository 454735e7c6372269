/**
 * What a turn looks like, as a pure function of its events: `(state, event) → state`.
 * No DOM, no clock, no network; old states stay valid and unchanged parts keep their identity.
 *
 * @typedef {Object} TurnState
 * @property {number|null} turnId
 * @property {string} state queued, running, waiting, done, failed, stopped
 * @property {number} lastSeq
 * @property {TurnItem[]} items in the order in which they happened
 * @property {number} round
 * @property {number|null} maxRounds
 * @property {{code: string, message: string}|null} error
 * @property {Object|null} usage
 * @property {number|null} messageId
 *
 * @typedef {TextItem|BlockItem|ToolItem|NoticeItem|ConfirmItem} TurnItem
 * @typedef {{type: "text", key: string, step: number, text: string}} TextItem the open block
 * @typedef {{type: "block", key: string, step: number, html: string, text: string}} BlockItem
 * @typedef {{type: "tool", key: string, call: ToolCall}} ToolItem
 * @typedef {{type: "notice", key: string, code: string, message: string}} NoticeItem
 * @typedef {{type: "confirm", key: string, round: number, approval: Approval}} ConfirmItem
 *
 * @typedef {Object} ToolCall
 * @property {string} id
 * @property {string} tool
 * @property {string} title
 * @property {string} server
 * @property {*} args
 * @property {*} result
 * @property {string|null} outcome null while it runs
 * @property {boolean} isError
 * @property {number|null} durationMs
 * @property {number} round
 * @property {number|null} maxRounds
 * @property {boolean} truncated
 * @property {{progress: number, total: number|null, message: string}|null} progress
 * @property {Approval|null} approval
 *
 * @typedef {Object} Approval what the person is, or was, asked about a call or a round
 * @property {string} id
 * @property {number|null} turnId
 * @property {string|null} decision null while it is open
 * @property {string[]} choices
 * @property {Object} args
 * @property {string[]} fixed
 * @property {Object} schema
 * @property {string} reason
 * @property {string} by
 * @property {string} said the person's reason
 * @property {string|null} expiresAt ISO
 */

export const FINAL_STATES = ["done", "failed", "stopped"];

/** @returns {TurnState} */
export function newTurnState(turnId = null, state = "queued") {
    return {
        turnId,
        state,
        lastSeq: 0,
        items: [],
        round: 0,
        maxRounds: null,
        error: null,
        usage: null,
        messageId: null,
    };
}

export function isFinal(turn) {
    return FINAL_STATES.includes(turn.state);
}

export function hasOpenText(turn) {
    return turn.items.some((item) => item.type === "text");
}

export function runningCalls(turn) {
    return turn.items.filter((item) => item.type === "tool" && !item.call.outcome);
}

/** @returns {Approval[]} what waits for the person's word */
export function openQuestions(turn) {
    if (turn.state !== "waiting") {
        return [];
    }
    return turn.items
        .filter(({ type, call }) => type === "confirm" || (type === "tool" && !call.outcome))
        .map((item) => (item.type === "confirm" ? item.approval : item.call.approval))
        .filter((approval) => approval && !approval.decision);
}

/** @returns {string} all that the assistant said, as text */
export function turnText(turn) {
    return turn.items
        .filter((item) => item.type === "text" || item.type === "block")
        .map((item) => item.text)
        .join("");
}

function toolCall(data) {
    return {
        id: data.id,
        tool: data.tool || "",
        title: data.title || "",
        server: data.server || "",
        args: data.args ?? {},
        fixed: data.fixed || [],
        result: data.result ?? null,
        outcome: data.outcome || null,
        isError: Boolean(data.is_error),
        durationMs: data.duration_ms ?? null,
        round: data.round || 0,
        maxRounds: data.max_rounds || null,
        truncated: Boolean(data.truncated),
        progress: null,
        approval: data.approval ? pastApproval(data) : null,
    };
}

function newApproval(turn, event) {
    return {
        id: event.id,
        turnId: turn.turnId,
        decision: null,
        choices: event.choices || [],
        args: event.args || {},
        fixed: event.fixed || [],
        schema: event.schema || {},
        reason: event.reason || "",
        by: "",
        said: "",
        expiresAt: event.expires_at || null,
    };
}

/** Of a call of the history, which waits for nobody any more. */
function pastApproval({ id, approval: { state, decision, by, reason } }) {
    const past = newApproval({ turnId: null }, { id });
    return { ...past, decision: decision || state, by: by || "", said: reason || "" };
}

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

/** A call that a final event leaves without a result: its end is not known. */
function settle(turn) {
    const outcome = turn.state === "stopped" ? "cancelled" : "unknown";
    return runningCalls(turn).reduce(
        (state, { call }) => updateCall(state, call, { outcome, isError: true }),
        turn
    );
}

const HANDLERS = {
    turn_started(turn, event) {
        return { ...turn, turnId: event.turn_id ?? turn.turnId, state: "running" };
    },

    text(turn, event) {
        const step = event.step || 0;
        const index = turn.items.length - 1;
        const last = turn.items[index];
        if (last?.type === "text" && last.step === step) {
            return replaceItem(turn, index, { ...last, text: last.text + event.content });
        }
        return addItem(turn, {
            type: "text",
            key: `text-${event.seq}`,
            step,
            text: event.content || "",
        });
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

    decided(turn, event) {
        const decided = { decision: event.decision, by: event.by || "", said: event.reason || "" };
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
            (item.type === "text" || item.type === "block") && item.step >= event.step;
        return { ...next, items: turn.items.filter((item) => !isWithdrawn(item)) };
    },

    usage(turn, event) {
        return { ...turn, usage: event };
    },

    done(turn, event) {
        const messageId = event.message_id || turn.messageId;
        return settle({ ...turn, state: event.state || "done", messageId });
    },

    error(turn, event) {
        const error = { code: event.code || "", message: event.message || "" };
        const messageId = event.message_id || turn.messageId;
        return settle({ ...turn, state: "failed", error, messageId });
    },
};

/**
 * @param {TurnState} turn
 * @param {Object} event of the stream, with its `seq`; unknown types only move `lastSeq`
 * @returns {TurnState}
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

/**
 * The same shape for a message of the history, whose events may be long gone.
 *
 * @param {{id: number, html: string, text: string, turn: Object|null}} message
 * @returns {TurnState}
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
