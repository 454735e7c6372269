import { loadBundle } from "@web/core/assets";
import { registry } from "@web/core/registry";

/**
 * @param {string} name of the dialog's component
 * @param {Object} props
 * @returns {Promise<void>} the dialog was closed
 */
export async function openDialog(env, name, props) {
    await loadBundle("woow_paas_platform.assets_servers_backend");
    const Dialog = registry.category("lazy_components").get(`woow_paas_platform.${name}`);
    await new Promise((onClose) => env.services.dialog.add(Dialog, props, { onClose }));
}

/** Resolves to what is shown next: the new server, or the form again with what it is now. */
async function openServerTemplate(env, { params: { server_id: serverId, template, scope } = {} }) {
    let next;
    await openDialog(env, "McpServerTemplate", {
        ...(serverId && { serverId, templateId: template, scope }),
        onSaved: (server) => {
            next = serverId
                ? { type: "ir.actions.client", tag: "soft_reload" }
                : {
                      type: "ir.actions.act_window",
                      res_model: "woow_paas_platform.mcp_server",
                      res_id: server.id,
                      views: [[false, "form"]],
                  };
        },
    });
    return next;
}

/** Resolves when the dialog is closed: the form then reads the state that the test has left. */
async function openConnectionTest(env, { params }) {
    await openDialog(env, "ConnectionTest", { path: params.path });
    return { type: "ir.actions.client", tag: "soft_reload" };
}

async function openToolTrial(env, { params }) {
    await openDialog(env, "ToolTrialDialog", { toolId: params.tool_id });
}

/** Resolves when the dialog is closed: the list is read again. */
async function openServerImport(env) {
    await openDialog(env, "McpServerImport", {});
    return { type: "ir.actions.client", tag: "soft_reload" };
}

registry
    .category("actions")
    .add("woow_mcp_server_import", openServerImport)
    .add("woow_mcp_server_template", openServerTemplate)
    .add("woow_tool_trial", openToolTrial)
    .add("woow_connection_test", openConnectionTest);
