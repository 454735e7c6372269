import { Component, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { registry } from "@web/core/registry";
import { uniqueId } from "@web/core/utils/functions";
import { answerFields, answerText, inputType, readAnswer } from "./answer_form";
import { formatMomentFull } from "../core/format";
import { RequestError } from "../core/try_again";
import { SchemaField } from "./schema_field";
import { useDecision } from "./use_decision";
import { useProblems } from "./use_problems";

/** A question of a server in the middle of a call: a form, a page to visit, or a sign-in. */
export class QuestionCard extends Component {
    static template = "woow_paas_platform.QuestionCard";
    static components = { RequestError, SchemaField };
    static props = {
        question: Object,
    };

    setup() {
        this.id = uniqueId("o_ai_chat_question_");
        this.decision = useDecision();
        this.fields = answerFields(this.props.question.schema);
        const texts = {};
        for (const field of this.fields) {
            texts[field.name] = answerText(field);
        }
        this.state = useState({ texts, problems: {} });
        this.problems = useProblems(() => [this.state.problems, this.decision.state.fields]);
    }

    get title() {
        const { kind, server } = this.props.question;
        return kind === "sign_in"
            ? _t("“%(server)s” requires you to sign in", { server })
            : _t("Question from “%(server)s”", { server });
    }

    get linkLabel() {
        const { kind, host } = this.props.question;
        return kind === "sign_in"
            ? _t("Sign in to %(host)s", { host })
            : _t("Open %(host)s", { host });
    }

    get acceptLabel() {
        return this.props.question.kind === "url" ? _t("I have finished") : _t("Send");
    }

    get expiry() {
        const { expiresAt } = this.props.question;
        return expiresAt
            ? _t("If you do not answer by %(moment)s, the call continues without it.", {
                  moment: formatMomentFull(expiresAt),
              })
            : "";
    }

    has(choice) {
        return this.props.question.choices.includes(choice);
    }

    inputType(field) {
        return inputType(field);
    }

    fieldId(field) {
        return `${this.id}_${this.fields.indexOf(field)}`;
    }

    problem(field) {
        return this.state.problems[field.name] || this.decision.state.fields[field.name] || "";
    }

    onChange(field, text) {
        this.state.texts[field.name] = text;
        delete this.state.problems[field.name];
        delete this.decision.state.fields[field.name];
    }

    onSubmit() {
        const { content, problems } = readAnswer(this.fields, this.state.texts);
        this.state.problems = problems;
        if (!Object.keys(problems).length) {
            this.send("accept", content);
        }
    }

    send(decision, content) {
        const { id, turnId } = this.props.question;
        this.decision.decide(turnId, { id, decision, ...(content && { content }) });
    }
}

registry.category("lazy_components").add("woow_paas_platform.QuestionCard", QuestionCard);
