import { Component, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { uniqueId } from "@web/core/utils/functions";
import { answerFields, answerText, inputType, readAnswer } from "./answer_form";
import { formatMomentFull } from "../core/format";
import { RequestError } from "../core/try_again";
import { SchemaField } from "./schema_field";
import { useDecision } from "./use_decision";
import { useProblems } from "./use_problems";

/** What became of a question, for the card of the call. */
export function questionSentence({ kind, server, host, decision, by }) {
    switch (decision) {
        case "accept":
            if (kind === "sign_in") {
                return _t("%(by)s signed in to %(host)s.", { by, host });
            }
            return kind === "url"
                ? _t("%(by)s visited %(host)s.", { by, host })
                : _t("%(by)s answered the question from %(server)s.", { by, server });
        case "decline":
            return _t("%(by)s declined the request from %(server)s.", { by, server });
        case "expired":
            return _t("The question from %(server)s was not answered in time.", { server });
    }
    return _t("The question from %(server)s was not answered.", { server });
}

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
