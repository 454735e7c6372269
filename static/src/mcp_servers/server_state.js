import { _t } from "@web/core/l10n/translation";

/** Bootstrap's pairs of a pale ground and a dark text, which can be read in each colour. */
export const badge = (colour) => `bg-${colour}-subtle text-${colour}-emphasis`;

/** The state of an MCP server in a word. */
export function stateLabel(state) {
    return (
        {
            draft: _t("Not tested"),
            connected: _t("Connected"),
            degraded: _t("Degraded"),
            error: _t("Error"),
            auth_required: _t("Credentials needed"),
            disabled: _t("Off"),
        }[state] || state
    );
}

/** The colours of that word. */
export function stateClass(state) {
    return badge(
        { connected: "success", error: "danger", auth_required: "danger", draft: "info" }[state] ||
            "warning"
    );
}
