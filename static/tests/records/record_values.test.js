import { beforeEach, describe, expect, test } from "@odoo/hoot";
import { allowTranslations, patchWithCleanup } from "@web/../tests/web_test_helpers";
import { localization } from "@web/core/l10n/localization";
import { citationsOf, linkCitations } from "@woow_paas_platform/records/citations";
import { recordsOf } from "@woow_paas_platform/records/record_result";
import {
    chartOf,
    pagePath,
    relatedPath,
    sheetOf,
    sortedRows,
    valueText,
} from "@woow_paas_platform/records/record_values";
import { windowAction } from "@woow_paas_platform/records/window_action";

describe.current.tags("headless");
beforeEach(() => {
    allowTranslations();
    patchWithCleanup(localization, { decimalPoint: ".", grouping: [3, 0], thousandsSep: "," });
});

const MONTH = { spec: "date_order:month", label: "Order Date", type: "datetime" };
const PERSON = { spec: "user_id", label: "Salesperson", type: "many2one" };
const SUM = { spec: "amount_total:sum", label: "Total" };

test("values read as people write them", () => {
    expect(valueText(null)).toBe("");
    expect(valueText(true)).toBe("Yes");
    expect(valueText({ id: 3, name: "Azure" })).toBe("Azure");
    expect(valueText([{ id: 1, name: "A" }, { name: "… of 9" }])).toBe("A, … of 9");
    expect(valueText({ amount: 1234.5, currency: "EUR", name: "1234.50 EUR" })).toBe(
        "1,234.50 EUR"
    );
    expect(valueText("2026-11-22", "date")).toMatch(/2026/);
    expect(valueText("2026-11-22", "char")).toBe("2026-11-22");
});

test("numbers keep their digits, and amounts those of their currency", () => {
    for (const [value, text] of [
        [0.0049, "0.0049"],
        [0.1 + 0.2, "0.3"],
        [1.005, "1.005"],
        [2564, "2,564"],
        [-1234567.25, "-1,234,567.25"],
        [12345678901.25, "12,345,678,901.25"],
        [1e-7, "0.0000001"],
        [0, "0"],
    ]) {
        expect(valueText(value)).toBe(text);
    }
    const amount = (amount, currency, name) => valueText({ amount, currency, name });
    expect(amount(2.5, "KWD", "2.500 KWD")).toBe("2.500 KWD");
    expect(amount(2.4705, "KWD", "2.4705 KWD")).toBe("2.4705 KWD");
    expect(amount(1000, "JPY", "1000 JPY")).toBe("1,000 JPY");
    expect(amount(0.0049, "USD", "0.0049 USD")).toBe("0.0049 USD");
    expect(amount(3, "", "3")).toBe("3");
});

test("rows are sorted by what they mean, and what is empty comes last both ways", () => {
    const rows = [
        { id: 1, name: "B", values: { n: 10, p: { id: 1, name: "x" } } },
        { id: 2, name: "a", values: { n: 9, p: null } },
        { id: 3, name: "C", values: { n: null, p: { id: 2, name: "A" } } },
    ];
    const ids = (name, down) => sortedRows(rows, name, down).map(({ id }) => id);
    expect(ids("", false)).toEqual([2, 1, 3]);
    expect(ids("n", false)).toEqual([2, 1, 3]);
    expect(ids("n", true)).toEqual([1, 2, 3]);
    expect(ids("p", false)).toEqual([3, 1, 2]);
    expect(ids("p", true)).toEqual([1, 3, 2]);
});

test("a link leads to a page of this Odoo and nowhere else", () => {
    expect(pagePath("/odoo/res.partner/3")).toBe("/odoo/res.partner/3");
    for (const url of [
        "//evil.example",
        "/\\evil.example",
        "https://evil.example",
        "javascript:x",
        null,
        3,
    ]) {
        expect(pagePath(url)).toBe(null);
    }
    const column = { name: "partner_id", model: "res.partner" };
    const value = { id: 7, name: "Azure" };
    expect(relatedPath({ url: "/odoo/sale.order/1" }, column, value)).toBe("/odoo/res.partner/7");
    expect(relatedPath({ url: "/my/orders/1" }, column, value)).toBe(null);
    expect(relatedPath({ url: "/odoo/sale.order/1" }, column, { name: "(no access)" })).toBe(null);
});

test("a card has the state apart, and no empty fields", () => {
    const columns = [
        { name: "state", type: "selection" },
        { name: "email", type: "char" },
        { name: "phone", type: "char" },
    ];
    const row = {
        values: { state: { key: "sale", name: "Sales Order" }, email: "a@b", phone: null },
    };
    expect(sheetOf(row, columns)).toEqual({ state: "Sales Order", fields: [columns[1]] });
});

test("what the person may not read is no value of a card, and said in a table", () => {
    const columns = [PERSON, { name: "city", label: "City", type: "char" }].map((one) => ({
        name: "user_id",
        ...one,
    }));
    const row = { values: { user_id: { name: "(no access)" }, city: "Graz" } };
    expect(sheetOf(row, columns).fields).toEqual([columns[1]]);
    expect(valueText(row.values.user_id)).toBe("(no access)");
    const named = { values: { user_id: { id: 7, name: "(no access)" }, city: null } };
    expect(sheetOf(named, columns).fields).toEqual([columns[0]]);
});

test("months make a line, people make bars, two groupings make series", () => {
    const months = ["January", "February", "March"].map((said, i) => ({
        "date_order:month": said,
        "amount_total:sum": i,
    }));
    expect(chartOf({ group_by: [MONTH], measures: [SUM], groups: months })).toEqual({
        kind: "line",
        labels: ["January", "February", "March"],
        series: [{ name: "Total", values: [0, 1, 2] }],
        isCut: false,
    });
    const people = [
        { user_id: { id: 1, name: "Ann" }, "date_order:month": "May", "amount_total:sum": 5 },
        { user_id: null, "date_order:month": "May", "amount_total:sum": 2 },
        { user_id: { id: 1, name: "Ann" }, "date_order:month": "June", "amount_total:sum": 1 },
    ];
    const chart = chartOf({ group_by: [PERSON, MONTH], measures: [SUM], groups: people });
    expect(chart.kind).toBe("bar");
    expect(chart.labels).toEqual(["Ann", "None"]);
    expect(chart.series).toEqual([
        { name: "May", values: [5, 2] },
        { name: "June", values: [1, 0] },
    ]);
});

test("what cannot be drawn is not", () => {
    const one = [{ user_id: null, "amount_total:sum": 1 }];
    expect(chartOf({ group_by: [PERSON], measures: [SUM], groups: one })).toBe(null);
    expect(chartOf({ group_by: [], measures: [SUM], groups: [...one, ...one] })).toBe(null);
    const dates = [
        { user_id: null, "amount_total:sum": "2026-01-01" },
        { user_id: { id: 1, name: "Ann" }, "amount_total:sum": "2026-01-02" },
    ];
    expect(chartOf({ group_by: [PERSON], measures: [SUM], groups: dates })).toBe(null);
});

test("only windows are opened, with what makes a window", () => {
    const action = {
        type: "ir.actions.act_window",
        name: "Contacts",
        res_model: "res.partner",
        views: [[false, "list"]],
        domain: [["id", "in", [1]]],
        help: "<script>",
    };
    expect(windowAction(action)).toEqual({
        type: "ir.actions.act_window",
        name: "Contacts",
        res_model: "res.partner",
        views: [[false, "list"]],
        domain: [["id", "in", [1]]],
        context: {},
        target: "current",
    });
    expect(windowAction({ type: "ir.actions.act_url", url: "https://evil.example" })).toBe(null);
    expect(windowAction(undefined)).toBe(null);
});

const FOUND = {
    records: "read",
    isError: false,
    result: {
        records: {
            rows: [
                { id: 14, name: "Azure Interior", url: "/odoo/res.partner/14", values: {} },
                { id: 15, name: "Azure", url: "/odoo/res.partner/15", values: {} },
                { id: 16, name: "Twin", url: "/odoo/res.partner/16", values: {} },
                { id: 17, name: "Twin", url: "/odoo/res.partner/17", values: {} },
            ],
        },
    },
};

function links(html, call = FOUND) {
    const { body } = new DOMParser().parseFromString(html, "text/html");
    const citations = citationsOf([{ type: "tool", call }]);
    if (citations) {
        linkCitations(body, citations);
    }
    return [...body.querySelectorAll("a")].map((a) => [a.textContent, a.getAttribute("href")]);
}

test("names and ids that an answer cites become links", () => {
    expect(links("<p>Ask <b>Azure Interior</b>, Azure or id 16 (#14).</p>")).toEqual([
        ["Azure Interior", "/odoo/res.partner/14"],
        ["Azure", "/odoo/res.partner/15"],
        ["16", "/odoo/res.partner/16"],
        ["14", "/odoo/res.partner/14"],
    ]);
});

test("parts of words, twins, code and what is a link already are left alone", () => {
    expect(links("<p>Azureous, Twin, id 160, 14 pieces</p>")).toEqual([]);
    expect(links("<pre>Azure</pre><code>Azure</code>")).toEqual([]);
    expect(links('<a href="https://a.example">Azure</a>')).toEqual([
        ["Azure", "https://a.example"],
    ]);
});

test("a server that calls itself Odoo makes up no records", () => {
    const call = { ...FOUND, records: "" };
    expect(recordsOf(call)).toBe(null);
    expect(links("<p>Azure Interior</p>", call)).toEqual([]);
    expect(recordsOf({ ...FOUND, isError: true })).toBe(null);
    expect(recordsOf(FOUND)).toBe(FOUND.result.records);
});
