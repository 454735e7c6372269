/**
 * What a turn looks like, whether its events come in now or it stands in the history: plain data.
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
 * @typedef {{type: "thinking", key: string, step: number, text: string, ms: number}} ThinkingItem aloud, before the answer
 * @typedef {{type: "steered", key: string, turnId: number|null, text: string}} SteeredItem what the person has sent meanwhile
 * @typedef {{type: "block", key: string, step: number, html: string, text: string}} BlockItem
 * @typedef {{type: "tool", key: string, call: ToolCall}} ToolItem
 * @typedef {{type: "summary", key: string, summary: Object}} SummaryItem the event `conversation_summary`
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
 * @property {{id: number, name: string, mimetype: string, url: string}[]} attachments
 * @property {{progress: number, total: number|null, message: string}|null} progress
 * @property {Approval|null} approval
 * @property {Question[]} questions of its server, while the call went on
 * @property {"read"|"write"|""} records what it does with records of this Odoo
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
 * @property {string} server
 * @property {string} description what the server says that the tool does
 * @property {boolean} isDestructive
 * @property {Object|null} rehearsal what a change of records would do
 * @property {string} reviewHash of what is shown, sent back with the decision
 * @property {string} by
 * @property {string} decisionReason the person's reason
 * @property {string|null} expiresAt ISO
 *
 * @typedef {Object} Question what a server asks the person
 * @property {string} id
 * @property {number|null} turnId
 * @property {"form"|"url"|"sign_in"} kind
 * @property {string} message
 * @property {Object} schema of the answer's fields
 * @property {string} url to visit
 * @property {string} host where it leads
 * @property {string} server
 * @property {string[]} choices
 * @property {string|null} decision accept, decline, cancel or expired; null while it is open
 * @property {string} by
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

/** @returns {(Approval|Question)[]} what waits for the person's decision */
export function openQuestions(turn) {
    if (isFinal(turn)) {
        return [];
    }
    const isWaiting = turn.state === "waiting";
    const questions = turn.items.flatMap(({ type, approval, call }) => {
        if (type === "confirm") {
            return isWaiting ? [approval] : [];
        }
        if (type !== "tool" || call.outcome) {
            return [];
        }
        return [isWaiting && call.approval, ...call.questions];
    });
    return questions.filter((question) => question && !question.decision);
}

/** @returns {string} all that the assistant said, as text */
export function turnText(turn) {
    return turn.items
        .filter((item) => item.type === "text" || item.type === "block")
        .map((item) => item.text.trimEnd())
        .filter(Boolean)
        .join("\n\n");
}

/** @returns {string} HTML of what was said after the last call */
export function answerHtml(turn) {
    const last = turn.items.findLastIndex(({ type }) => type === "tool");
    const blocks = turn.items.slice(last + 1).filter(({ type }) => type === "block");
    return blocks.map(({ html }) => html).join("");
}

/** @returns {ToolCall} of an event, or of a call of the history */
export function toolCall(data) {
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
        records: data.records || "",
        truncated: Boolean(data.truncated),
        attachments: data.attachments || [],
        progress: null,
        approval: data.approval ? pastApproval(data) : null,
        questions: (data.questions || []).map((event) => newQuestion(null, event)),
    };
}

export function newApproval(turn, event) {
    return {
        id: event.id,
        turnId: turn.turnId,
        decision: null,
        choices: event.choices || [],
        args: event.args || {},
        fixed: event.fixed || [],
        schema: event.schema || {},
        reason: event.reason || "",
        server: event.server || "",
        description: event.description || "",
        isDestructive: Boolean(event.destructive),
        foreignValues: event.foreign_values || [],
        managePath: event.manage_path || "",
        rehearsal: event.rehearsal || null,
        reviewHash: event.review_hash || "",
        by: "",
        decisionReason: "",
        expiresAt: event.expires_at || null,
    };
}

/** @returns {Question} */
export function newQuestion(turnId, event) {
    return {
        id: event.id,
        turnId,
        kind: event.kind,
        message: event.message || "",
        schema: event.schema || {},
        url: event.url || "",
        host: event.host || "",
        server: event.server || "",
        choices: event.choices || [],
        decision: event.decision || null,
        by: event.by || "",
        expiresAt: event.expires_at || null,
    };
}

/** Of a call of the history, which waits for nobody any more. */
function pastApproval({ id, approval: { state, decision, by, reason } }) {
    const past = newApproval({ turnId: null }, { id });
    return { ...past, decision: decision || state, by: by || "", decisionReason: reason || "" };
}
