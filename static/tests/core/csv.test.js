import { describe, expect, test } from "@odoo/hoot";
import { csvOf } from "@woow_paas_platform/core/csv";
import { CSV_CELLS } from "./csv_cells";

describe.current.tags("headless");

test("what separates is quoted, and lines end as the format wants", () => {
    const rows = [
        ["Name", "Note"],
        ['Ada "the first"', "one, two"],
        [null, "line\nline"],
        [true, 1.5],
    ];
    expect(csvOf(rows)).toBe(
        'Name,Note\r\n"Ada ""the first""","one, two"\r\n,"line\nline"\r\ntrue,1.5\r\n'
    );
});

test("what a spreadsheet would compute stays text, a number stays a number", () => {
    const quoted = (cell) => (/[,;\t\r\n]/.test(cell) ? `"${cell}"` : cell);
    for (const [given, kept] of CSV_CELLS) {
        expect(csvOf([[given]])).toBe(`${quoted(kept)}\r\n`);
    }
});
