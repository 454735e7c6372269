import { Component } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { pagePath } from "../records/record_values";

/** Records that are attached to a message, which is being written or was sent. */
export class MentionChips extends Component {
    static template = "woow_paas_platform.MentionChips";
    static props = {
        /** See MentionedRecord; `url` where the person can open it. */
        records: Array,
        /** Called with a record; without it none can be removed. */
        onRemove: { type: Function, optional: true },
    };

    path({ url }) {
        return url ? pagePath(url) : "";
    }

    removeLabel({ name }) {
        return _t("Remove %(name)s", { name });
    }
}
