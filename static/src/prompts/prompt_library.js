import { Component, onWillStart, useEffect, useRef, useState } from "@odoo/owl";
import { ConfirmationDialog } from "@web/core/confirmation_dialog/confirmation_dialog";
import { _t } from "@web/core/l10n/translation";
import { registry } from "@web/core/registry";
import { useService } from "@web/core/utils/hooks";
import { AiApi } from "../core/ai_api";
import { TryAgain } from "../core/try_again";
import { PromptForm } from "./prompt_form";

/** Prompts of a person and of the person's workspaces, which a chat offers after a slash. */
export class PromptLibrary extends Component {
    static template = "woow_paas_platform.PromptLibrary";
    static components = { PromptForm, TryAgain };
    static props = {};

    setup() {
        this.api = new AiApi();
        this.dialog = useService("dialog");
        /** editedId: of the prompt in the form, 0: a new one, null: no form; isChanged: something was written there */
        this.state = useState({
            prompts: [],
            workspaces: [],
            editedId: null,
            isChanged: false,
            isLoaded: false,
            error: null,
        });
        this.root = useRef("root");
        /** Selector of what has the focus once the form, or the prompt, is gone. */
        this.next = "";
        onWillStart(() => this.load());
        useEffect(
            () => this.focusNext(),
            () => [this.state.editedId, this.state.prompts]
        );
    }

    async load() {
        this.state.error = null;
        try {
            const { prompts, workspaces } = await this.api.savedPrompts();
            Object.assign(this.state, { prompts, workspaces, isLoaded: true });
        } catch (error) {
            this.state.error = error;
        }
    }

    edit(id) {
        Object.assign(this.state, { editedId: id, isChanged: false });
    }

    /** What is written would be lost with the form, as long as there is one. */
    get isHeld() {
        const { editedId, isChanged, prompts } = this.state;
        return isChanged && (editedId === 0 || prompts.some(({ id }) => id === editedId));
    }

    /** Back to the button that has opened the form. */
    closeForm() {
        const { editedId } = this.state;
        this.next = editedId ? `[data-prompt-id="${editedId}"] button` : ".o_woow_add_prompt";
        this.edit(null);
    }

    focusNext() {
        if (this.next && this.state.editedId === null) {
            this.root.el.querySelector(this.next)?.focus();
            this.next = "";
        }
    }

    /** A rejection stays in the form. */
    async save(prompt, values) {
        if (prompt) {
            await this.api.changePrompt(prompt.id, values);
        } else {
            await this.api.addPrompt(values);
        }
        await this.load();
        this.closeForm();
    }

    confirmDelete({ id, name }) {
        this.dialog.add(ConfirmationDialog, {
            title: _t("Delete this prompt?"),
            body: _t("“/%(name)s” will be permanently deleted.", { name }),
            confirmLabel: _t("Delete"),
            confirmClass: "btn-danger",
            confirm: () => {
                this.remove(id); // once the dialog, which holds the focus, is closed
            },
            cancel: () => {},
        });
    }

    async remove(id) {
        try {
            await this.api.deletePrompt(id);
            this.next = ".o_woow_add_prompt";
            await this.load();
        } catch (error) {
            this.state.error = error;
        }
    }

    editLabel({ name }) {
        return _t("Edit “/%(name)s”", { name });
    }

    deleteLabel({ name }) {
        return _t("Delete “/%(name)s”", { name });
    }
}

registry.category("public_components").add("woow_paas_platform.PromptLibrary", PromptLibrary);
