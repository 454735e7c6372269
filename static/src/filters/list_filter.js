import { Component, onWillStart, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";

/** Only conversations with this assistant, about this service, used in so many days, with files. */
export const NO_FILTERS = { assistantId: null, cloudServiceId: null, days: 0, hasFiles: false };

/** Narrows the list of conversations. */
export class ListFilter extends Component {
    static template = "woow_paas_platform.ListFilter";
    static props = {
        filters: Object,
        /** Of a page about one cloud service. */
        hasService: Boolean,
        /** Resolves to {assistants, services}, each {id, name}[]. */
        getChoices: Function,
        /** (changes) */
        onFilter: Function,
    };

    setup() {
        this.state = useState({ assistants: [], services: [] });
        onWillStart(() => {
            this.load(); // what is there stands at once
        });
        this.periods = [
            { days: 0, label: _t("Any time") },
            { days: 1, label: _t("Since yesterday") },
            { days: 7, label: _t("Last 7 days") },
            { days: 30, label: _t("Last 30 days") },
            { days: 365, label: _t("Last 365 days") },
        ];
    }

    async load() {
        Object.assign(this.state, await this.props.getChoices());
    }

    onNumber(name, ev) {
        this.props.onFilter({ [name]: Number(ev.target.value) || null });
    }

    onFiles(ev) {
        this.props.onFilter({ hasFiles: ev.target.checked });
    }

    clear() {
        this.props.onFilter({ ...NO_FILTERS });
    }
}
