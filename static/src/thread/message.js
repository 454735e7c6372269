import { Component } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { formatMoment, formatMomentFull } from "../core/format";
import { ActionMenu } from "../menu/action_menu";
import { Face } from "./face";
import { Rating } from "../turn/rating";
import { answerHtml } from "../turn/turn_state";
import { TurnView } from "../turn/turn_view";
import { Versions } from "../turn/versions";

/** An answer of the assistant. */
export class Message extends Component {
    static template = "woow_paas_platform.Message";
    static components = { ActionMenu, Face, Rating, TurnView, Versions };
    static props = {
        message: Object,
        /** Only for the message whose turn runs. */
        connection: { type: String, optional: true },
        isStopping: { type: Boolean, optional: true },
        canRetry: { type: Boolean, optional: true },
        /** [{id, name, image_url}]: the assistants who may answer instead. */
        assistants: { type: Array, optional: true },
        areCallsShown: { type: Boolean, optional: true },
        onRetry: { type: Function, optional: true },
        /** (text) */
        onQuote: { type: Function, optional: true },
        /** (message, values or null): a promise */
        onRate: { type: Function, optional: true },
        /** Which of the answers to one question it is, and how many there are. */
        versionIndex: { type: Number, optional: true },
        versionCount: { type: Number, optional: true },
        /** (message, index) */
        onShowVersion: { type: Function, optional: true },
        /** Whether all of them are shown beside each other. */
        isCompared: { type: Boolean, optional: true },
        onCompare: { type: Function, optional: true },
        /** (html, {isNote}): opens what the answer becomes on the record of the conversation. */
        onPost: { type: Function, optional: true },
        /** (turn's id): goes on from this answer in another conversation. */
        onContinue: { type: Function, optional: true },
    };

    /** @param {Object} [assistant] another one */
    retry(assistant) {
        this.props.onRetry(this.props.message, assistant);
    }

    /** A menu of the other assistants. */
    get others() {
        const { assistants, message } = this.props;
        return assistants
            .filter(({ id }) => id !== message.assistantId)
            .map((assistant) => ({
                label: _t("Retry with %(assistant)s", { assistant: assistant.name }),
                icon: "fa-repeat",
                act: () => this.retry(assistant),
            }));
    }

    rate(values) {
        return this.props.onRate(this.props.message, values);
    }

    get isRatable() {
        return Boolean(this.props.onRate && this.props.message.turn.turnId);
    }

    get isEarlier() {
        const { versionIndex, versionCount } = this.props;
        return versionIndex < versionCount - 1;
    }

    showVersion(index) {
        this.props.onShowVersion(this.props.message, index);
    }

    get canPost() {
        const { onPost, message } = this.props;
        return Boolean(onPost && message.turn.state === "done" && answerHtml(message.turn));
    }

    get canContinue() {
        const { onContinue, message } = this.props;
        return Boolean(onContinue && message.turn.turnId);
    }

    post(options) {
        this.props.onPost(answerHtml(this.props.message.turn), options);
    }

    get face() {
        return this.props.message.author || { name: "" };
    }

    get moment() {
        return formatMoment(this.props.message.date);
    }

    get momentFull() {
        return formatMomentFull(this.props.message.date);
    }
}
