import { Component, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import {
    closedColumns,
    closedNote,
    pagePath,
    relatedPath,
    sheetOf,
    valueText,
} from "./record_values";

/** Fields before "Show all" is asked for. */
const SHOWN = 6;

/** One record: its picture, its state and what is in its fields. */
export class RecordCard extends Component {
    static template = "woow_paas_platform.RecordCard";
    static props = {
        label: String,
        columns: Array,
        row: Object,
    };

    setup() {
        this.state = useState({ isWhole: false, hasPicture: true });
    }

    get sheet() {
        return sheetOf(this.props.row, this.props.columns);
    }

    get closedNote() {
        const rows = [this.props.row];
        return closedNote(rows, closedColumns(rows, this.props.columns));
    }

    get path() {
        return pagePath(this.props.row.url);
    }

    get picture() {
        return this.state.hasPicture ? pagePath(this.props.row.image) : null;
    }

    /** Those that say most, where Odoo knows them. */
    firstOf(fields) {
        const keys = fields.filter(({ key }) => key);
        const first = keys.length > 1 ? keys : fields;
        return this.state.isWhole ? fields : first.slice(0, SHOWN);
    }

    isCut(fields) {
        return this.firstOf(fields).length < fields.length;
    }

    allLabel({ length }) {
        return _t("Show all %(count)s fields", { count: length });
    }

    text({ name, type }) {
        return valueText(this.props.row.values[name], type);
    }

    pathOf(column) {
        return relatedPath(this.props.row, column, this.props.row.values[column.name]);
    }
}
