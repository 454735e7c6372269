/** Rows and columns that a person can still take in. */
const MAX_ROWS = 200;
const MAX_COLUMNS = 12;

function isPlain(value) {
    return value === null || ["string", "number", "bigint", "boolean"].includes(typeof value);
}

function isRow(value) {
    return Boolean(value) && !Array.isArray(value) && typeof value === "object";
}

/** `{result: […]}` and the like stand for the list inside. */
function unwrap(data) {
    const values = isRow(data) ? Object.values(data) : [];
    return values.length === 1 && Array.isArray(values[0]) ? values[0] : data;
}

/**
 * A structured result as a table, where it is one: a list of flat records, or one flat record.
 *
 * @param {any} data
 * @param {number} [maxRows] what is beyond is cut
 * @returns {{columns: string[], rows: Array<Array<string|number|bigint|boolean|null>>, isCut: boolean}|null}
 *  `columns` is empty for one record, whose rows are pairs of name and value
 */
export function resultTable(data, maxRows = MAX_ROWS) {
    const list = unwrap(data);
    if (isRow(list)) {
        const rows = Object.entries(list);
        const fits = rows.length && rows.every(([, value]) => isPlain(value));
        return fits
            ? { columns: [], rows: rows.slice(0, maxRows), isCut: rows.length > maxRows }
            : null;
    }
    if (!Array.isArray(list) || !list.length || !list.every(isRow)) {
        return null;
    }
    const columns = [...new Set(list.flatMap((row) => Object.keys(row)))];
    const isFlat = list.every((row) => Object.values(row).every(isPlain));
    if (!isFlat || !columns.length || columns.length > MAX_COLUMNS) {
        return null;
    }
    const rows = list
        .slice(0, maxRows)
        .map((row) => columns.map((column) => (Object.hasOwn(row, column) ? row[column] : null)));
    return { columns, rows, isCut: list.length > maxRows };
}

const LINK = /^\[link\] (.*?) ?<(https?:\/\/[^\s<>]+)> ?(.*)$/gm;

/** @returns {{name: string, url: string, about: string}[]} the resources that the result's text points to */
export function resultLinks(text) {
    return [...text.matchAll(LINK)].map(([, name, url, about]) => ({
        name: name || url,
        url,
        about,
    }));
}
