import { Component, onWillStart, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";

/** Choose a well-known server, then answer the few questions that its template asks. */
export class TemplateForm extends Component {
    static template = "woow_paas_platform.McpTemplateForm";
    static props = {
        list: Object,
        /** Resolves when the server is there; rejects with the sentence to show. */
        onSave: Function,
        onCancel: Function,
    };

    setup() {
        this.state = useState({
            templates: [],
            chosen: null,
            values: {},
            error: "",
            isSaving: false,
        });
        onWillStart(() => this.load());
    }

    async load() {
        try {
            this.state.templates = await this.props.list.api.templates();
        } catch (error) {
            this.state.error = error.message;
        }
    }

    categoryOf(template) {
        return {
            automation: _t("Automation"),
            communication: _t("Communication"),
            data: _t("Data"),
            development: _t("Development"),
            knowledge: _t("Knowledge"),
            search: _t("Search"),
        }[template.category];
    }

    choose(template) {
        this.state.chosen = template;
        this.state.values = Object.fromEntries(template.fields.map((field) => [field.name, ""]));
        this.state.error = "";
    }

    async save() {
        const { chosen, values } = this.state;
        this.state.isSaving = true;
        this.state.error = "";
        try {
            await this.props.onSave({ template: chosen.id, values: { ...values } });
        } catch (error) {
            this.state.error = error.message;
        }
        this.state.isSaving = false;
    }
}
