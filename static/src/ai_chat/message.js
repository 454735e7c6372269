import { Component, markup } from "@odoo/owl";
import { formatMoment, formatMomentFull } from "../core/format";
import { TurnView } from "./turn_view";

/** One message of the thread, of the person or of the assistant. */
export class Message extends Component {
    static template = "woow_paas_platform.Message";
    static components = { TurnView };
    static props = {
        message: Object,
        assistant: { type: [Object, { value: null }], optional: true },
        /** Only for the message whose turn runs. */
        connection: { type: String, optional: true },
        isStopping: { type: Boolean, optional: true },
        canRetry: { type: Boolean, optional: true },
        areCallsShown: { type: Boolean, optional: true },
        onResend: { type: Function, optional: true },
        onEdit: { type: Function, optional: true },
        onRetry: { type: Function, optional: true },
    };

    retry() {
        this.props.onRetry(this.props.message);
    }

    get authorName() {
        return this.props.message.author?.name || this.props.assistant?.name || "";
    }

    get initial() {
        return this.authorName.trim().slice(0, 1).toUpperCase() || "?";
    }

    get moment() {
        return formatMoment(this.props.message.date);
    }

    get momentFull() {
        return formatMomentFull(this.props.message.date);
    }

    /** What the person wrote is text; only a message without it (from Discuss) is server HTML. */
    get body() {
        const { text, html } = this.props.message;
        return text || !html ? text : markup(html);
    }
}
