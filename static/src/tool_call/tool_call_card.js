import { Component, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { uniqueId } from "@web/core/utils/functions";
import { formatDuration, prettyValue } from "../core/format";
import { Attachments } from "../composer/attachments";
import { CallExplanation } from "./call_explanation";
import { LazyQuestion } from "./lazy_question";
import { decisionSentence, questionSentence } from "./past_question";
import { RecordResult, recordsOf } from "../records/record_result";
import { ToolResult } from "./tool_result";

const OUTCOMES = {
    ok: {
        label: _t("Done"),
        icon: "fa-check-circle text-success",
    },
    error: {
        label: _t("Failed"),
        icon: "fa-exclamation-circle text-danger",
        sentence: _t("The tool reported an error. The assistant was informed."),
    },
    denied: {
        label: _t("Not allowed"),
        icon: "fa-ban text-warning",
        sentence: _t("This call was not allowed, so the tool did not run."),
    },
    timeout: {
        label: _t("Timed out"),
        icon: "fa-clock-o text-warning",
        sentence: _t("The tool did not respond in time."),
    },
    cancelled: {
        label: _t("Stopped"),
        icon: "fa-stop-circle text-muted",
        sentence: _t("The call was stopped before it finished."),
    },
    unknown_tool: {
        label: _t("Unknown tool"),
        icon: "fa-question-circle text-warning",
        sentence: _t("The assistant requested a tool that does not exist. No tool was called."),
    },
    invalid_args: {
        label: _t("Wrong arguments"),
        icon: "fa-exclamation-triangle text-warning",
        sentence: _t("The arguments were invalid. The tool was not called."),
    },
    unknown: {
        label: _t("Outcome unknown"),
        icon: "fa-question-circle text-warning",
        sentence: _t("The call was interrupted, so its outcome is unknown. It was not repeated."),
    },
};

/** `get_current_time` as "Get current time". */
function humanized(name) {
    const words = name
        .replace(/([a-z])([A-Z])/g, "$1 $2")
        .replace(/[^\p{L}\p{N}]+/gu, " ")
        .trim();
    return words ? words[0].toUpperCase() + words.slice(1) : name;
}

/** One call of a tool: a line that opens to its arguments and its result. */
export class ToolCallCard extends Component {
    static template = "woow_paas_platform.ToolCallCard";
    static components = {
        Attachments,
        CallExplanation,
        LazyQuestion,
        RecordResult,
        ToolResult,
    };
    static props = {
        call: Object,
        /** Whether the reader is the person who is asked. */
        canDecide: { type: Boolean, optional: true },
        /** The turn waits for a word about other calls. */
        isHeld: { type: Boolean, optional: true },
        /** What stands in the place of arguments and result while they are not known here. */
        missing: { type: [String, Object], optional: true },
        onOpen: { type: Function, optional: true },
    };
    static defaultProps = { canDecide: true };

    setup() {
        this.bodyId = uniqueId("o_ai_chat_tool_");
        this.state = useState({ isOpen: false });
    }

    toggle() {
        this.state.isOpen = !this.state.isOpen;
        if (this.state.isOpen) {
            this.props.onOpen?.();
        }
    }

    get isRunning() {
        return !this.props.call.outcome;
    }

    get outcome() {
        return OUTCOMES[this.props.call.outcome] || OUTCOMES.unknown;
    }

    /** The person is asked whether the call may be made. */
    get isUndecided() {
        const { approval } = this.props.call;
        return this.isRunning && Boolean(approval) && !approval.decision;
    }

    /** What the server asks the person now. */
    get questions() {
        return this.isRunning ? this.props.call.questions.filter((asked) => !asked.decision) : [];
    }

    get pastQuestions() {
        return this.props.call.questions
            .filter((asked) => asked.decision)
            .map((asked) => ({ id: asked.id, text: questionSentence(asked) }));
    }

    get isAsking() {
        return this.isUndecided || this.questions.length > 0;
    }

    /** It starts when the person has decided about others. */
    get isBehindOthers() {
        return Boolean(this.props.isHeld) && this.isRunning && !this.isAsking;
    }

    /** By a person; what rules forbid is called otherwise. */
    get isDenied() {
        const { outcome, approval } = this.props.call;
        return outcome === "denied" && ["deny", "denied"].includes(approval?.decision);
    }

    get decision() {
        return decisionSentence(this.props.call.approval);
    }

    get statusLabel() {
        if ((this.isAsking || this.isBehindOthers) && !this.props.canDecide) {
            return _t("Waiting for a decision");
        }
        if (this.isUndecided) {
            return _t("Waiting for your decision");
        }
        if (this.questions.length) {
            return _t("Waiting for your answer");
        }
        if (this.isBehindOthers) {
            return _t("Starts after your other decisions");
        }
        if (this.isRunning) {
            return _t("Running");
        }
        return this.isDenied ? _t("Denied") : this.outcome.label;
    }

    get title() {
        const { title, tool } = this.props.call;
        return title && title !== tool ? title : humanized(tool);
    }

    get qualifiedName() {
        const { server, tool } = this.props.call;
        return server ? `${server}.${tool}` : tool;
    }

    get records() {
        return recordsOf(this.props.call);
    }

    get duration() {
        const { outcome, durationMs } = this.props.call;
        return durationMs || !["cancelled", "denied"].includes(outcome)
            ? formatDuration(durationMs)
            : "";
    }

    get args() {
        return prettyValue(this.props.call.args);
    }

    /** The arguments that the model could not choose. */
    get fixed() {
        return (this.props.call.fixed || []).join(", ");
    }

    get hasArgs() {
        const { args } = this.props.call;
        return typeof args === "object" && args ? Boolean(Object.keys(args).length) : Boolean(args);
    }

    get progressText() {
        const { progress } = this.props.call;
        if (!progress) {
            return "";
        }
        const count = progress.total
            ? _t("%(done)s of %(total)s", { done: progress.progress, total: progress.total })
            : String(progress.progress || "");
        return [progress.message, count].filter(Boolean).join(" · ");
    }

    get progressPercent() {
        const { progress } = this.props.call;
        return progress?.total ? Math.min(100, (100 * progress.progress) / progress.total) : null;
    }
}
