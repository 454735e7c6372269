import { Component } from "@odoo/owl";
import { Dialog } from "@web/core/dialog/dialog";
import { _t } from "@web/core/l10n/translation";
import { registry } from "@web/core/registry";
import { McpApi } from "../core/mcp_api";
import { ImportForm } from "../server_forms/import_form";

/** System servers from an `mcpServers` document, and back into one. */
export class McpServerImport extends Component {
    static template = "woow_paas_platform.McpServerImport";
    static components = { Dialog, ImportForm };
    static props = { close: Function, api: { type: Object, optional: true } };

    setup() {
        this.api = this.props.api || new McpApi();
    }

    get title() {
        return _t("Import system servers");
    }

    async importText(text, confirmed) {
        const values = { mcpServers: JSON.parse(text), scope: "system", confirmed };
        const { servers, notes } = await this.api.importServers(values);
        return { added: servers.map(({ name }) => name), notes };
    }

    async exportText() {
        return JSON.stringify(await this.api.exportServers(), null, 2);
    }
}

registry.category("lazy_components").add("woow_paas_platform.McpServerImport", McpServerImport);
