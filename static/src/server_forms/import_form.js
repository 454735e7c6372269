import { Component, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { CopyButton } from "../markdown/copy_button";

/** `mcpServers` JSON in and out, as other MCP clients keep it. */
export class ImportForm extends Component {
    static template = "woow_paas_platform.McpImportForm";
    static components = { CopyButton };
    static props = { list: Object, onDone: Function };

    setup() {
        this.state = useState({ text: "", exported: "", notes: [], error: "", isBusy: false });
    }

    async attempt(action) {
        Object.assign(this.state, { isBusy: true, error: "", notes: [] });
        try {
            await action();
        } catch (error) {
            this.state.error =
                error instanceof SyntaxError ? _t("This is not valid JSON.") : error.message;
            this.state.notes = error.details?.notes || [];
        }
        this.state.isBusy = false;
    }

    importServers() {
        return this.attempt(async () => {
            this.state.notes = await this.props.list.importText(this.state.text);
            this.state.text = "";
            if (!this.state.notes.length) {
                this.props.onDone();
            }
        });
    }

    exportServers() {
        return this.attempt(async () => {
            this.state.exported = await this.props.list.exportText();
        });
    }

    get copyLabel() {
        return _t("Copy");
    }
}
