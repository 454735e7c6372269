import { Component, onPatched, useEffect, useRef, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { sprintf } from "@web/core/utils/strings";
import { useDebounced } from "@web/core/utils/timing";
import { conversationTitle, formatMoment, formatMomentFull, formatPeriod } from "../core/format";
import { TryAgain } from "../core/try_again";
import { FolderList } from "../folders/folder_list";
import { ActionMenu } from "../menu/action_menu";
import { ARCHIVE } from "./conversation_index";
import { ListFilter } from "../filters/list_filter";
import { Selection } from "./selection";
import { pressedKey, useFocusBack } from "../core/keys";

/** Milliseconds without a key after which the list is searched. */
const SEARCH_DELAY = 250;

/** The person's conversations: pinned ones, then the newest; in the archive, those put away. */
export class ConversationList extends Component {
    static template = "woow_paas_platform.ConversationList";
    static components = { ActionMenu, FolderList, ListFilter, TryAgain };
    static props = {
        list: Object,
        /** {id, name} */
        folders: Array,
        /** (id or null for a new one, name); resolves to whether it is saved. */
        onSaveFolder: Function,
        /** ({id, name}) */
        onDeleteFolder: Function,
        onEditFolder: Function,
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
        /** (action, [{id, name}], folderId?); resolves to whether all went well; asks the person where it has to. */
        onAct: Function,
        /** Resolves to {assistants, services}, by which the list can be narrowed. */
        getChoices: Function,
        /** (place): see ConversationIndex. */
        onPlace: Function,
    };

    setup() {
        this.nameInput = useRef("name");
        this.state = useState({
            words: this.props.list.words,
            isTyping: false,
            renamedId: null,
            name: "",
            /** Tells a screen reader what became of it. */
            said: "",
            /** Conversations that the mouse holds. */
            dragged: [],
            isOverAll: false,
            isFilterOpen: false,
        });
        this.selection = useState(new Selection());
        this.rows = useRef("rows");
        /** The place of the row that is about to go with the focus in it. */
        this.goneAt = null;
        /** The place that takes the focus along when it is shown. */
        this.opened = undefined;
        onPatched(() => this.keepFocus());
        useEffect(
            (el) => el?.select(),
            () => [this.nameInput.el]
        );
        useFocusBack(
            () => this.state.renamedId,
            (id) => this.rows.el?.querySelector(`[data-row="${id}"] [aria-haspopup]`)
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
        if (pressedKey(ev) === "Escape" && this.state.words) {
            ev.stopPropagation();
            this.clearSearch();
        }
    }

    title(conversation) {
        return conversationTitle(conversation);
    }

    detail(conversation) {
        const service = this.props.list.cloudServiceId ? null : conversation.cloud_service;
        const { list, folders } = this.props;
        const folder = list.words && folders.find(({ id }) => id === conversation.folder_id);
        const names = [conversation.assistant?.name, service?.name, folder?.name];
        return names.filter(Boolean).join(" · ");
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

    // Acts ------------------------------------------------------------------

    get isArchive() {
        return this.props.list.place === ARCHIVE;
    }

    /** @returns {string} of the place that is shown, empty for the whole list */
    get placeName() {
        const { place, folderId } = this.props.list;
        const folder = this.props.folders.find(({ id }) => id === folderId);
        return this.isArchive ? _t("Archive") : place ? folder?.name || _t("Folder") : "";
    }

    show(place) {
        this.selection.stop();
        const bare = { words: "", isTyping: false, renamedId: null, isFilterOpen: false };
        Object.assign(this.state, bare);
        this.opened = place;
        this.props.onPlace(place);
    }

    menuLabel(conversation) {
        return _t("Actions for “%(name)s”", { name: this.title(conversation) });
    }

    menu(conversation) {
        const act = (action) => () => this.act(action, [conversation]);
        return [
            this.isArchive
                ? null
                : conversation.pinned
                  ? { label: _t("Unpin"), icon: "fa-thumb-tack", act: act("unpin") }
                  : { label: _t("Pin"), icon: "fa-thumb-tack", act: act("pin") },
            {
                label: _t("Rename"),
                icon: "fa-pencil",
                act: () => this.startRename(conversation),
            },
            {
                label: _t("Move to folder…"),
                icon: "fa-folder-o",
                act: act("move"),
            },
            this.isArchive
                ? { label: _t("Restore"), icon: "fa-undo", act: act("restore") }
                : { label: _t("Archive"), icon: "fa-archive", act: act("archive") },
            {
                label: _t("Select"),
                icon: "fa-check-square-o",
                act: () => this.selection.start(conversation.id),
            },
            { label: _t("Delete"), icon: "fa-trash-o", act: act("delete") },
        ].filter(Boolean);
    }

    async act(action, conversations, folderId) {
        const said = conversations.map((one) => ({ id: one.id, name: this.title(one) }));
        this.state.said = "";
        this.goneAt = this.props.list.conversations.findIndex(({ id }) => id === said[0].id);
        if (await this.props.onAct(action, said, folderId)) {
            this.state.said = this.outcome(action, said);
            this.selection.stop();
        } else {
            this.goneAt = null;
        }
    }

    /** Whoever acts by keyboard goes on at the next row, or where a place begins. */
    keepFocus() {
        const isLost = document.activeElement === document.body;
        if (this.opened === this.props.list.place) {
            this.opened = undefined;
            const begin = ".o_ai_chat_leave, .o_ai_chat_new_folder";
            isLost && this.rows.el.parentElement.querySelector(begin)?.focus();
        } else if (isLost && this.goneAt !== null) {
            const rows = this.rows.el.querySelectorAll(".o_ai_chat_conversation");
            (rows[this.goneAt] || [...rows].at(-1))?.focus();
            this.goneAt = null;
        }
    }

    /** @returns {string} of an act that went well */
    outcome(action, conversations) {
        const [{ name }] = conversations;
        const count = conversations.length;
        const [one, several] = {
            pin: [_t("“%(name)s” is pinned."), _t("%(count)s conversations are pinned.")],
            unpin: [
                _t("“%(name)s” is no longer pinned."),
                _t("%(count)s conversations are no longer pinned."),
            ],
            archive: [_t("“%(name)s” is archived."), _t("%(count)s conversations are archived.")],
            restore: [_t("“%(name)s” is restored."), _t("%(count)s conversations are restored.")],
            move: [_t("“%(name)s” is moved."), _t("%(count)s conversations are moved.")],
            delete: [_t("“%(name)s” is deleted."), _t("%(count)s conversations are deleted.")],
        }[action];
        return count === 1 ? sprintf(one, { name }) : sprintf(several, { count });
    }

    // With the mouse --------------------------------------------------------

    /** With the one that is grabbed, all that are selected. */
    onDragStart(ev, conversation) {
        const { chosen } = this;
        this.state.dragged = chosen.includes(conversation) ? chosen : [conversation];
        ev.dataTransfer.effectAllowed = "move";
        ev.dataTransfer.setData("text/plain", this.title(conversation));
    }

    onDragEnd() {
        Object.assign(this.state, { dragged: [], isOverAll: false });
    }

    onDragOverAll(ev) {
        if (this.state.dragged.length && !this.isArchive) {
            ev.preventDefault();
            this.state.isOverAll = true;
        }
    }

    drop(folderId) {
        const { dragged } = this.state;
        this.onDragEnd();
        if (dragged.length) {
            this.act("move", dragged, folderId);
        }
    }

    // Several at once -------------------------------------------------------

    get chosen() {
        return this.selection.of(this.props.list.conversations);
    }

    get countLabel() {
        return _t("%(count)s selected", { count: this.chosen.length });
    }

    toggleSelecting() {
        if (this.selection.isOn) {
            this.selection.stop();
        } else {
            this.selection.start();
        }
    }

    selectAll() {
        this.selection.start(...this.props.list.conversations.map(({ id }) => id));
    }

    onSelectKeydown(ev) {
        if (pressedKey(ev) === "Escape" && this.selection.isOn) {
            ev.stopPropagation();
            this.selection.stop();
        }
    }

    onRow(conversation) {
        if (this.selection.isOn) {
            this.selection.toggle(conversation.id);
        } else {
            this.props.onSelect(conversation.id);
        }
    }

    startRename(conversation) {
        this.goneAt = null;
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
        if (pressedKey(ev) === "Escape") {
            ev.stopPropagation();
            this.state.renamedId = null;
        }
    }

    /** @returns {string} above the first conversation of a period, else empty */
    heading(index) {
        const { conversations } = this.props.list;
        const above = index ? this.period(conversations[index - 1]) : "";
        const period = this.period(conversations[index]);
        return period === above ? "" : period;
    }

    period({ pinned, last_message_at: moment }) {
        return pinned ? _t("Pinned") : formatPeriod(moment);
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
