import { Component, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { registry } from "@web/core/registry";
import { uniqueId } from "@web/core/utils/functions";
import { useAutofocus, useService } from "@web/core/utils/hooks";
import { fieldText, formFields, isLongText, readChanges } from "./argument_form";
import { formatMomentFull } from "../core/format";
import { RequestError } from "../core/try_again";
import { RehearsalQuestion } from "../records/rehearsal";
import { SchemaField } from "./schema_field";
import { useDecision } from "./use_decision";
import { useProblems } from "./use_problems";
import { visible } from "./visible_text";

const MAX_FOREIGN = 5;

const LABELS = {
    approve_once: _t("Allow once"),
    approve_conversation: _t("Allow in this conversation"),
    approve_always: _t("Allow always"),
    deny: _t("Deny"),
    continue: _t("Continue"),
    stop: _t("Stop and answer"),
};

/** What the person has seen of calls: one that would do something else by now is asked about again. */
function shownOf(approvals) {
    return Object.fromEntries(approvals.map(({ id, reviewHash }) => [id, reviewHash]));
}

/** Asks whether a tool may be called, with its arguments as a form. */
export class ApprovalCard extends Component {
    static template = "woow_paas_platform.ApprovalCard";
    static components = { RehearsalQuestion, RequestError, SchemaField };
    static props = {
        approval: Object,
        name: String,
    };

    setup() {
        this.id = uniqueId("o_ai_chat_approval_");
        this.chat = useService("ai_chat");
        this.decision = useDecision();
        const { schema, args, fixed } = this.props.approval;
        this.fields = formFields(schema, args, fixed);
        const texts = {};
        for (const field of this.fields) {
            texts[field.name] = fieldText(field, args[field.name]);
        }
        this.longFields = new Set(
            this.fields
                .filter((field) => isLongText(field, texts[field.name]))
                .map(({ name }) => name)
        );
        this.state = useState({
            texts,
            problems: {},
            isEditing: false,
            isDenying: false,
            isLastingShown: false,
            reason: "",
        });
        this.problems = useProblems(() => [this.state.problems]);
        useAutofocus({ refName: "reason" });
    }

    /** Of Odoo's records that a call would change. */
    get model() {
        const { model } = this.props.approval.args;
        return typeof model === "string" ? model : undefined;
    }

    loadFurther(after) {
        const { id, turnId } = this.props.approval;
        return this.chat.api.rehearsal(turnId, id, after);
    }

    get about() {
        const { server, description } = this.props.approval;
        return (
            description && _t("According to “%(server)s”: %(description)s", { server, description })
        );
    }

    /** Values of the arguments that come from what others may have written. */
    get foreignValues() {
        const values = this.props.approval.foreignValues || [];
        return values.slice(0, MAX_FOREIGN).map(visible);
    }

    get furtherForeign() {
        const count = (this.props.approval.foreignValues || []).length - MAX_FOREIGN;
        return count > 0 ? _t("and %(count)s more", { count }) : "";
    }

    get expiry() {
        const { expiresAt } = this.props.approval;
        return expiresAt
            ? _t("If you do not decide by %(moment)s, the call is denied.", {
                  moment: formatMomentFull(expiresAt),
              })
            : "";
    }

    get canAllow() {
        return this.props.approval.choices.includes("approve_once");
    }

    /** What would spare the next question; of what can destroy something only for who asks for it. */
    get lasting() {
        const { choices } = this.props.approval;
        return choices.filter(
            (choice) => choice.startsWith("approve") && choice !== "approve_once"
        );
    }

    get allowType() {
        return this.props.approval.isDestructive ? "button" : "submit";
    }

    get isLastingFolded() {
        const { isDestructive } = this.props.approval;
        return isDestructive && this.lasting.length > 0 && !this.state.isLastingShown;
    }

    get isChangeable() {
        return this.fields.some(({ isFixed }) => !isFixed);
    }

    label(choice) {
        return LABELS[choice];
    }

    /** Who sees all that a change would do need not read how it is asked for. */
    get areFieldsShown() {
        const { rehearsal } = this.props.approval;
        const isTold = rehearsal && !rehearsal.impossible && !rehearsal.partial;
        return !isTold || this.state.isEditing || Object.keys(this.state.problems).length > 0;
    }

    fieldId(field) {
        return `${this.id}_${this.fields.indexOf(field)}`;
    }

    /** `onEdit` of the environment, `(id) => void`, is told of it: it is no longer the call that was asked about. */
    onInput(field, text) {
        this.env.onEdit?.(this.props.approval.id);
        this.state.texts[field.name] = text;
        delete this.state.problems[field.name];
    }

    allow(decision) {
        const { approval } = this.props;
        const { id, turnId, args } = approval;
        const { changes, problems } = readChanges(this.fields, this.state.texts, args);
        this.state.problems = problems;
        if (!Object.keys(problems).length) {
            this.decision.decide(turnId, { id, decision, ...changes, shown: shownOf([approval]) });
        }
    }

    deny() {
        const { id, turnId } = this.props.approval;
        const reason = this.state.isDenying ? this.state.reason : "";
        this.decision.decide(turnId, { id, decision: "deny", reason });
    }

    /** Enter in a field, which is no word about what can destroy something. */
    onSubmit() {
        if (this.state.isDenying) {
            this.deny();
        } else if (!this.props.approval.isDestructive) {
            this.allow("approve_once");
        }
    }
}

/** Asks whether the assistant may go on using tools. */
export class RoundCard extends Component {
    static template = "woow_paas_platform.RoundCard";
    static components = { RequestError };
    static props = {
        round: Number,
        approval: Object,
        canDecide: Boolean,
    };

    setup() {
        this.decision = useDecision();
    }

    get text() {
        const { decision } = this.props.approval;
        if (!decision) {
            return _t("The assistant wants to continue using tools (round %(round)s).", {
                round: this.props.round,
            });
        }
        return decision === "continue"
            ? _t("You allowed the assistant to continue with round %(round)s.", {
                  round: this.props.round,
              })
            : _t("The assistant was asked to answer without using more tools.");
    }

    label(choice) {
        return LABELS[choice];
    }

    decide(decision) {
        const { id, turnId } = this.props.approval;
        this.decision.decide(turnId, { id, decision });
    }
}

/** Several calls wait: one click for all of them. */
export class DecideAll extends Component {
    static template = "woow_paas_platform.DecideAll";
    static components = { RequestError };
    static props = {
        questions: Array,
        /** They can be allowed as they were asked, and destroy nothing. */
        canAllow: Boolean,
    };

    setup() {
        this.decision = useDecision();
    }

    get text() {
        return _t("%(count)s calls are waiting for your decision.", {
            count: this.props.questions.length,
        });
    }

    decide(decision) {
        const { questions } = this.props;
        const shown = shownOf(questions);
        this.decision.decide(questions[0].turnId, { id: "all", decision, shown });
    }
}

const cards = registry.category("lazy_components");
cards.add("woow_paas_platform.ApprovalCard", ApprovalCard);
cards.add("woow_paas_platform.RoundCard", RoundCard);
cards.add("woow_paas_platform.DecideAll", DecideAll);
