import { Component, onWillStart, useState } from "@odoo/owl";
import { Dialog } from "@web/core/dialog/dialog";
import { registry } from "@web/core/registry";
import { useAutofocus } from "@web/core/utils/hooks";
import { McpApi } from "../core/mcp_api";

const SHOWN = 100; // names at a time; words narrow them

/** The models that a provider offers, to choose one of. */
export class ModelChoice extends Component {
    static template = "woow_paas_platform.ModelChoice";
    static components = { Dialog };
    static props = {
        /** What stands in the form: `{provider_id?, api_base_url, api_key?}`. */
        provider: Object,
        current: { type: String, optional: true },
        onChosen: Function,
        close: Function,
        api: { type: Object, optional: true },
    };

    setup() {
        this.api = this.props.api || new McpApi();
        this.state = useState({ names: null, words: "", error: "" });
        useAutofocus({ refName: "words" });
        onWillStart(() => {
            this.load(); // the dialog is there at once, the names follow
        });
    }

    async load() {
        try {
            const { models } = await this.api.request(
                "POST",
                "/api/ai/providers/models",
                this.props.provider
            );
            this.state.names = models;
        } catch (error) {
            this.state.error = error.message;
        }
    }

    get found() {
        const words = this.state.words.toLowerCase().split(/\s+/);
        return this.state.names.filter((name) =>
            words.every((word) => name.toLowerCase().includes(word))
        );
    }

    get shown() {
        return this.found.slice(0, SHOWN);
    }

    choose(name) {
        this.props.onChosen(name);
        this.props.close();
    }
}

registry.category("lazy_components").add("woow_paas_platform.ModelChoice", ModelChoice);
