import { Component } from "@odoo/owl";
import { Dialog } from "@web/core/dialog/dialog";
import { _t } from "@web/core/l10n/translation";
import { registry } from "@web/core/registry";
import { McpApi } from "../core/mcp_api";
import { TemplateForm } from "../mcp_servers/template_form";

/** A system server of a template: a new one, or one that is filled in anew. */
export class McpServerTemplate extends Component {
    static template = "woow_paas_platform.McpServerTemplate";
    static components = { Dialog, TemplateForm };
    static props = {
        /** Of the server that is filled in anew, with its `templateId`. */
        serverId: { type: Number, optional: true },
        templateId: { type: String, optional: true },
        /** Called with the server when it is saved. */
        onSaved: Function,
        close: Function,
        api: { type: Object, optional: true },
    };

    setup() {
        this.api = this.props.api || new McpApi();
    }

    get title() {
        return this.props.serverId ? _t("Change the values") : _t("New from Template");
    }

    async save({ template, values }) {
        const { serverId } = this.props;
        const server = serverId
            ? await this.api.update(serverId, { values })
            : await this.api.create({ template, values, scope: "system" });
        this.props.onSaved(server);
        this.props.close();
    }
}

/** Resolves to what is shown next: the new server, or the form again with what it is now. */
function openServerTemplate(env, { params = {} }) {
    return new Promise((resolve) => {
        let next;
        env.services.dialog.add(
            McpServerTemplate,
            {
                ...(params.server_id && {
                    serverId: params.server_id,
                    templateId: params.template,
                }),
                onSaved: (server) => {
                    next = params.server_id
                        ? { type: "ir.actions.client", tag: "soft_reload" }
                        : {
                              type: "ir.actions.act_window",
                              res_model: "woow_paas_platform.mcp_server",
                              res_id: server.id,
                              views: [[false, "form"]],
                          };
                },
            },
            { onClose: () => resolve(next) }
        );
    });
}

registry.category("actions").add("woow_mcp_server_template", openServerTemplate);
