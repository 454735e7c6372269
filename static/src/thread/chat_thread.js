import { markRaw } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { Reactive } from "@web/core/utils/reactive";
import { uuid } from "@web/core/utils/strings";
import { hasOpenText, isFinal } from "../turn/turn_state";
import {
    chatMessage,
    knownMessages,
    liveMessage,
    messageFromServer,
    turnKey,
} from "./chat_message";
import { LiveTurn } from "../turn/live_turn";
import { keepFiles } from "../composer/pending_files";

/** Messages that one request brings. */
export const PAGE_SIZE = 30;

/** An open conversation: its messages, and the turn that runs in it. */
export class ChatThread extends Reactive {
    /**
     * @param {import("../core/ai_api").AiApi} api
     * @param {Object} conversation as the list knows it; may be just `{id}`
     * @param {import("../composer/outbox").Outbox} outbox
     * @param {{onActivity?: (thread: ChatThread) => void}} [hooks] called when a message was
     *  accepted and when a turn ended; `onNews(state)` when an answer is there or waits for a word
     */
    constructor(api, conversation, outbox, { onActivity = () => {}, onNews = () => {} } = {}) {
        super();
        this.api = markRaw(api);
        this.outbox = markRaw(outbox);
        this.onActivity = onActivity;
        this.onNews = onNews;
        this.id = conversation.id;
        this.name = conversation.name || "";
        this.assistant = conversation.assistant || null;
        this.cloudService = conversation.cloud_service || null;
        this.record = conversation.record || null;
        /** @type {import("./chat_message").ChatMessage[]} oldest first */
        this.messages = [];
        this.hasMore = false;
        /** Why nothing can be asked here any more, empty while it can. */
        this.closed = "";
        this.isLoaded = false;
        this.isLoading = false;
        this.isLoadingMore = false;
        this.error = null;
        /** @type {LiveTurn|null} the turn that runs and is watched */
        this.live = null;
        this.isRetrying = false;
        this.refreshing = null;
        /** Only a thread that is shown keeps a stream open. */
        this.isShown = true;
        /** Counts what was sent from here: an answer that is older than that is out of date. */
        this.version = 0;
    }

    get isRunning() {
        return Boolean(this.live);
    }

    /** While the turn waits for a decision, what is sent waits for its end. */
    get canSteer() {
        return this.isRunning && this.live.turn.state !== "waiting";
    }

    get isSending() {
        return this.messages.some((message) => message.status === "sending");
    }

    show() {
        this.isShown = true;
        return this.refresh();
    }

    hide() {
        this.isShown = false;
        this.unfollow();
    }

    // Loading ----------------------------------------------------------------

    /** Loads the newest messages, or brings them up to date; one request at a time. */
    refresh() {
        this.refreshing ??= this.loadLatest().finally(() => {
            this.refreshing = null;
        });
        return this.refreshing;
    }

    async loadLatest() {
        this.isLoading = true;
        try {
            let data, version;
            do {
                version = this.version;
                data = await this.api.conversation(this.id, { limit: PAGE_SIZE });
            } while (version !== this.version);
            this.error = null;
            this.name = data.name;
            this.assistant = data.assistant;
            this.cloudService = data.cloud_service;
            this.record = data.record;
            this.closed = data.closed;
            this.mergeLatest(data);
            this.isLoaded = true;
        } catch (error) {
            this.error = error;
        } finally {
            this.isLoading = false;
        }
    }

    async loadMore() {
        const ids = this.messages.map(({ id }) => id).filter(Boolean);
        if (!this.hasMore || this.isLoadingMore || !ids.length) {
            return;
        }
        this.isLoadingMore = true;
        try {
            const data = await this.api.conversation(this.id, {
                limit: PAGE_SIZE,
                before: Math.min(...ids), // an answer stands before what was asked meanwhile
            });
            this.messages.unshift(...data.messages.map((values) => messageFromServer(values)));
            this.hasMore = data.has_more;
            this.error = null;
        } catch (error) {
            this.error = error;
        } finally {
            this.isLoadingMore = false;
        }
    }

    mergeLatest({ messages, has_more: hasMore, turn, queued = [], unseen }) {
        const known = knownMessages(this.messages);
        const runningKey = turn && turnKey(turn.id);
        const finished = messages.filter(
            (values) => !(values.role === "assistant" && turn && values.turn?.id === turn.id)
        );
        const latest = finished.map((values) => messageFromServer(values, known));
        const waiting = new Map(queued.map((data) => [data.message_id, data]));
        for (const message of latest) {
            const { id, stream_url: url, steers } = waiting.get(message.id) || {};
            message.queued = id ? { turnId: id, url, steers } : null;
        }
        const older = this.olderThan(messages);
        const unsent = this.messages.filter((message) => message.status !== "sent" && !message.id);
        const live = runningKey ? [known.get(runningKey) || liveMessage(turn, this.assistant)] : [];
        if (!older.length) {
            this.hasMore = hasMore;
        }
        const behind = latest.findIndex((message) => message.queued);
        latest.splice(behind === -1 ? latest.length : behind, 0, ...live);
        this.messages = [...older, ...latest, ...unsent];
        if (turn && this.isShown) {
            this.follow(turn.id, turn.stream_url, runningKey);
            this.removeEntered(this.live.turn);
        } else {
            this.unfollow();
        }
        if (unseen) {
            this.see();
        }
    }

    /** Tells the server that the person has the answers in view, if so. */
    async see() {
        if (this.isShown && document.visibilityState === "visible") {
            try {
                await this.api.see(this.id);
            } catch {
                // the next look tells it
            }
        }
    }

    /** What is shown from before the newest messages of the server. */
    olderThan(newest) {
        const ids = newest.map(({ id }) => id).filter(Boolean);
        const index = this.messages.findIndex(({ id }) => ids.includes(id));
        const oldest = Math.min(...ids);
        return this.messages.filter(
            ({ id }, at) => at < index || (index !== -1 && id && id < oldest)
        );
    }

    // Running turn -----------------------------------------------------------

    follow(id, url, key) {
        if (this.live?.id === id) {
            return;
        }
        this.unfollow();
        const message = this.messages.find((candidate) => candidate.key === key);
        this.live = new LiveTurn(
            this.api,
            { id, url, turn: message.turn },
            {
                onTurn: (turn) => {
                    message.turn = turn;
                    this.removeEntered(turn);
                },
                onAsk: () => this.onNews("waiting"),
                onDone: () => this.onDone(message),
                onLost: (error) => this.onLost(error),
            }
        );
        this.live.open();
    }

    unfollow() {
        this.live?.close();
        this.live = null;
    }

    onDone(message) {
        message.id = message.turn.messageId;
        message.date ??= new Date().toISOString();
        this.unfollow();
        this.followNext();
        this.onActivity(this);
        this.onNews(message.turn.state);
        this.see();
        if (hasOpenText(message.turn)) {
            this.refresh();
        }
    }

    /** What was queued first is answered now. */
    followNext() {
        const question = this.messages.find((message) => message.queued);
        if (!question || !this.isShown) {
            return;
        }
        const { turnId, url } = question.queued;
        question.queued = null;
        this.addLive(question, turnId);
        this.follow(turnId, url, turnKey(turnId));
    }

    /** What has entered the answer stands in it. */
    removeEntered({ items }) {
        const entered = items.filter(({ type }) => type === "steered").map(({ turnId }) => turnId);
        if (this.messages.some(({ queued }) => entered.includes(queued?.turnId))) {
            this.messages = this.messages.filter(({ queued }) => !entered.includes(queued?.turnId));
        }
    }

    addLive(question, turnId) {
        const index = this.messages.findIndex(({ key }) => key === question.key);
        const live = liveMessage({ id: turnId, state: "queued" }, this.assistant);
        this.messages.splice(index + 1, 0, live);
    }

    /** What is true now stands in the conversation. */
    onLost(error) {
        this.unfollow();
        this.refresh();
        if (error?.isSignedOut) {
            this.error = error;
        }
    }

    // Sending ----------------------------------------------------------------

    /** @returns {Promise<void>} never rejects: a failure stands at the message */
    async send(text, { editOf = null, pending = [], steers = false } = {}) {
        const message = { token: uuid(), text, editOf, pending, steers };
        this.outbox.add(this.id, message);
        await this.push(message);
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

    /** Asks a question in other words: what followed the old ones is left, and nothing of it is repeated. */
    async askAnew(question, text) {
        const index = this.messages.findIndex(({ key }) => key === question.key);
        const left = this.messages.splice(index);
        await this.send(text, { editOf: question.id });
        const sent = this.messages[index];
        if (sent?.status === "failed") {
            this.error = sent.error;
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
            const files = await keepFiles(this.api, this.id, message.pending);
            const answer = await this.api.sendMessage(this.id, {
                content: message.text,
                clientToken: message.token,
                editOf: message.editOf,
                when: this.isRunning && !message.editOf ? this.whenOf(message) : undefined,
                attachmentIds: files.map(({ id }) => id),
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

    whenOf({ steers }) {
        return steers && this.canSteer ? "steer" : "queue";
    }

    /** Answers the last question once more; nothing that was called is called again. */
    async retry(answer) {
        const { turnId } = answer.turn;
        this.isRetrying = true;
        this.version++;
        try {
            const accepted = await this.api.retryTurn(turnId);
            this.version++;
            const question = this.messages.findLast(({ role }) => role === "user");
            if (!answer.id) {
                // nothing of it was kept: the new answer takes its place
                this.messages = this.messages.filter(({ key }) => key !== answer.key);
            }
            this.accept(question, accepted, { atEnd: true });
        } catch (error) {
            this.error = error;
            if (error.status === 409) {
                await this.refresh();
            }
        } finally {
            this.isRetrying = false;
        }
    }

    accept(message, { message_id: id, turn_id: turnId, stream_url: url }, { atEnd } = {}) {
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
            this.addLive(atEnd ? this.messages.at(-1) : message, turnId);
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

    get title() {
        return this.name || this.assistant?.name || _t("New chat");
    }
}
