import { Component, onWillDestroy, status, useRef, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { Dialog } from "@web/core/dialog/dialog";
import { registry } from "@web/core/registry";
import { FileChip } from "../composer/file_chip";
import { isSameRecord } from "./folder_index";

/** Characters of instructions, and files; the server takes no more. */
const MAX_INSTRUCTIONS = 4_000;
const MAX_FILES = 5;

/** Instructions, files and the record that hold for the conversations of a folder. */
export class FolderDialog extends Component {
    static template = "woow_paas_platform.FolderDialog";
    static components = { Dialog, FileChip };
    static props = {
        /** As the server has it. */
        folder: Object,
        /** {model, id, name} of what the chat on the screen is about. */
        record: { type: [Object, { value: null }], optional: true },
        /** Of the backend, where the chat can be opened beside a form. */
        hasForms: Boolean,
        /** See PendingFiles; those of the folder wait at its negative id. */
        files: Object,
        /** ({instructions, files, record}); resolves to whether it is saved. */
        onSave: Function,
        close: Function,
    };

    setup() {
        const { instructions, files, record } = this.props.folder;
        this.input = useRef("input");
        this.files = useState(this.props.files);
        this.state = useState({ instructions, kept: [...files], record, isSaving: false });
        this.place = -this.props.folder.id;
        onWillDestroy(() => this.discard());
        this.maxInstructions = MAX_INSTRUCTIONS;
    }

    get entries() {
        const kept = this.state.kept.map((file) => ({
            key: `${file.id}`,
            name: file.name,
            kept: file,
        }));
        return [...kept, ...this.files.of(this.place)];
    }

    /** The record of the chat on the screen, where it is not the folder's already. */
    get offered() {
        const { record } = this.props;
        return record && !isSameRecord(this.state.record, record) ? record : null;
    }

    get recordSentence() {
        const { name } = this.state.record;
        return _t("New conversations in this folder are about “%(name)s”.", { name });
    }

    get offerLabel() {
        return _t("Use “%(name)s”", { name: this.offered.name });
    }

    onFiles() {
        const chosen = [...this.input.el.files];
        const room = MAX_FILES - this.entries.length;
        this.files.add(this.place, chosen.slice(0, room));
        if (chosen.length > room) {
            const values = { limit: MAX_FILES };
            this.files.refuse(this.place, _t("A folder can have at most %(limit)s files.", values));
        }
        this.input.el.value = "";
    }

    detach(key) {
        const kept = this.state.kept.filter(({ id }) => `${id}` !== key);
        if (kept.length < this.state.kept.length) {
            this.state.kept = kept;
        } else {
            this.files.remove(this.place, key);
        }
    }

    async save() {
        this.state.isSaving = true;
        await this.files.settle(this.place);
        if (status(this) === "destroyed") {
            return; // it was closed meanwhile: nothing is saved
        }
        const { instructions, record } = this.state;
        const files = this.entries.filter(({ kept }) => kept).map(({ kept }) => kept.id);
        const isSaved =
            this.files.isReady(this.place) &&
            (await this.props.onSave({ instructions, files, record }));
        this.state.isSaving = false;
        if (isSaved) {
            this.files.take(this.place);
            this.props.close();
        }
    }

    /** What was chosen and not saved. */
    discard() {
        this.files.of(this.place).forEach(({ key }) => this.files.remove(this.place, key));
    }
}

registry.category("lazy_components").add("woow_paas_platform.FolderDialog", FolderDialog);
