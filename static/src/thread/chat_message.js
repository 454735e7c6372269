import { markRaw } from "@odoo/owl";
import { turnStateFromMessage } from "../turn/turn_history";
import { hasOpenText, isFinal, newTurnState } from "../turn/turn_state";

/**
 * A message as the view sees it.
 *
 * @typedef {Object} ChatMessage
 * @property {string} key stable from "being sent" to "in the history"
 * @property {number|null} id
 * @property {"user"|"assistant"} role
 * @property {string} text
 * @property {string} html
 * @property {Object[]} files attached and kept by the server: {id, name, mimetype, url}
 * @property {import("./pending_files").PendingFile[]} pending attached and not yet kept by the server
 * @property {import("../mentions/mention_center").MentionedRecord[]} records attached
 * @property {string|null} date ISO
 * @property {import("../core/turn_state").TurnState|null} turn of an assistant's message
 * @property {"sending"|"sent"|"failed"} status
 * @property {number|null} assistantId who answers
 * @property {number|null} turnId of the turn that a question started
 * @property {import("../turn/rating").AnswerRating|null} rating the person's own, of an answer
 * @property {number[]} versions the turns of all wordings of a question; empty if there is one
 * @property {{turnId: number, url: string, steers: boolean}|null} queued the turn of a question that waits; with
 *  `steers` it may enter the answer that is being written
 * @property {boolean} steers it is to enter the answer that is being written
 * @property {string|null} note of the command that sums up the conversation: what to keep in mind
 * @property {number|null} editOf the message that this one asks in other words
 * @property {{text: string, records: Object[]}|null} unsent other words of a question that could not be sent
 * @property {string|null} token the client token, until the history has the message
 * @property {import("../core/api_error").AiApiError|null} error why it was not sent
 */

/** @returns {ChatMessage} */
export function chatMessage(values) {
    return {
        key: "",
        id: null,
        role: "user",
        text: "",
        html: "",
        author: null,
        files: [],
        pending: [],
        records: [],
        date: null,
        turn: null,
        assistantId: null,
        turnId: null,
        rating: null,
        versions: [],
        queued: null,
        steers: false,
        note: null,
        editOf: null,
        unsent: null,
        status: "sent",
        token: null,
        error: null,
        ...values,
    };
}

export function turnKey(turnId) {
    return `turn-${turnId}`;
}

/** The answer of a turn that runs. */
export function liveMessage({ id, state }, assistant) {
    return chatMessage({
        key: turnKey(id),
        role: "assistant",
        author: assistant,
        assistantId: assistant?.id || null,
        turn: markRaw(newTurnState(id, state)),
    });
}

/** @returns {Map<string|number, ChatMessage>} the messages by id and by key */
export function knownMessages(messages) {
    const known = new Map();
    for (const message of messages) {
        known.set(message.id || message.key, message);
        known.set(message.key, message);
    }
    return known;
}

/** Keeps the object of a message that is known already, so that its view stays as it is. */
export function messageFromServer(values, known = new Map()) {
    const { id, role, text, html, author, date } = values;
    const isTurn = role === "assistant" && values.turn;
    const message = known.get(id) || (isTurn && known.get(turnKey(values.turn.id)));
    const { turn_id: turnId = null, versions = [] } = values;
    const { attachments: files = [], records = [] } = values;
    const attached = { files, records, pending: [] };
    const { rating = null, assistant_id: assistantId = null } = values.turn || {};
    const content = { id, role, text, html, author, date, turnId, versions, ...attached };
    const fields = { ...content, rating, assistantId, status: "sent", error: null };
    if (!message) {
        const turn = role === "assistant" ? markRaw(turnStateFromMessage(values)) : null;
        const key = isTurn ? turnKey(values.turn.id) : `message-${id}`;
        return chatMessage({ ...fields, key, turn });
    }
    // what was seen live stays, unless it missed the end
    const isComplete = message.turn && isFinal(message.turn) && !hasOpenText(message.turn);
    if (role === "assistant" && !isComplete) {
        fields.turn = markRaw(turnStateFromMessage(values));
    }
    return Object.assign(message, fields);
}
