import { Component } from "@odoo/owl";
import { formatMoment, formatMomentFull } from "../core/format";
import { Face } from "./face";
import { Rating } from "../turn/rating";
import { answerHtml } from "../turn/turn_state";
import { TurnView } from "../turn/turn_view";
import { Versions } from "../turn/versions";

/** An answer of the assistant. */
export class Message extends Component {
    static template = "woow_paas_platform.Message";
    static components = { Face, Rating, TurnView, Versions };
    static props = {
        message: Object,
        assistant: { type: [Object, { value: null }], optional: true },
        /** Only for the message whose turn runs. */
        connection: { type: String, optional: true },
        isStopping: { type: Boolean, optional: true },
        canRetry: { type: Boolean, optional: true },
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
        /** (html, {isNote}): opens what the answer becomes on the record of the conversation. */
        onPost: { type: Function, optional: true },
    };

    retry() {
        this.props.onRetry(this.props.message);
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

    post(options) {
        this.props.onPost(answerHtml(this.props.message.turn), options);
    }

    get authorName() {
        return this.props.message.author?.name || this.props.assistant?.name || "";
    }

    get face() {
        return { name: this.authorName, image_url: this.props.assistant?.image_url };
    }

    get moment() {
        return formatMoment(this.props.message.date);
    }

    get momentFull() {
        return formatMomentFull(this.props.message.date);
    }
}
