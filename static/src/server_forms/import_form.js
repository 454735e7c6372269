import { Component, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { RequestError } from "../core/try_again";
import { CopyButton } from "../markdown/copy_button";

/** `mcpServers` JSON in and out, as other MCP clients keep it. */
export class ImportForm extends Component {
    static template = "woow_paas_platform.McpImportForm";
    static components = { CopyButton, RequestError };
    static props = {
        /** `importText(text, isConfirmed)` → {added: string[], notes: {name, message}[]}, `exportText()` → string */
        list: Object,
        onDone: Function,
    };

    setup() {
        this.state = useState({
            text: "",
            exported: "",
            /** Names of the servers that the last import has added. */
            added: [],
            notes: [],
            /** What the text decides beside addresses, while nobody has agreed to it: {name, message}[]. */
            asks: [],
            error: "",
            isBusy: false,
        });
    }

    async attempt(action) {
        Object.assign(this.state, { isBusy: true, error: "", added: [], notes: [], asks: [] });
        try {
            await action();
        } catch (error) {
            if (error.code === "confirmation_required") {
                Object.assign(this.state, { asks: error.details.notes, isBusy: false });
                return;
            }
            this.state.error = error instanceof SyntaxError ? _t("This is not valid JSON.") : error;
            this.state.notes = error.details?.notes || [];
        }
        this.state.isBusy = false;
    }

    importServers(isConfirmed = false) {
        return this.attempt(async () => {
            const { text } = this.state;
            const { added, notes } = await this.props.list.importText(text, isConfirmed);
            Object.assign(this.state, { added, notes, text: "" });
        });
    }

    exportServers() {
        return this.attempt(async () => {
            this.state.exported = await this.props.list.exportText();
        });
    }

    get addedSentence() {
        const { added } = this.state;
        const names = added.join(", ");
        return added.length === 1
            ? _t("Added 1 server: %(names)s", { names })
            : _t("Added %(count)s servers: %(names)s", { count: added.length, names });
    }

    get copyLabel() {
        return _t("Copy");
    }
}
