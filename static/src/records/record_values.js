import { _t } from "@web/core/l10n/translation";
import { formatExact } from "../core/format";

const { DateTime } = luxon;
/** Fields that say in which state a record is. */
const STATES = ["state", "stage_id"];
/** The name of what the person may not read, as the API tells it. */
const CLOSED = "(no access)";
const NUMBERS = ["integer", "float", "monetary"];
/** Bars, or points of a line, that a person can still tell apart, and lines of one chart. */
const MAX_LABELS = 30;
const MAX_SERIES = 8;

function isObject(value) {
    return Boolean(value) && typeof value === "object" && !Array.isArray(value);
}

/** Whether it stands for a related record that the person may not read. */
function isClosed(value) {
    return isObject(value) && value.name === CLOSED && Object.keys(value).length === 1;
}

/** With as many digits after the point as the currency has, or more where they say something. */
function amount({ amount, currency, name }) {
    const [, digits = ""] = /^-?\d+\.(\d+)/.exec(name) || [];
    return `${formatExact(amount, digits.length)} ${currency}`.trim();
}

function moment(value, type) {
    const parsed = DateTime.fromISO(value.replace(" ", "T"));
    if (!parsed.isValid) {
        return value;
    }
    return parsed.toLocaleString(type === "date" ? DateTime.DATE_MED : DateTime.DATETIME_MED);
}

/**
 * A value of a record as people read it.
 *
 * @param {*} value see docs/api.md, “Results of tools on Odoo's records”
 * @param {string} [type] of the field
 */
export function valueText(value, type) {
    if (value === null || value === undefined) {
        return "";
    }
    if (typeof value === "boolean") {
        return value ? _t("Yes") : _t("No");
    }
    if (typeof value === "number") {
        return formatExact(value);
    }
    if (Array.isArray(value)) {
        return value.map((one) => valueText(one)).join(", ");
    }
    if (isClosed(value)) {
        return _t("(no access)");
    }
    if (isObject(value)) {
        return "amount" in value ? amount(value) : String(value.name ?? "");
    }
    return ["date", "datetime"].includes(type) ? moment(String(value), type) : String(value);
}

export function isNumeric(column) {
    return NUMBERS.includes(column.type);
}

function sortKey(value) {
    if (isObject(value)) {
        return "amount" in value ? value.amount : String(value.name ?? "");
    }
    return Array.isArray(value) ? valueText(value) : value;
}

function compare(a, b) {
    return typeof a === "string" || typeof b === "string"
        ? String(a).localeCompare(String(b), undefined, { numeric: true, sensitivity: "base" })
        : a - b;
}

/**
 * Rows by a column, or by their names where `name` is empty; what has no value comes last in both directions.
 */
export function sortedRows(rows, name, isDescending) {
    const keyed = rows.map((row) => [sortKey(name ? row.values[name] : row.name) ?? null, row]);
    const sign = isDescending ? -1 : 1;
    keyed.sort(([a], [b]) =>
        a === null || b === null ? (a === null) - (b === null) : sign * compare(a, b)
    );
    return keyed.map(([, row]) => row);
}

/** @returns {string|null} the path of a page of this Odoo, and nothing else */
export function pagePath(url) {
    return typeof url === "string" && /^\/(?![/\\])/.test(url) ? url : null;
}

/** Whether the person opens the record in the backend; a customer has a page of the portal, or none. */
function isInBackend(row) {
    return Boolean(pagePath(row.url)?.startsWith("/odoo/"));
}

/** Where the related record is opened by who has a backend. */
export function relatedPath(row, column, value) {
    return isInBackend(row) && column.model && value?.id
        ? `/odoo/${column.model}/${value.id}`
        : null;
}

/** @returns {Object[]} columns of which no row has anything to tell this person */
export function closedColumns(rows, columns) {
    return columns.filter(({ name, type }) => {
        const values = rows.map((row) => row.values[name]);
        const isEmpty = (value) => isClosed(value) || valueText(value, type) === "";
        return values.some(isClosed) && values.every(isEmpty);
    });
}

/** @returns {boolean} whether the column only repeats the names of the records */
export function repeatsNames(rows, { name, type }) {
    return (
        type === "char" &&
        rows.length > 0 &&
        rows.every((row) => row.name && row.values[name] === row.name)
    );
}

/** What is said of such columns in their place; nothing to customers, who could not ask for more rights. */
export function closedNote(rows, columns) {
    if (!rows.some(isInBackend)) {
        return "";
    }
    const labels = columns.map((column) => column.label).join(", ");
    return labels && `${labels}: ${_t("(no access)")}`;
}

/** @returns {{state: string, fields: Object[]}} what a card shows of a row: its state, and the values that there are */
export function sheetOf(row, columns) {
    const isShown = ({ name, type }) =>
        !isClosed(row.values[name]) &&
        valueText(row.values[name], type) !== "" &&
        !repeatsNames([row], { name, type });
    const state = columns.find(({ name }) => STATES.includes(name) && row.values[name]);
    return {
        state: state ? valueText(row.values[state.name], state.type) : "",
        fields: columns.filter((column) => column !== state && isShown(column)),
    };
}

function label(value) {
    return valueText(value) || _t("None");
}

/**
 * Groups as a chart; with two groupings the second one makes the series.
 *
 * @param {Object} data of `aggregate_records`
 * @param {number} [index] of the measure
 * @returns {{kind: "bar"|"line", labels: string[], series: {name: string, values: number[]}[], isCut: boolean}|null}
 */
export function chartOf({ group_by: groupings, measures, groups }, index = 0) {
    const measure = measures[index];
    if (!measure || groupings.length < 1 || groupings.length > 2 || groups.length < 2) {
        return null;
    }
    const isSum = (value) => !value || typeof value === "number";
    if (!groups.every((group) => isSum(group[measure.spec]))) {
        return null;
    }
    const [first, second] = groupings;
    const labels = [...new Set(groups.map((group) => label(group[first.spec])))];
    const names = second
        ? [...new Set(groups.map((group) => label(group[second.spec])))]
        : [measure.label];
    if (names.length > MAX_SERIES) {
        return null;
    }
    const shown = labels.slice(0, MAX_LABELS);
    const series = names.map((name) => ({ name, values: shown.map(() => 0) }));
    for (const group of groups) {
        const at = shown.indexOf(label(group[first.spec]));
        const of = second ? names.indexOf(label(group[second.spec])) : 0;
        if (at !== -1) {
            series[of].values[at] += group[measure.spec] || 0;
        }
    }
    const isTime =
        ["date", "datetime"].includes(first.type) && !/_(number|of_\w+)$/.test(first.spec);
    return {
        kind: isTime && shown.length > 2 ? "line" : "bar",
        labels: shown,
        series,
        isCut: labels.length > MAX_LABELS,
    };
}

/** Groups as rows of a table. */
export function groupRows({ group_by: groupings, measures, groups }) {
    const columns = [
        ...groupings.map(({ spec, label }) => ({ name: spec, label, type: "char" })),
        ...measures.map(({ spec, label }) => ({ name: spec, label, type: "float" })),
    ];
    return { columns, rows: groups.map((values, id) => ({ id, name: "", values, url: null })) };
}
