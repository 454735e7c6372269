import { browser } from "@web/core/browser/browser";
import { _t } from "@web/core/l10n/translation";
import { registry } from "@web/core/registry";

/** Pages of everybody's own, in the menu of the user beside the preferences. */
function pageItem(id, description, href, sequence) {
    const callback = () => browser.location.assign(href);
    return () => ({ type: "item", id, description, href, callback, sequence });
}

registry
    .category("user_menuitems")
    .add("woow_ai_usage", pageItem("woow_ai_usage", _t("My AI Usage"), "/my/ai/usage", 52))
    .add("woow_ai_data", pageItem("woow_ai_data", _t("My AI Data"), "/my/ai/data", 54));
