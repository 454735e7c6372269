/**
 * A spreadsheet would take it for a formula, by some only after blanks are cut off or full-width signs are made plain;
 * a number may be negative.
 */
const FORMULA = /^[\s\0\u200b-\u200f\u2060]*(?:[=+@＝＋＠﹦﹢﹫]|[-－﹣](?![\d.,\s]*%?$))/;
/** Where many a spreadsheet begins a cell by its language, for all that stands in quotes behind a comma. */
const SEPARATOR = /([;\t\r\n])/;

function cell(value) {
    const text = value === null || value === undefined ? "" : String(value);
    const parts = text.split(SEPARATOR).map((part) => (FORMULA.test(part) ? `'${part}` : part));
    const safe = (/^[\t\r\n]/.test(text) ? "'" : "") + parts.join("");
    return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/**
 * @param {Array<Array<string|number|bigint|boolean|null>>} rows
 * @returns {string} as RFC 4180 has it
 */
export function csvOf(rows) {
    return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** Lets the browser keep a file. */
export function downloadFile(name, blob) {
    const url = URL.createObjectURL(blob);
    Object.assign(document.createElement("a"), { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url));
}

/** Rows as a file; the mark at its beginning tells Excel that it is UTF-8. */
export function downloadCsv(name, rows) {
    downloadFile(`${name}.csv`, new Blob([`\ufeff${csvOf(rows)}`], { type: "text/csv" }));
}
