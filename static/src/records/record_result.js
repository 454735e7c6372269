import { Component } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { RecordCard } from "./record_card";
import { RecordChart } from "./record_chart";
import { RecordTable } from "./record_table";
import { windowAction } from "./window_action";

/**
 * What there is to show of a call on Odoo's own records. No server can make one up: `call.records` is Odoo's word.
 *
 * @returns {Object|null}
 */
export function recordsOf(call) {
    const data = call.records && !call.isError ? call.result?.records : null;
    const hasView = Boolean(data?.rows?.length || data?.groups?.length || data?.action);
    return hasView ? data : null;
}

const OPEN = {
    list: _t("Open the list"),
    form: _t("Open the form"),
    graph: _t("Open the graph"),
    pivot: _t("Open as a pivot"),
};

/** Records that a call has found or changed, to look at. */
export class RecordResult extends Component {
    static template = "woow_paas_platform.RecordResult";
    static components = { RecordCard, RecordChart, RecordTable };
    static props = { data: Object };

    /** There is no such service outside the backend. */
    get action() {
        return this.env.services.action ? windowAction(this.props.data.action) : null;
    }

    get openLabel() {
        return OPEN[this.action.views[0][1]] || this.action.name;
    }

    open() {
        this.env.services.action.doAction(this.action);
    }
}
