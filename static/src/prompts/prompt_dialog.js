import { Component } from "@odoo/owl";
import { Dialog } from "@web/core/dialog/dialog";
import { registry } from "@web/core/registry";
import { PromptForm } from "./prompt_form";

/** Keeps a question as a prompt, under a name that the person gives. */
export class PromptDialog extends Component {
    static template = "woow_paas_platform.PromptDialog";
    static components = { Dialog, PromptForm };
    static props = {
        content: String,
        /** See PromptForm. */
        onSave: Function,
        close: Function,
    };

    async save(values) {
        await this.props.onSave(values);
        this.props.close();
    }
}

registry.category("lazy_components").add("woow_paas_platform.PromptDialog", PromptDialog);
