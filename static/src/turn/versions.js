import { Component } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";

/** Leafs through what stands in one place: the wordings of a question, the answers to it. */
export class Versions extends Component {
    static template = "woow_paas_platform.Versions";
    static props = {
        /** Of the one that is shown. */
        index: Number,
        count: Number,
        isDisabled: { type: Boolean, optional: true },
        /** (index) */
        onShow: Function,
    };

    get label() {
        const { index, count } = this.props;
        return _t("Version %(number)s of %(count)s", { number: index + 1, count });
    }
}
