import { Component, onWillStart, useEffect, useRef, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { copyText } from "../core/clipboard";
import { trustLevels } from "./trust_levels";
import { attempt, RequestError } from "../core/try_again";

/**
 * Choose a well-known server, then answer the few questions that its template asks. What the operator has not enabled
 * is shown with the lines to send to the operator.
 * With `chosenId` the server is there already: what is left empty stays as it is, unless it is marked to be removed.
 */
export class TemplateForm extends Component {
    static template = "woow_paas_platform.McpTemplateForm";
    static components = { RequestError };
    static props = {
        api: Object,
        /** Of the server: "system" | "user" */
        scope: String,
        /** Of one person alone: no server of a command. */
        isPersonal: { type: Boolean, optional: true },
        chosenId: { type: String, optional: true },
        /** How far a server that is there is trusted. */
        trustLevel: { type: String, optional: true },
        /** Resolves when the server is there; rejects with the sentence to show. */
        onSave: Function,
        onReset: { type: Function, optional: true },
        onCancel: Function,
    };

    setup() {
        this.root = useRef("root");
        this.state = useState({
            templates: [],
            chosen: null,
            values: {},
            removed: {},
            /** Index of the environment that was chosen, "" for none. */
            environment: "",
            trustLevel: this.props.trustLevel,
            error: "",
            isBusy: false,
            isCopied: false,
        });
        onWillStart(() => this.load());
        // What was chosen takes the focus, and gives it back to its button.
        useEffect(
            (chosen) => {
                if (chosen) {
                    this.root.el.querySelector("input, select, button").focus();
                    const opener = `[data-template="${chosen.id}"]`;
                    return () => this.root.el?.querySelector(opener)?.focus();
                }
            },
            () => [this.state.chosen]
        );
    }

    async load() {
        try {
            const templates = await this.props.api.templates(this.props.scope);
            this.state.templates = templates.filter(
                (template) => !(this.props.isPersonal && template.is_command)
            );
            if (this.props.chosenId) {
                this.chooseAgain();
            }
        } catch (error) {
            this.state.error = error;
        }
    }

    get trustLevels() {
        return trustLevels();
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
        this.state.environment = "";
        this.state.error = "";
        this.state.isCopied = false;
    }

    startOver() {
        this.state.chosen = null;
        this.props.onReset?.();
    }

    async copyLines() {
        this.state.isCopied = await copyText(this.state.chosen.operator_lines);
    }

    chooseAgain() {
        const chosen = this.state.templates.find(({ id }) => id === this.props.chosenId);
        this.state.templates = [];
        if (chosen?.available) {
            this.choose(chosen);
        } else {
            this.state.error = _t("This template is no longer enabled in the operator's file.");
        }
    }

    /** What may be chosen, by the package or image that tells it from the others. */
    get environments() {
        const { environments, is_command } = this.state.chosen;
        return is_command && environments?.length > 1 && this.props.scope === "system"
            ? environments.map(({ env_type, env_config }) => {
                  const kind = {
                      preinstalled: _t("Installed on the host"),
                      dynamic_injected: _t("Package fetched at startup"),
                      custom_image: _t("Container image"),
                  }[env_type];
                  const what = env_config.package || env_config.image;
                  return what ? `${kind}: ${what}` : kind;
              })
            : [];
    }

    get environment() {
        const { chosen, environment } = this.state;
        return environment === "" ? {} : chosen.environments[Number(environment)];
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

    save() {
        const { chosen, trustLevel } = this.state;
        return attempt(this.state, () =>
            this.props.onSave({
                template: chosen.id,
                values: this.given,
                ...this.environment,
                ...(trustLevel !== this.props.trustLevel && { trust_level: trustLevel }),
            })
        );
    }
}
