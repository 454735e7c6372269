/** Of what a server sent, only what opens a window of this Odoo. */
export function windowAction(action) {
    if (action?.type !== "ir.actions.act_window" || !Array.isArray(action.views)) {
        return null;
    }
    const { name, res_model, res_id, views, domain, context } = action;
    return {
        type: "ir.actions.act_window",
        name,
        res_model,
        ...(res_id ? { res_id } : {}),
        views,
        domain: domain || [],
        context: context || {},
        target: "current",
    };
}
