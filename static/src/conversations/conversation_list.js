import { Component, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { useDebounced } from "@web/core/utils/timing";
import { formatMoment, formatMomentFull, formatPeriod } from "../core/format";

/** Milliseconds without a key after which the list is searched. */
const SEARCH_DELAY = 250;

/** The person's conversations, newest first. */
export class ConversationList extends Component {
    static template = "woow_paas_platform.ConversationList";
    static props = {
        list: Object,
        currentId: { type: [Number, { value: null }], optional: true },
        /** What the turn that is watched does, which is newer than the list; empty if there is none. */
        currentActivity: { type: String, optional: true },
        onSelect: Function,
        onNew: Function,
        onMore: Function,
        onReload: Function,
        onSearch: Function,
    };

    setup() {
        this.state = useState({ words: this.props.list.words });
        this.search = useDebounced(
            () => this.props.onSearch(this.state.words.trim()),
            SEARCH_DELAY
        );
    }

    clearSearch() {
        this.state.words = "";
        this.props.onSearch("");
    }

    onSearchKeydown(ev) {
        if (ev.key === "Escape" && this.state.words) {
            ev.stopPropagation();
            this.clearSearch();
        }
    }

    title(conversation) {
        return conversation.name || conversation.assistant?.name || _t("New chat");
    }

    detail(conversation) {
        const service = this.props.list.cloudServiceId ? null : conversation.cloud_service;
        return [conversation.assistant?.name, service?.name].filter(Boolean).join(" · ");
    }

    /** @returns {string} above the first conversation of a period, else empty */
    heading(index) {
        const { conversations } = this.props.list;
        const period = formatPeriod(conversations[index].last_message_at);
        const above = index && formatPeriod(conversations[index - 1].last_message_at);
        return period === above ? "" : period;
    }

    moment(conversation) {
        return formatMoment(conversation.last_message_at);
    }

    momentFull(conversation) {
        return formatMomentFull(conversation.last_message_at);
    }

    /** @returns {"running"|"waiting"|""} what the open turn of a conversation does */
    activity({ id, turn }) {
        if (id === this.props.currentId && this.props.currentActivity) {
            return this.props.currentActivity;
        }
        return { queued: "running", running: "running", waiting: "waiting" }[turn?.state] || "";
    }
}
