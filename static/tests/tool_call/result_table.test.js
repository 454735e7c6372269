import { describe, expect, test } from "@odoo/hoot";
import { resultLinks, resultTable } from "@woow_paas_platform/tool_call/result_table";

describe.current.tags("headless");

test("a list of flat records is a table", () => {
    const rows = [
        { a: 1, b: "x" },
        { a: null, c: true },
    ];
    const table = {
        columns: ["a", "b", "c"],
        rows: [
            [1, "x", null],
            [null, null, true],
        ],
        isCut: false,
    };
    expect(resultTable(rows)).toEqual(table);
    expect(resultTable({ result: rows })).toEqual(table);
});

test("one flat record is pairs of name and value", () => {
    expect(resultTable({ temperature: 21, conditions: "Cloudy" })).toEqual({
        columns: [],
        rows: [
            ["temperature", 21],
            ["conditions", "Cloudy"],
        ],
        isCut: false,
    });
});

test("what is deep, wide, empty or no structure is no table", () => {
    const wide = Object.fromEntries([...Array(13).keys()].map((key) => [`k${key}`, key]));
    for (const data of [null, "text", 5, [], {}, [1, 2], [{ a: { b: 1 } }], [wide], [{}], [[1]]]) {
        expect(resultTable(data)).toBe(null);
    }
});

test("a long list is cut", () => {
    const table = resultTable([...Array(500).keys()].map((a) => ({ a })));
    expect(table.rows).toHaveLength(200);
    expect(table.isCut).toBe(true);
});

test("links of a result lead to the web only", () => {
    const text =
        "[link] Report <https://example.com/r> the newest\nor\n[link] x <javascript:alert(1)> \n[link]  <http://a.b/c>";
    expect(resultLinks(text)).toEqual([
        { name: "Report", url: "https://example.com/r", about: "the newest" },
        { name: "http://a.b/c", url: "http://a.b/c", about: "" },
    ]);
});
