import { Component, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import {
    closedColumns,
    closedNote,
    isNumeric,
    pagePath,
    relatedPath,
    repeatsNames,
    sortedRows,
    valueText,
} from "./record_values";

/** Rows before "Show all" is asked for. */
const SHOWN = 8;

/** Records, or groups of them, with a head that sorts. */
export class RecordTable extends Component {
    static template = "woow_paas_platform.RecordTable";
    static props = {
        label: String,
        columns: Array,
        rows: Array,
        /** Of all records, where more exist than came. */
        total: { type: Number, optional: true },
        /** Rows are records: their names come first, and lead to them. */
        isOfRecords: { type: Boolean, optional: true },
    };
    static defaultProps = { isOfRecords: true };

    setup() {
        /** `sortedBy`: a column's name, "" for that of the record, null for the order in which rows came. */
        this.state = useState({ sortedBy: null, isDescending: false, isWhole: false });
    }

    get closed() {
        return this.props.isOfRecords ? closedColumns(this.props.rows, this.props.columns) : [];
    }

    get columns() {
        const { closed } = this;
        const { columns, isOfRecords, label, rows } = this.props;
        if (!isOfRecords) {
            return columns;
        }
        const others = columns.filter(
            (column) => !closed.includes(column) && !repeatsNames(rows, column)
        );
        return [{ name: "", label, type: "char" }, ...others];
    }

    get closedNote() {
        return closedNote(this.props.rows, this.closed);
    }

    get rows() {
        const { sortedBy, isDescending, isWhole } = this.state;
        const { rows } = this.props;
        const sorted = sortedBy === null ? rows : sortedRows(rows, sortedBy, isDescending);
        return isWhole ? sorted : sorted.slice(0, SHOWN);
    }

    get isCut() {
        return !this.state.isWhole && this.props.rows.length > SHOWN;
    }

    get allLabel() {
        return _t("Show all %(count)s", { count: this.props.rows.length });
    }

    get more() {
        const { rows, total } = this.props;
        return total > rows.length
            ? _t("%(shown)s of %(total)s records", { shown: rows.length, total })
            : "";
    }

    sort({ name }) {
        const isSame = this.state.sortedBy === name;
        this.state.isDescending = isSame && !this.state.isDescending;
        this.state.sortedBy = name;
    }

    order({ name }) {
        if (this.state.sortedBy !== name) {
            return "none";
        }
        return this.state.isDescending ? "descending" : "ascending";
    }

    icon(column) {
        return (
            { ascending: "fa-sort-asc", descending: "fa-sort-desc" }[this.order(column)] ||
            "fa-sort"
        );
    }

    isNumeric(column) {
        return isNumeric(column);
    }

    text(row, column) {
        return valueText(column.name ? row.values[column.name] : row.name, column.type);
    }

    path(row, column) {
        return column.name ? relatedPath(row, column, row.values[column.name]) : pagePath(row.url);
    }
}
