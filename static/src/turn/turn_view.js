import { Component, useRef, useState, useSubEnv } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { formatCount, formatDuration, formatSeconds } from "../core/format";
import { isFinal, openQuestions, runningCalls, turnText } from "./turn_state";
import { Elapsed } from "./elapsed";
import { CopyButton } from "../markdown/copy_button";
import { citationsOf } from "../records/citations";
import { Markdown, OpenBlock } from "../markdown/markdown";
import { SummaryDivider } from "../context/summary_divider";
import { LazyQuestion } from "../tool_call/lazy_question";
import { ToolCallCard } from "../tool_call/tool_call_card";

/** Milliseconds from which it is worth saying how long a model has thought. */
const WORTH_SAYING = 1000;

/** What the assistant did about one message: text, calls and notices, live or from the history. */
export class TurnView extends Component {
    static template = "woow_paas_platform.TurnView";
    static components = {
        CopyButton,
        Elapsed,
        LazyQuestion,
        Markdown,
        OpenBlock,
        SummaryDivider,
        ToolCallCard,
    };
    static props = {
        turn: Object,
        /** The stream's status while the turn runs; see StreamReader. */
        connection: { type: String, optional: true },
        isStopping: { type: Boolean, optional: true },
        canRetry: { type: Boolean, optional: true },
        /** Whether the calls stay visible when the answer is complete. */
        areCallsShown: { type: Boolean, optional: true },
        onRetry: { type: Function, optional: true },
        /** (text): a passage of the answer for the next message. */
        onQuote: { type: Function, optional: true },
        slots: { type: Object, optional: true },
        /** A message beside it says that the turn was stopped, or failed, and why. */
        isEndingTold: { type: Boolean, optional: true },
        /** Whether the reader is the person whom the turn asks. */
        canDecide: { type: Boolean, optional: true },
    };
    static defaultProps = { areCallsShown: true, canDecide: true };

    setup() {
        this.root = useRef("root");
        /** Ids of the calls of which the person has changed values. */
        this.edited = useState(new Set());
        useSubEnv({ onEdit: (id) => this.edited.add(id) });
    }

    get isFinal() {
        return isFinal(this.props.turn);
    }

    /** Every item, with a caption before the first call of each round. */
    get rows() {
        let round = 0;
        const isHidden = ({ type }) => type === "tool" && this.isFinal && !this.props.areCallsShown;
        const items = this.props.turn.items.filter((item) => !isHidden(item));
        return items.map((item) => {
            const isNewRound = item.type === "tool" && item.call.round > round;
            if (isNewRound) {
                round = item.call.round;
            }
            return { item, caption: isNewRound ? this.roundCaption(item.call) : "" };
        });
    }

    /** The records that the answer may name; the same as long as the calls are the same. */
    get citations() {
        const calls = this.props.turn.items.filter(({ type }) => type === "tool");
        const isSame =
            calls.length === this.calls?.length && calls.every((c, i) => c === this.calls[i]);
        if (!isSame) {
            Object.assign(this, { calls, cited: citationsOf(calls) });
        }
        return this.cited;
    }

    /** What the model thinks aloud is under way as long as nothing follows it. */
    isThinking(item) {
        return !this.isFinal && item === this.props.turn.items.at(-1);
    }

    thinkingLabel(item) {
        if (this.isThinking(item)) {
            return _t("Thinking…");
        }
        return item.ms < WORTH_SAYING
            ? _t("Thoughts")
            : _t("Thought for %(duration)s", { duration: formatSeconds(item.ms) });
    }

    roundCaption({ round, maxRounds }) {
        return maxRounds
            ? _t("Round %(round)s of %(max)s", { round, max: maxRounds })
            : _t("Round %(round)s", { round });
    }

    /** As Markdown, for the clipboard. */
    get text() {
        return turnText(this.props.turn).trim();
    }

    /** What is selected of the answer, else all of it. */
    quote() {
        const selection = document.getSelection();
        const { el } = this.root;
        const isWithin = el.contains(selection.anchorNode) && el.contains(selection.focusNode);
        this.props.onQuote((isWithin && selection.toString().trim()) || this.text);
    }

    get copyLabel() {
        return _t("Copy answer");
    }

    /** The calls that may be allowed or denied all at once. */
    get approvals() {
        const isOfCall = ({ choices }) => choices.includes("approve_once");
        return openQuestions(this.props.turn).filter(isOfCall);
    }

    /** As in the list of decisions: what goes together goes as it was asked, and destroys nothing. */
    get canAllowAll() {
        return this.approvals.every(
            ({ id, isDestructive }) => !isDestructive && !this.edited.has(id)
        );
    }

    get activity() {
        const { turn, connection, isStopping } = this.props;
        if (this.isFinal) {
            return "";
        }
        if (connection === "offline") {
            return _t("Connection lost. Reconnecting… The answer continues in the meantime.");
        }
        if (isStopping) {
            return _t("Stopping…");
        }
        if (turn.state === "waiting") {
            return this.props.canDecide
                ? _t("The assistant is waiting for your decision.")
                : _t("The assistant is waiting for a decision from the person who asked.");
        }
        if (runningCalls(turn).length) {
            return _t("Using tools…");
        }
        if (["text", "thinking"].includes(turn.items.at(-1)?.type)) {
            return "";
        }
        if (turn.state !== "queued") {
            return _t("Thinking…");
        }
        return connection === "idle" ? _t("Queued") : _t("Starting…");
    }

    /** Something goes on of which nothing is to be seen. */
    get isWorking() {
        const { turn, isStopping, connection } = this.props;
        const isHeld =
            this.isOffline || isStopping || connection === "idle" || turn.state === "waiting";
        return Boolean(this.activity) && !isHeld;
    }

    get isOffline() {
        return this.props.connection === "offline" && !this.isFinal;
    }

    get ending() {
        const { turn, isEndingTold } = this.props;
        if (isEndingTold && ["stopped", "failed"].includes(turn.state)) {
            return null;
        }
        if (turn.state === "stopped") {
            return { kind: "stopped", text: _t("This answer was stopped.") };
        }
        if (turn.state === "failed" || turn.error) {
            const fallback = _t("The assistant could not answer. Try again in a moment.");
            return { kind: "failed", text: turn.error?.message || fallback };
        }
        if (turn.state === "done" && !turn.items.length) {
            return {
                kind: "empty",
                text: _t("The assistant gave no answer. Try rephrasing your question."),
            };
        }
        return null;
    }

    get usage() {
        const { usage } = this.props.turn;
        if (!usage || !this.isFinal) {
            return "";
        }
        const parts = [];
        if (usage.tool_calls) {
            const calls = formatCount(usage.tool_calls);
            parts.push(
                usage.tool_calls === 1 ? _t("1 tool call") : _t("%(calls)s tool calls", { calls })
            );
        }
        if (usage.duration_ms) {
            parts.push(formatDuration(usage.duration_ms));
        }
        const tokens = (usage.input_tokens || 0) + (usage.output_tokens || 0);
        if (tokens) {
            parts.push(_t("%(tokens)s tokens", { tokens: formatCount(tokens) }));
        }
        return parts.join(" · ");
    }
}
