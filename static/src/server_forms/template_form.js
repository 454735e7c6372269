import { Component, onWillStart, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";

/**
 * Choose a well-known server, then answer the few questions that its template asks.
 * With `chosenId` the server is there already: what is left empty stays as it is, unless it is marked to be removed.
 */
export class TemplateForm extends Component {
    static template = "woow_paas_platform.McpTemplateForm";
    static props = {
        api: Object,
        /** Whether those are offered, too, whose servers are for everybody. */
        isSystem: { type: Boolean, optional: true },
        chosenId: { type: String, optional: true },
        /** Resolves when the server is there; rejects with the sentence to show. */
        onSave: Function,
        onCancel: Function,
    };

    setup() {
        this.state = useState({
            templates: [],
            chosen: null,
            values: {},
            removed: {},
            error: "",
            isSaving: false,
        });
        onWillStart(() => this.load());
    }

    async load() {
        try {
            const templates = await this.props.api.templates();
            this.state.templates = templates.filter(
                (template) => this.props.isSystem || !template.is_system_only
            );
            if (this.props.chosenId) {
                this.chooseAgain();
            }
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
        this.state.removed = {};
        this.state.error = "";
    }

    chooseAgain() {
        const chosen = this.state.templates.find(({ id }) => id === this.props.chosenId);
        this.state.templates = [];
        if (chosen) {
            this.choose(chosen);
        } else {
            this.state.error = _t("This template is no longer enabled in the operator's file.");
        }
    }

    isRequired(field) {
        return field.required && !this.props.chosenId;
    }

    /** What was filled in; of a server that is there only what changes, which is "" for what is removed. */
    get given() {
        const { values, removed } = this.state;
        if (!this.props.chosenId) {
            return values;
        }
        const names = Object.keys(values).filter((name) => values[name] || removed[name]);
        return Object.fromEntries(names.map((name) => [name, removed[name] ? "" : values[name]]));
    }

    async save() {
        const { chosen } = this.state;
        this.state.isSaving = true;
        this.state.error = "";
        try {
            await this.props.onSave({ template: chosen.id, values: this.given });
        } catch (error) {
            this.state.error = error.message;
        }
        this.state.isSaving = false;
    }
}
