import { Component, useState, useSubEnv } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { uniqueId } from "@web/core/utils/functions";
import { formatMomentFull } from "../core/format";
import { RequestError } from "../core/try_again";
import { ApprovalCard, RoundCard } from "../questions/approval_card";
import { QuestionCard } from "../questions/question_card";
import { valueText } from "../records/record_values";
import { newApproval, newQuestion } from "../turn/turn_state";
import { ClientCallCard } from "./client_call_card";

const { DateTime } = luxon;

export const KINDS = {
    call: _t("Tool call"),
    round: _t("More tool calls"),
    question: _t("Question"),
    sign_in: _t("Sign-in"),
    client_call: _t("Program"),
};
const ICONS = {
    call: "fa-hand-paper-o",
    round: "fa-repeat",
    question: "fa-question-circle-o",
    sign_in: "fa-sign-in",
    client_call: "fa-plug",
};
const CHANGES = {
    changed: _t("Changes"),
    created: _t("Creates"),
    deleted: _t("Deletes for good"),
};

/** One thing to decide: a line that opens to the card which asks. */
export class DecisionRow extends Component {
    static template = "woow_paas_platform.DecisionRow";
    static components = { ApprovalCard, ClientCallCard, QuestionCard, RequestError, RoundCard };
    static props = {
        /** See DecisionList. */
        row: Object,
        list: Object,
    };

    setup() {
        this.bodyId = uniqueId("o_woow_decision_");
        this.row = useState(this.props.row);
        this.list = useState(this.props.list);
        useSubEnv({
            onDecision: ({ decision }, error) => this.list.settle(this.row, decision, error),
        });
    }

    get icon() {
        const { destructive, kind } = this.row;
        return `${ICONS[kind]} ${destructive ? "text-danger" : "text-warning"}`;
    }

    get kind() {
        return KINDS[this.row.kind];
    }

    get title() {
        const { kind, title, server, client, round } = this.row;
        switch (kind) {
            case "round":
                return _t("Continue with round %(round)s?", { round });
            case "question":
                return _t("Question from “%(server)s”", { server });
            case "sign_in":
                return _t("“%(server)s” requires you to sign in", { server });
            case "client_call":
                return client ? _t("%(client)s: %(tool)s", { client, tool: title }) : title;
        }
        return title;
    }

    /** Of whom the call is a tool. */
    get server() {
        const { kind, server } = this.row;
        return ["call", "client_call"].includes(kind) ? server : "";
    }

    get since() {
        return DateTime.fromISO(this.row.asked_at).toRelative() || "";
    }

    get moment() {
        return formatMomentFull(this.row.asked_at);
    }

    get selectLabel() {
        return _t("Select: %(title)s", { title: this.title });
    }

    get isSelectable() {
        return this.list.isSelectable(this.row);
    }

    /** The card stands for one question: another one gets another card. */
    get cardKey() {
        const { id, review_hash: hash, expires_at: expiry } = this.row.question;
        return `${id} ${hash || ""} ${expiry || ""}`;
    }

    get approval() {
        const { question, turn_id: turnId } = this.row;
        return newApproval({ turnId }, question);
    }

    get question() {
        const { question, turn_id: turnId } = this.row;
        return newQuestion(turnId, question);
    }

    get name() {
        const { server, tool } = this.row.question;
        return server ? `${server}.${tool}` : tool;
    }

    changeOf({ kind }) {
        return CHANGES[kind];
    }

    text({ type }, value) {
        return valueText(value, type) || _t("nothing");
    }

    toggle() {
        const { list, row } = this;
        return row.isOpen ? list.close(row) : list.open(row);
    }

    select(ev) {
        this.row.isSelected = ev.target.checked;
    }

    /** Not by the field for the reason of a denial, which changes nothing of the call. */
    onInput({ target }) {
        if (!target.matches(".o_ai_chat_approval_reason")) {
            this.list.edit(this.row);
        }
    }

    decide(decision) {
        return this.list.decideClientCall(this.row, decision);
    }
}
