import { markRaw } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { Reactive } from "@web/core/utils/reactive";
import { conversationTitle } from "../core/format";
import { hasOpenText } from "../turn/turn_state";
import { knownMessages, liveMessage, messageFromServer, turnKey } from "./chat_message";
import { LiveTurn } from "../turn/live_turn";

/** Messages that one request brings. */
export const PAGE_SIZE = 30;

/** An open conversation as it is read: its messages, and the turn that runs in it. */
export class WatchedThread extends Reactive {
    /**
     * @param {import("../core/ai_api").AiApi} api
     * @param {Object} conversation as the list knows it; may be just `{id}`
     * @param {{onActivity?: (thread: WatchedThread) => void}} [hooks] called when a message was
     *  accepted and when a turn ended; `onNews(state)` when an answer is there or waits for a word
     */
    constructor(api, conversation, { onActivity = () => {}, onNews = () => {} } = {}) {
        super();
        this.api = markRaw(api);
        this.onActivity = onActivity;
        this.onNews = onNews;
        this.id = conversation.id;
        this.name = conversation.name || "";
        this.assistant = conversation.assistant || null;
        this.cloudService = conversation.cloud_service || null;
        this.folderId = conversation.folder_id || null;
        this.record = conversation.record || null;
        /** [{id, name, image_url}]: who may answer the last question once more. */
        this.assistants = conversation.assistants || [];
        /** Whether the person may post on that record in the backend. */
        this.canPost = conversation.can_post || false;
        /** Nothing lists it, and it is deleted when the person leaves it. */
        this.isTemporary = conversation.temporary || false;
        /** @type {import("./chat_message").ChatMessage[]} oldest first */
        this.messages = [];
        /** How full the last request to the model was, see ContextUse; null where nobody knows. */
        this.context = null;
        this.hasMore = false;
        /** Why nothing can be asked here any more, empty while it can. */
        this.closed = "";
        this.isLoaded = false;
        this.isLoading = false;
        this.isLoadingMore = false;
        this.error = null;
        /** @type {LiveTurn|null} the turn that runs and is watched */
        this.live = null;
        this.refreshing = null;
        /** Only a thread that is shown keeps a stream open. */
        this.isShown = true;
        /** Counts what was sent from here: an answer that is older than that is out of date. */
        this.version = 0;
    }

    get isRunning() {
        return Boolean(this.live);
    }

    get title() {
        return this.isTemporary ? _t("Temporary chat") : conversationTitle(this);
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
            this.assistants = data.assistants;
            this.cloudService = data.cloud_service;
            this.folderId = data.folder_id;
            this.record = data.record;
            this.canPost = data.can_post;
            this.isTemporary = data.temporary;
            this.closed = data.closed;
            this.context = data.context;
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
        const live = runningKey ? [known.get(runningKey) || liveMessage(turn, turn.assistant)] : [];
        if (!older.length) {
            this.hasMore = hasMore;
        }
        latest.splice(this.placeOfLive(latest, turn), 0, ...live);
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

    /** Below its question; a retry below the answers before it, and above what was asked meanwhile. */
    placeOfLive(messages, turn) {
        const asked = messages.findIndex(
            ({ role, turnId }) => role === "user" && turnId === turn?.id
        );
        const queued = messages.findIndex((message) => message.queued);
        if (asked !== -1) {
            return asked + 1;
        }
        return queued === -1 ? messages.length : queued;
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
                    this.context = turn.usage?.context || this.context;
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

    /** @param {Object} [assistant] who answers */
    addLive(question, turnId, assistant = this.assistant) {
        const index = this.messages.findIndex(({ key }) => key === question.key);
        const live = liveMessage({ id: turnId, state: "queued" }, assistant);
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
}
