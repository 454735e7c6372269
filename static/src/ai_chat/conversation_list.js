import { Component } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { formatMoment, formatMomentFull } from "../core/format";

/** The person's conversations, newest first. */
export class ConversationList extends Component {
    static template = "woow_paas_platform.ConversationList";
    static props = {
        list: Object,
        currentId: { type: [Number, { value: null }], optional: true },
        onSelect: Function,
        onNew: Function,
        onMore: Function,
        onReload: Function,
    };

    title(conversation) {
        return conversation.name || conversation.assistant?.name || _t("New chat");
    }

    detail(conversation) {
        return [conversation.assistant?.name, conversation.cloud_service?.name]
            .filter(Boolean)
            .join(" · ");
    }

    moment(conversation) {
        return formatMoment(conversation.last_message_at);
    }

    momentFull(conversation) {
        return formatMomentFull(conversation.last_message_at);
    }

    isRunning({ turn }) {
        return ["queued", "running"].includes(turn?.state);
    }

    isWaiting({ turn }) {
        return turn?.state === "waiting";
    }
}
