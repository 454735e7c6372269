import { markRaw } from "@odoo/owl";
import { uuid } from "@web/core/utils/strings";
import { isFinal } from "../turn/turn_state";
import { chatMessage, turnKey } from "./chat_message";
import { WatchedThread } from "./watched_thread";

const COMPACT = /^\/compact(?:\s+([^]*))?$/;

/** An open conversation, and what is sent into it. */
export class ChatThread extends WatchedThread {
    /**
     * @param {import("../core/ai_api").AiApi} api
     * @param {Object} conversation see WatchedThread
     * @param {import("../composer/outbox").Outbox} outbox
     * @param {Object} [hooks] see WatchedThread
     */
    constructor(api, conversation, outbox, hooks) {
        super(api, conversation, hooks);
        this.outbox = markRaw(outbox);
        this.isRetrying = false;
    }

    /** While the turn waits for a decision, what is sent waits for its end. */
    get canSteer() {
        return this.isRunning && this.live.turn.state !== "waiting";
    }

    get isSending() {
        return this.messages.some((message) => message.status === "sending");
    }

    /** @returns {Promise<void>} never rejects: a failure stands at the message */
    async send(
        text,
        { editOf = null, pending = [], records = [], steers = false, note = null } = {}
    ) {
        const token = uuid();
        const message = { token, text, editOf, pending, records, steers, note };
        this.outbox.add(this.id, message);
        await this.push(message);
    }

    /**
     * Has what was said so far summed up.
     *
     * @param {string} note what to keep in mind
     */
    compact(note) {
        return this.send(`/compact ${note}`.trim(), { note });
    }

    /** Sends once more what the page before this one sent without hearing of its arrival. */
    async sendUnsent() {
        for (const { files, ...message } of this.outbox.of(this.id)) {
            if (!this.messages.some(({ token }) => token === message.token)) {
                const pending = files.map((kept) => ({ key: uuid(), name: kept.name, kept }));
                await this.push({ ...message, pending });
            }
        }
    }

    push(message) {
        this.messages.push(chatMessage({ ...message, key: message.token, status: "sending" }));
        return this.deliver(this.messages.at(-1));
    }

    /** Sends a message that failed once more; the same token never starts a second turn. */
    async resend(message) {
        message.status = "sending";
        message.error = null;
        await this.deliver(message);
    }

    /** Takes a question back that waits for its turn. */
    async cancelQueued(message) {
        this.version++;
        try {
            await this.api.stopTurn(message.queued.turnId);
        } catch (error) {
            this.error = error;
        }
        await this.refresh();
    }

    /**
     * Asks a question in other words: what followed the old ones is left, and nothing of it is repeated. A command that
     * sums up is one in this place, too.
     *
     * @param {import("../mentions/mention_center").MentionedRecord[]} records that stay attached
     */
    async askAnew(question, text, records) {
        const index = this.messages.findIndex(({ key }) => key === question.key);
        const left = this.messages.splice(index);
        const command = COMPACT.exec(text);
        const sums = command && { note: command[1] || "", records: [] };
        await this.send(text, { editOf: question.id, records, ...sums });
        const sent = this.messages[index];
        if (sent?.status === "failed") {
            this.error = sent.error;
            this.outbox.remove(this.id, sent);
            left[0].unsent = { text, records };
            this.messages.splice(index, 1, ...left);
        } else {
            await this.refresh();
        }
    }

    /** Shows another wording of a question, and what followed it. */
    async showVersion(turnId) {
        this.version++;
        try {
            await this.api.showVersion(turnId);
            this.messages = [];
        } catch (error) {
            this.error = error;
        }
        await this.refresh();
    }

    async deliver(message) {
        this.version++;
        try {
            const files = message.pending.map(({ kept }) => kept);
            const answer = await this.api.sendMessage(this.id, {
                content: message.note ?? message.text,
                isCompact: typeof message.note === "string",
                clientToken: message.token,
                editOf: message.editOf,
                when: this.isRunning && !message.editOf ? this.whenOf(message) : undefined,
                attachmentIds: files.map(({ id }) => id),
                records: this.refsOf(message),
            });
            this.version++;
            this.outbox.remove(this.id, message);
            Object.assign(message, { files, pending: [] });
            this.accept(message, answer);
        } catch (error) {
            message.status = "failed";
            message.error = error;
            if (!error.isTemporary && !error.isSignedOut) {
                this.outbox.remove(this.id, message);
            }
            if (error.status === 409) {
                // somebody, or another tab, was faster: show the turn that is in the way
                await this.refresh();
            }
        }
    }

    /** Another wording says which records it has, also if it has none any more. */
    refsOf({ records, editOf, note }) {
        const isSaid = records.length || (editOf && note === null);
        return isSaid ? records.map(({ model, id }) => ({ model, id })) : undefined;
    }

    whenOf({ steers }) {
        return steers && this.canSteer ? "steer" : "queue";
    }

    /**
     * Answers the last question once more; nothing that was called is called again.
     *
     * @param {{id: number, name: string, image_url: string|null}} [assistant] another one, who answers this time
     */
    async retry(answer, assistant) {
        const { turnId } = answer.turn;
        this.isRetrying = true;
        this.version++;
        try {
            const accepted = await this.api.retryTurn(turnId, assistant?.id);
            this.version++;
            const question = this.messages.findLast(({ role }) => role === "user");
            if (!answer.id) {
                // nothing of it was kept: the new answer takes its place
                this.messages = this.messages.filter(({ key }) => key !== answer.key);
            }
            const sameOne = answer.assistantId && { ...answer.author, id: answer.assistantId };
            this.accept(question, accepted, {
                atEnd: true,
                assistant: assistant || sameOne || undefined,
            });
        } catch (error) {
            this.error = error;
            if (error.status === 409) {
                await this.refresh();
            }
        } finally {
            this.isRetrying = false;
        }
    }

    /**
     * Rates an answer.
     *
     * @param {Object|null} values of `AiApi.rate`, null: takes the rating back
     */
    async rate(answer, values) {
        this.version++;
        answer.rating = await this.api.rate(answer.turn.turnId, values);
        this.version++;
    }

    accept(
        message,
        { message_id: id, turn_id: turnId, stream_url: url },
        { atEnd, assistant } = {}
    ) {
        this.replaceTwin(message, id);
        if (!atEnd) {
            Object.assign(message, { id, status: "sent", date: new Date().toISOString() });
        }
        const key = turnKey(turnId);
        const existing = this.messages.find((candidate) => candidate.key === key);
        if (!existing && this.live && this.live.id !== turnId) {
            message.queued = { turnId, url, steers: message.steers };
            this.removeEntered(this.live.turn);
            this.onActivity(this);
            return;
        }
        if (!existing) {
            this.addLive(atEnd ? this.messages.at(-1) : message, turnId, assistant);
        }
        if (this.isShown && !(existing && isFinal(existing.turn))) {
            this.follow(turnId, url, key);
        }
        this.onActivity(this);
    }

    /** A message whose 202 got lost may have come with the history meanwhile: it stands where that one stood. */
    replaceTwin(message, id) {
        const isOther = ({ key }) => key !== message.key;
        const twin = this.messages.find((candidate) => candidate.id === id && isOther(candidate));
        if (twin) {
            const others = this.messages.filter(isOther);
            this.messages = others.map((candidate) => (candidate.id === id ? message : candidate));
        }
    }

    /** Takes a message that failed out of the thread and gives its text back. */
    withdraw(message) {
        this.outbox.remove(this.id, message);
        this.messages = this.messages.filter((candidate) => candidate.key !== message.key);
        return message.text;
    }
}
