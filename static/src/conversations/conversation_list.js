import { Component, useEffect, useRef, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { useDebounced } from "@web/core/utils/timing";
import { formatMoment, formatMomentFull, formatPeriod } from "../core/format";
import { TryAgain } from "../core/try_again";

/** Milliseconds without a key after which the list is searched. */
const SEARCH_DELAY = 250;

/** The person's conversations, newest first. */
export class ConversationList extends Component {
    static template = "woow_paas_platform.ConversationList";
    static components = { TryAgain };
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
        /** (id, name); resolves to whether it is saved. */
        onRename: Function,
        /** (conversation) */
        onDelete: Function,
    };

    setup() {
        this.nameInput = useRef("name");
        this.state = useState({
            words: this.props.list.words,
            isTyping: false,
            renamedId: null,
            name: "",
        });
        useEffect(
            (el) => el?.select(),
            () => [this.nameInput.el]
        );
        this.search = useDebounced(() => {
            this.state.isTyping = false;
            this.props.onSearch(this.state.words.trim());
        }, SEARCH_DELAY);
    }

    /** From the first letter on: the list waits for the next one before it asks. */
    get isSearching() {
        return this.state.isTyping || this.props.list.isSearching;
    }

    onSearchInput() {
        this.state.isTyping = true;
        this.search();
    }

    clearSearch() {
        Object.assign(this.state, { words: "", isTyping: false });
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

    /** What surrounds the words that are searched for, where a message has them. */
    excerpt({ excerpt }) {
        const { words } = this.props.list;
        const at = words && excerpt ? excerpt.toLowerCase().indexOf(words.toLowerCase()) : -1;
        const end = at + words.length;
        return at === -1
            ? null
            : {
                  before: excerpt.slice(0, at),
                  words: excerpt.slice(at, end),
                  after: excerpt.slice(end),
              };
    }

    renameLabel(conversation) {
        return _t("Rename “%(name)s”", { name: this.title(conversation) });
    }

    deleteLabel(conversation) {
        return _t("Delete “%(name)s”", { name: this.title(conversation) });
    }

    startRename(conversation) {
        Object.assign(this.state, {
            renamedId: conversation.id,
            name: this.title(conversation),
        });
    }

    async saveName(conversation) {
        const name = this.state.name.trim();
        const isSame = !name || name === this.title(conversation);
        if (isSame || (await this.props.onRename(conversation.id, name))) {
            this.state.renamedId = null;
        }
    }

    onNameKeydown(ev) {
        if (ev.key === "Escape") {
            ev.stopPropagation();
            this.state.renamedId = null;
        }
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
