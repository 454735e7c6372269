import { Component } from "@odoo/owl";
import { Dialog } from "@web/core/dialog/dialog";
import { _t } from "@web/core/l10n/translation";
import { registry } from "@web/core/registry";
import { McpApi } from "../core/mcp_api";
import { TemplateForm } from "../server_forms/template_form";

/** A system server of a template: a new one, or one that is filled in again. */
export class McpServerTemplate extends Component {
    static template = "woow_paas_platform.McpServerTemplate";
    static components = { Dialog, TemplateForm };
    static props = {
        /** Of the server that is filled in again, with its `templateId`. */
        serverId: { type: Number, optional: true },
        templateId: { type: String, optional: true },
        /** Of that server; a new one is for everybody. */
        scope: { type: String, optional: true },
        /** Called with the server when it is saved. */
        onSaved: Function,
        close: Function,
        api: { type: Object, optional: true },
    };

    setup() {
        this.api = this.props.api || new McpApi();
    }

    get title() {
        return this.props.serverId ? _t("Edit values") : _t("New from Template");
    }

    async save({ template, ...changes }) {
        const { serverId } = this.props;
        const server = serverId
            ? await this.api.update(serverId, changes)
            : await this.api.create({ template, ...changes, scope: "system" });
        this.props.onSaved(server);
        this.props.close();
    }
}

registry.category("lazy_components").add("woow_paas_platform.McpServerTemplate", McpServerTemplate);
