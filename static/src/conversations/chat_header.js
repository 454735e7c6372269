import { Component, useEffect, useRef, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { ExportMenu } from "./export_menu";
import { pressedKey, useFocusBack } from "../core/keys";

/** What is open, and what can be done with it as a whole. */
export class ChatHeader extends Component {
    static template = "woow_paas_platform.ChatHeader";
    static components = { ExportMenu };
    static props = {
        thread: { type: [Object, { value: null }], optional: true },
        isMenuOpen: Boolean,
        menuId: String,
        onToggleMenu: Function,
        areCallsShown: Boolean,
        onToggleCalls: Function,
        isNotified: Boolean,
        onToggleNotify: Function,
        /** Resolves when the name is saved; a rejection keeps the input open. */
        onRename: Function,
        onDelete: Function,
        /** Copies the conversation as Markdown. */
        onCopy: Function,
        /** (format) */
        onDownload: Function,
        /** Of a panel. */
        onExpand: { type: Function, optional: true },
        onClose: { type: Function, optional: true },
    };

    setup() {
        this.nameInput = useRef("name");
        this.renameButton = useRef("rename");
        this.state = useState({ isEditing: false, name: "" });
        useEffect(
            (el) => el?.select(),
            () => [this.nameInput.el]
        );
        useFocusBack(
            () => this.state.isEditing,
            () => this.renameButton.el
        );
    }

    get title() {
        return this.props.thread?.title || _t("New chat");
    }

    get context() {
        const { thread } = this.props;
        return [thread?.assistant?.name, thread?.cloudService?.name, thread?.record?.name]
            .filter(Boolean)
            .join(" · ");
    }

    get callsLabel() {
        return this.props.areCallsShown
            ? _t("Hide the tool calls of earlier answers")
            : _t("Show the tool calls of earlier answers");
    }

    get notifyLabel() {
        return this.props.isNotified
            ? _t("Do not notify me about answers and decisions when I am away")
            : _t("Notify me about answers and decisions when I am away");
    }

    startRename() {
        this.state.name = this.title;
        this.state.isEditing = true;
    }

    cancelRename() {
        this.state.isEditing = false;
    }

    async saveRename() {
        if (!this.state.isEditing) {
            return;
        }
        const name = this.state.name.trim();
        if (!name || name === this.title || (await this.props.onRename(name))) {
            this.state.isEditing = false;
        }
    }

    onKeydown(ev) {
        if (pressedKey(ev) === "Escape") {
            ev.stopPropagation();
            this.cancelRename();
        }
    }
}
