import { Component, useEffect, useRef, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { ActionMenu } from "../menu/action_menu";
import { pressedKey, useFocusBack } from "../core/keys";

/** Folders above the conversations: each opens, and takes what is dropped on it. */
export class FolderList extends Component {
    static template = "woow_paas_platform.FolderList";
    static components = { ActionMenu };
    static props = {
        /** {id, name, unseen} */
        folders: Array,
        /** Whether something is dragged that a folder takes. */
        isDragging: Boolean,
        onOpen: Function,
        /** (id): what is dragged goes in there. */
        onDrop: Function,
        /** (id or null for a new one, name); resolves to whether it is saved. */
        onSave: Function,
        onDelete: Function,
        /** (folder): shows what holds for its conversations. */
        onEdit: Function,
    };

    setup() {
        this.root = useRef("root");
        this.input = useRef("input");
        /** `editedId`: of the folder that gets a name, 0 for a new one. */
        this.state = useState({ editedId: null, name: "", overId: null });
        useEffect(
            (el) => el?.select(),
            () => [this.input.el]
        );
        useFocusBack(
            () => this.state.editedId,
            (id) => {
                const opener = id ? `[data-row="${id}"] [aria-haspopup]` : ".o_ai_chat_new_folder";
                return this.root.el?.querySelector(opener);
            }
        );
    }

    edit({ id, name }) {
        Object.assign(this.state, { editedId: id, name });
    }

    async save() {
        const name = this.state.name.trim();
        const { editedId: id } = this.state;
        const known = this.props.folders.find((folder) => folder.id === id)?.name;
        if (!name || name === known || (await this.props.onSave(id || null, name))) {
            this.state.editedId = null;
        }
    }

    onNameKeydown(ev) {
        if (pressedKey(ev) === "Escape") {
            ev.stopPropagation();
            this.state.editedId = null;
        }
    }

    menuLabel({ name }) {
        return _t("Actions for folder “%(name)s”", { name });
    }

    menu(folder) {
        return [
            { label: _t("Rename"), icon: "fa-pencil", act: () => this.edit(folder) },
            {
                label: _t("Instructions and files"),
                icon: "fa-sliders",
                act: () => this.props.onEdit(folder),
            },
            { label: _t("Delete"), icon: "fa-trash-o", act: () => this.props.onDelete(folder) },
        ];
    }

    onDragOver(ev, folder) {
        if (this.props.isDragging) {
            ev.preventDefault();
            this.state.overId = folder.id;
        }
    }

    onDrop(ev, folder) {
        ev.preventDefault();
        this.state.overId = null;
        this.props.onDrop(folder.id);
    }
}
