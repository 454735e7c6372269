import { Component, useEffect, useRef, useState } from "@odoo/owl";
import { isFinal } from "../turn/turn_state";
import { useFoundWords } from "./found_words";
import { useLeftPlace } from "../scroll/left_place";
import { Message } from "./message";
import { Question } from "./question";
import { useStickToBottom } from "../scroll/stick_to_bottom";
import { TurnStatus } from "../turn/turn_status";
import { pressedKey } from "../core/keys";

/** Pixels from the top at which older messages are fetched. */
const NEAR_TOP = 120;

/** The messages of a conversation, oldest first. */
export class Thread extends Component {
    static template = "woow_paas_platform.Thread";
    static components = { Message, Question, TurnStatus };
    static props = {
        thread: Object,
        /** Whether answers that are complete show their tool calls. */
        areCallsShown: { type: Boolean, optional: true },
        /** {words, isSaid}: what the conversation was found by, and whether a message has it. */
        search: { type: [Object, { value: null }], optional: true },
        onEdit: Function,
        /** (text): a passage for the next message */
        onQuote: { type: Function, optional: true },
        /** (text): keeps a question as a prompt. */
        onSave: { type: Function, optional: true },
        /** (record, html, {isNote}); see `Message` */
        onPost: { type: Function, optional: true },
        onContinue: { type: Function, optional: true },
    };

    setup() {
        this.scroll = useRef("scroll");
        this.content = useRef("content");
        /** Keys of earlier answers that the person looks at, by the key of the first. */
        this.looked = useState({});
        /** Keys of the first answers whose versions are shown side by side. */
        this.compared = useState(new Set());
        this.post = this.post.bind(this);
        this.stick = useStickToBottom(this.scroll, this.content);
        useEffect(
            () => this.stick.toBottom(),
            () => [this.lastOwnKey]
        );
        useEffect(
            () => this.stick.restore(),
            () => [this.props.thread.messages[0]?.key]
        );
        useEffect(
            () => this.focusCompare(),
            () => [this.compared.size]
        );
        useLeftPlace(this.scroll, this.content, {
            getThread: () => this.props.thread,
            isSought: () => Boolean(this.props.search),
            stick: this.stick,
        });
        useFoundWords(this.content, {
            getSearch: () => this.props.search,
            getThread: () => this.props.thread,
            loadMore: () => this.loadMore(),
            show: (range) => this.stick.show(range),
        });
    }

    /** Of the answer that is being written, else of the last one. */
    get currentTurn() {
        const { live, messages } = this.props.thread;
        return live?.turn || messages.at(-1)?.turn;
    }

    /** Sending a message brings the view to it. */
    get lastOwnKey() {
        const own = this.props.thread.messages.findLast(({ role }) => role === "user");
        return own?.key;
    }

    /**
     * What is shown, from the top. Answers to one question stand in one place: the last of them, unless the person
     * looks at an earlier one.
     */
    get places() {
        const places = [];
        let answers = null;
        for (const message of this.props.thread.messages) {
            const isAnswer = message.role === "assistant" && Boolean(message.turn?.turnId);
            if (isAnswer && answers) {
                answers.push(message);
            } else {
                answers = isAnswer ? [message] : null;
                places.push(answers || [message]);
            }
        }
        return places.map((all) => {
            const looked = all.findIndex(({ key }) => key === this.looked[all[0].key]);
            const index = looked === -1 ? all.length - 1 : looked;
            const { key } = all[0];
            const isCompared = all.length > 1 && this.compared.has(key);
            return { key, all, index, message: all[index], isCompared };
        });
    }

    /** Shows all answers to a question side by side, or one at a time again. */
    compare({ key }) {
        this.compared.delete(key) || this.compared.add(key);
        this.comparedLast = key;
    }

    /** The button that was pressed may be gone with its column. */
    focusCompare() {
        const places = [...(this.content.el?.querySelectorAll("[data-place]") || [])];
        const place = places.find((one) => one.dataset.place === `${this.comparedLast}`);
        place?.querySelector(".o_ai_chat_compare")?.focus();
    }

    showAnswer(message, index) {
        const { all } = this.places.find((place) => place.message.key === message.key);
        this.looked[all[0].key] = all[index].key;
    }

    isLive(message) {
        const { live } = this.props.thread;
        return Boolean(live) && message.turn?.turnId === live.id;
    }

    connectionOf(message) {
        return this.isLive(message) ? this.props.thread.live.connection : undefined;
    }

    isStopping(message) {
        return this.isLive(message) && this.props.thread.live.isStopping;
    }

    /** Offered below the last answer when nothing is under way. */
    canRetry(message) {
        const { messages, isRunning, isRetrying, closed } = this.props.thread;
        if (isRunning || isRetrying || closed || message.role !== "assistant") {
            return false;
        }
        const isLast = message.key === messages.at(-1).key;
        return isLast && isFinal(message.turn) && Boolean(message.turn.turnId);
    }

    get canEdit() {
        const { isRunning, isRetrying, isSending, closed } = this.props.thread;
        return !isRunning && !isRetrying && !isSending && !closed;
    }

    askAnew(message, text, records) {
        this.props.thread.askAnew(message, text, records);
    }

    get canPost() {
        return Boolean(this.props.onPost) && this.props.thread.canPost;
    }

    post(html, options) {
        this.props.onPost(this.props.thread.record, html, options);
    }

    showVersion(turnId) {
        this.props.thread.showVersion(turnId);
    }

    retry(message, assistant) {
        for (const key of Object.keys(this.looked)) {
            delete this.looked[key];
        }
        this.props.thread.retry(message, assistant);
    }

    rate(message, values) {
        return this.props.thread.rate(message, values);
    }

    cancelQueued(message) {
        this.props.thread.cancelQueued(message);
    }

    resend(message) {
        this.props.thread.resend(message);
    }

    onScroll() {
        const { thread } = this.props;
        if (this.scroll.el.scrollTop < NEAR_TOP && thread.hasMore && !thread.error) {
            this.loadMore();
        }
    }

    loadMore() {
        if (!this.props.thread.isLoadingMore) {
            this.stick.mark();
            this.props.thread.loadMore();
        }
    }

    /** Escape stops the answer that is being read, as it does where the person writes. */
    onKeydown(ev) {
        const { live } = this.props.thread;
        const isHere = ev.target === this.scroll.el;
        if (pressedKey(ev) === "Escape" && !ev.shiftKey && isHere && live && !live.isStopping) {
            ev.preventDefault();
            ev.stopPropagation();
            live.stop();
        }
    }

    onClick(ev) {
        if (ev.target.closest("[aria-expanded], .o_ai_chat_tool_all")) {
            this.stick.hold();
        }
    }
}
