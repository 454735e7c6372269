import { describe, expect, test } from "@odoo/hoot";
import { csvOf } from "@woow_paas_platform/core/csv";

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
    const values = ["=1+1", "+1", "@a", "-cmd", "-1,234.5", "-5 %", "a-b"];
    expect(csvOf(values.map((value) => [value])).split("\r\n")).toEqual([
        "'=1+1",
        "'+1",
        "'@a",
        "'-cmd",
        '"-1,234.5"',
        "-5 %",
        "a-b",
        "",
    ]);
});

test("what stands behind a separator of other languages makes no formula either", () => {
    const cellOf = (value) => csvOf([["x", value]]).slice(2, -2);
    expect(cellOf("a;=cmd")).toBe(`"a;'=cmd"`);
    expect(cellOf("a\t@b; -c")).toBe(`"a\t'@b;' -c"`);
    expect(cellOf("a\n=b")).toBe(`"a\n'=b"`);
    expect(cellOf("a;b")).toBe(`"a;b"`);
    expect(cellOf("-1;-2\n\n3")).toBe(`"-1;-2\n\n3"`);
});

test("signs that a spreadsheet reads as plain ones, and blanks before them, make no formula", () => {
    const values = [
        "＝1+1",
        "＋1",
        "－cmd",
        "＠a",
        " =1",
        "\u00a0@a",
        "\ufeff=1",
        "\u200b=1",
        "\n=1",
    ];
    values.push("\n1", "　＝1", " -5", "－5", " a", "1 = 1");
    expect(values.map((value) => /^"?'/.test(csvOf([[value]])))).toEqual(
        values.map((_, index) => index < 11)
    );
});
