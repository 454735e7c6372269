import { Component, useEffect, useRef, xml } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { isFinal, openQuestions, runningCalls } from "../core/turn_state";
import { Message } from "./message";
import { Question } from "./question";
import { useStickToBottom } from "./stick_to_bottom";

/** Pixels from the top at which older messages are fetched. */
const NEAR_TOP = 120;

/** What a screen reader hears while the answer itself is still busy. */
export class ThreadStatus extends Component {
    static template = xml`<div class="visually-hidden" role="status" t-out="text"/>`;
    static props = {
        thread: Object,
    };

    get text() {
        const turn = this.props.thread.messages.at(-1)?.turn;
        if (!turn) {
            return "";
        }
        const asked = openQuestions(turn).length;
        if (asked) {
            return asked === 1
                ? _t("The assistant waits for your decision.")
                : _t("The assistant waits for %(count)s decisions of yours.", { count: asked });
        }
        const call = runningCalls(turn).at(-1)?.call;
        if (call) {
            return _t("The assistant uses %(tool)s.", { tool: call.title || call.tool });
        }
        if (!isFinal(turn)) {
            return _t("The assistant is answering.");
        }
        return turn.lastSeq ? _t("The answer is complete.") : "";
    }
}

/** The messages of a conversation, oldest first. */
export class Thread extends Component {
    static template = "woow_paas_platform.Thread";
    static components = { Message, Question, ThreadStatus };
    static props = {
        thread: Object,
        /** Whether answers that are complete show their tool calls. */
        areCallsShown: { type: Boolean, optional: true },
        onEdit: Function,
    };

    setup() {
        this.scroll = useRef("scroll");
        this.content = useRef("content");
        this.stick = useStickToBottom(this.scroll, this.content);
        useEffect(
            () => this.stick.toBottom(),
            () => [this.lastOwnKey]
        );
        useEffect(
            () => this.stick.restore(),
            () => [this.props.thread.messages[0]?.key]
        );
    }

    /** Sending a message brings the view to it. */
    get lastOwnKey() {
        const own = this.props.thread.messages.findLast(({ role }) => role === "user");
        return own?.key;
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
        const { messages, isRunning, isRetrying } = this.props.thread;
        if (isRunning || isRetrying || message.role !== "assistant") {
            return false;
        }
        const isLast = message.key === messages.at(-1).key;
        return isLast && isFinal(message.turn) && Boolean(message.turn.turnId);
    }

    get canEdit() {
        const { isRunning, isRetrying, isSending } = this.props.thread;
        return !isRunning && !isRetrying && !isSending;
    }

    askAnew(message, text) {
        this.props.thread.askAnew(message, text);
    }

    showVersion(turnId) {
        this.props.thread.showVersion(turnId);
    }

    retry(message) {
        this.props.thread.retry(message);
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

    onClick(ev) {
        if (ev.target.closest("[aria-expanded], .o_ai_chat_tool_all")) {
            this.stick.hold();
        }
    }
}
