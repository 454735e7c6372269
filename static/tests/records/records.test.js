import {
    animationFrame,
    click,
    expect,
    queryAll,
    queryAllTexts,
    queryOne,
    test,
    waitFor,
} from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mockService, mountWithCleanup, patchWithCleanup } from "@web/../tests/web_test_helpers";
import { AiApi } from "@woow_paas_platform/core/ai_api";
import { ApprovalCard } from "@woow_paas_platform/questions/approval_card";
import { RecordResult } from "@woow_paas_platform/records/record_result";

defineMailModels();

const COLUMNS = [
    { name: "city", label: "City", type: "char" },
    { name: "parent_id", label: "Company", type: "many2one", model: "res.partner" },
];

function row(id, name, city, url = `/odoo/res.partner/${id}`) {
    return { id, name, url, values: { city, parent_id: { id: 1, name: "Azure" } } };
}

async function mountResult(data) {
    await mountWithCleanup(RecordResult, {
        props: { data: { model: "res.partner", label: "Contact", ...data } },
    });
}

test("rows are a table that sorts, and lead to their records", async () => {
    const rows = [row(3, "Zoe", "Graz"), row(4, "Ann", "Linz")];
    await mountResult({ columns: COLUMNS, rows, total: 5 });
    const names = () => queryAllTexts("tbody tr td:first-child");
    expect(names()).toEqual(["Zoe", "Ann"]);
    expect("tbody tr:first-child td:first-child a").toHaveAttribute("href", "/odoo/res.partner/3");
    expect("tbody tr:first-child td:last-child a").toHaveAttribute("href", "/odoo/res.partner/1");
    expect("tbody tr:first-child td:nth-child(2)").toHaveAttribute("title", "Graz");
    await click("th:first-child button");
    await animationFrame();
    expect(names()).toEqual(["Ann", "Zoe"]);
    expect("th:first-child").toHaveAttribute("aria-sort", "ascending");
    await click("th:first-child button");
    await animationFrame();
    expect(names()).toEqual(["Zoe", "Ann"]);
    expect("th:first-child").toHaveAttribute("aria-sort", "descending");
    expect(".o_ai_chat_records_more").toHaveText("2 of 5 records");
});

test("columns that are closed to the person are named below the others", async () => {
    const closed = { name: "(no access)" };
    const columns = [...COLUMNS, { name: "user_id", label: "Salesperson", type: "many2one" }];
    const rows = ["Graz", null].map((city, index) => {
        const one = row(index, `P${index}`, city);
        return { ...one, values: { ...one.values, user_id: index ? null : closed } };
    });
    await mountResult({ columns, rows, total: 2 });
    expect(queryAllTexts("th")).toEqual(["Contact", "City", "Company"]);
    expect(".o_ai_chat_records_closed").toHaveText("Salesperson: (no access)");
});

test("customers are not told of columns that are closed to them", async () => {
    const one = row(3, "S00003", "Graz", "/my/orders/3");
    one.values.parent_id = { name: "(no access)" };
    await mountResult({ columns: COLUMNS, rows: [one], total: 1 });
    expect(queryAllTexts("dt")).toEqual(["City"]);
    expect(".o_ai_chat_records_closed").toHaveCount(0);
    const rows = [one, { ...one, id: 4, url: null }];
    await mountResult({ columns: COLUMNS, rows, total: 2 });
    expect(queryAllTexts("th")).toEqual(["Contact", "City"]);
    expect(".o_ai_chat_records_closed").toHaveCount(0);
});

test("the names of records stand in one column, or above their card", async () => {
    const columns = [{ name: "name", label: "Order Reference", type: "char" }, ...COLUMNS];
    const rows = [3, 4].map((id) => {
        const one = row(id, `S0000${id}`, "Graz");
        return { ...one, values: { ...one.values, name: one.name } };
    });
    await mountResult({ columns, rows: rows.slice(0, 1), total: 1 });
    expect(queryAllTexts("dt")).toEqual(["City", "Company"]);
    await mountResult({ columns, rows, total: 2 });
    expect(queryAllTexts("th")).toEqual(["Contact", "City", "Company"]);
    rows[0].values.name = "Another";
    await mountResult({ columns, rows, total: 2 });
    expect(queryAllTexts("th:nth-child(2)").at(-1)).toBe("Order Reference");
});

test("a column that is open in one row stays", async () => {
    const rows = [row(3, "Zoe", "Graz"), row(4, "Ann", "Linz")];
    rows[0].values.parent_id = { name: "(no access)" };
    await mountResult({ columns: COLUMNS, rows, total: 2 });
    expect(queryAllTexts("td:last-child")).toEqual(["(no access)", "Azure"]);
    expect(".o_ai_chat_records_closed").toHaveCount(0);
});

test("a card names what is closed to the person", async () => {
    const one = row(3, "Zoe", "Graz");
    one.values.parent_id = { name: "(no access)" };
    await mountResult({ columns: COLUMNS, rows: [one], total: 1 });
    expect(queryAllTexts("dt")).toEqual(["City"]);
    expect(".o_ai_chat_records_closed").toHaveText("Company: (no access)");
});

test("many rows are folded", async () => {
    const rows = Array.from({ length: 12 }, (_, i) => row(i + 1, `P${i}`, "Graz"));
    await mountResult({ columns: COLUMNS, rows, total: 12 });
    expect("tbody tr").toHaveCount(8);
    await click(".o_ai_chat_records_more button");
    await animationFrame();
    expect("tbody tr").toHaveCount(12);
});

test("one row is a card; what a record says is text", async () => {
    const hostile = row(3, "<img src=x onerror=alert(1)>", "<b>Graz</b>", null);
    await mountResult({ columns: COLUMNS, rows: [hostile], total: 1 });
    expect(".o_ai_chat_record_name").toHaveText("<img src=x onerror=alert(1)>");
    expect(".o_ai_chat_record b, .o_ai_chat_record img, .o_ai_chat_record a").toHaveCount(0);
    expect("dd:first").toHaveText("<b>Graz</b>");
});

test("sums are drawn, can be read as a table and opened as a pivot", async () => {
    mockService("action", {
        doAction: (action) => expect.step(`${action.res_model} ${action.views[0][1]}`),
    });
    await mountResult({
        group_by: [{ spec: "city", label: "City", type: "char" }],
        measures: [{ spec: "__count", label: "Count" }],
        groups: [
            { city: "Graz", __count: 3 },
            { city: "Linz", __count: 1 },
        ],
        total: 90,
        action: {
            type: "ir.actions.act_window",
            name: "Contact",
            res_model: "res.partner",
            views: [[false, "pivot"]],
        },
    });
    await waitFor("canvas[aria-label='Contact: Count by City']");
    expect(".o_ai_chat_records_left_out").toHaveText("2 of 90 groups");
    await click(".o_ai_chat_records_toggle");
    await animationFrame();
    expect(queryAllTexts("tbody td")).toEqual(["Graz", "3", "Linz", "1"]);
    await click(".o_ai_chat_records_open");
    expect.verifySteps(["res.partner pivot"]);
});

const APPROVAL = {
    id: "c1",
    turnId: 1,
    decision: null,
    choices: ["approve_once", "deny"],
    args: { model: "res.partner" },
    fixed: [],
    schema: { type: "object", properties: { model: { type: "string" } } },
    reason: "",
    by: "",
    decisionReason: "",
    expiresAt: null,
};

async function mountApproval(rehearsal, values = {}) {
    await mountWithCleanup(ApprovalCard, {
        props: { approval: { ...APPROVAL, rehearsal, ...values }, name: "Odoo.update_records" },
    });
}

function onRpcOfCard(answer) {
    patchWithCleanup(AiApi.prototype, {
        async rehearsal(turnId, callId, after) {
            return answer(after);
        },
    });
}

test("the approval tells what becomes of each field, and folds the arguments", async () => {
    await mountApproval({
        changes: [
            {
                id: 3,
                label: "Contact",
                name: "<i>Azure</i>",
                fields: [{ name: "city", label: "City", old: null, new: "Linz" }],
            },
        ],
        created: [{ id: null, label: "Task", name: "Call", fields: [] }],
        deleted: [{ id: 4, label: "Tag", name: "VIP" }],
        messages: [{ kind: "message", record: "Azure", body: "Hello", recipients: ["Ann"] }],
        numbers: ["S00012"],
        hidden: 2,
        differs: true,
    });
    expect(".o_ai_chat_rehearsal_record").toHaveCount(3);
    expect("[data-kind=changed] .fw-bold:first").toHaveText("<i>Azure</i>");
    expect("[data-field=city] del").toHaveText("nothing");
    expect("[data-field=city] ins").toHaveText("Linz");
    expect("[data-kind=deleted]").toHaveText(/Deletes for good\s*VIP/);
    expect(".o_ai_chat_rehearsal_message").toHaveText(/Sends a message on Azure to Ann\s*Hello/);
    expect(".o_ai_chat_rehearsal_differs").toHaveCount(1);
    expect(queryOne(".o_ai_chat_rehearsal").textContent).toInclude("S00012");
    expect(queryOne(".o_ai_chat_rehearsal").textContent).toInclude("2 more records");
    expect("input").toHaveCount(0);
    await click(".o_ai_chat_approval_edit");
    await animationFrame();
    expect("input").toHaveCount(1);
});

test("a change that is asked about again stands beside the one that was allowed", async () => {
    const field = { name: "city", label: "City", type: "char", new: "Linz" };
    const from = (old, values = {}) => ({
        changes: [{ id: 3, label: "Contact", name: "Azure", fields: [{ ...field, old }] }],
        ...values,
    });
    await mountApproval(from("Wien", { differs: true, before: from("Graz", { cut: true }) }));
    expect("[role=alert]").toHaveText(/have changed since this was allowed/);
    expect(".o_ai_chat_rehearsal_before del").toHaveText("Graz");
    expect(".o_ai_chat_rehearsal_before").toHaveText(/The rest is no longer kept/);
    expect(".o_ai_chat_rehearsal_now del").toHaveText("Wien");
    await mountApproval({ impossible: "It needs the network.", before: from("Graz") });
    expect(".o_ai_chat_rehearsal_now:last").toHaveText(/now\s*It needs the network\./);
});

const LINE = {
    model: "sale.order.line",
    label: "Sales Order Line",
    name: "Cabinet",
    first: 3,
    fields: [
        { name: "product_uom_qty", label: "Quantity", type: "float", new: 2 },
        { name: "price_unit", label: "Unit Price", type: "float", new: 320.5 },
        { name: "price_subtotal", label: "Subtotal", type: "monetary", new: 641 },
        { name: "sequence", label: "Sequence", type: "integer", new: 10 },
    ],
};
const ORDER = {
    model: "sale.order",
    label: "Sales Order",
    name: "S00012",
    first: 2,
    fields: [
        { name: "partner_id", label: "Customer", type: "many2one", new: "Azure" },
        {
            name: "amount_total",
            label: "Total",
            type: "monetary",
            new: { amount: 2564, currency: "EUR", name: "2564.00 EUR" },
        },
        { name: "date_order", label: "Order Date", type: "datetime", new: "2026-11-24 02:15" },
    ],
};

test("a quotation shows the order and its amounts first, and counts what there is no room for", async () => {
    const lines = Array.from({ length: 9 }, () => LINE);
    await mountApproval({ created: [ORDER, ...lines], changes: [], deleted: [] });
    expect(queryAllTexts("[data-field=amount_total] dd")).toEqual(["2,564.00 EUR"]);
    expect(queryAllTexts("[data-field=product_uom_qty] dd")).toEqual(Array(5).fill("2"));
    expect(queryAllTexts("[data-field=price_subtotal] dd")).toEqual(Array(5).fill("641"));
    expect("[data-field=sequence]").toHaveCount(0);
    expect(".o_ai_chat_rehearsal_record").toHaveCount(6);
    expect(".o_ai_chat_rehearsal_record:first").toHaveText(/Creates\s*S00012/);
    expect(".o_ai_chat_rehearsal_rest").toHaveText("Creates: Sales Order Line × 4");
    await click(".o_ai_chat_rehearsal_all");
    await animationFrame();
    expect(".o_ai_chat_rehearsal_record").toHaveCount(10);
    expect(".o_ai_chat_rehearsal_rest").toHaveCount(0);
    await click(".o_ai_chat_rehearsal_record:first button");
    await animationFrame();
    expect("[data-field=date_order] dd").toHaveText("Nov 24, 2026, 2:15 AM");
});

function field(number, name = "field") {
    return { name: `${name}_${number}`, label: `Field ${number}`, type: "char", new: "x" };
}

function record(model, first, fields) {
    return { model, label: model, name: model, first, fields };
}

test("all that the call has named is shown", async () => {
    const fields = Array.from({ length: 40 }, (_, i) => field(i));
    await mountApproval({ created: [record("res.partner", 10, fields)] });
    const shown = queryAllTexts(".o_ai_chat_rehearsal_record dt");
    expect(shown.slice(0, 10)).toEqual(fields.slice(0, 10).map(({ label }) => label));
    expect(shown.length).toBeLessThan(33);
    expect(".o_ai_chat_rehearsal_record button").toHaveText("Show all 40 fields");
});

test("the room of a card is used before anything is folded", async () => {
    const fields = Array.from({ length: 9 }, (_, i) => field(i));
    await mountApproval({ changes: [record("res.partner", 1, fields)] });
    expect(".o_ai_chat_rehearsal_record dt").toHaveCount(9);
    expect(".o_ai_chat_rehearsal_record button").toHaveCount(0);
});

test("what is deleted, and ways out, stand before other creations", async () => {
    const fields = Array.from({ length: 4 }, (_, i) => field(i));
    const lines = Array.from({ length: 20 }, () => record("sale.order.line", 4, fields));
    await mountApproval({
        created: [record("mail.activity", 0, []), ...lines],
        changes: [
            record("sale.order", 2, fields),
            { ...record("res.users", 1, fields), sensitive: true, more: 2 },
        ],
        deleted: [{ id: 4, model: "res.partner", label: "Contact", name: "Azure" }],
    });
    const heads = queryAllTexts(".o_ai_chat_rehearsal_record > div:first-child");
    expect(heads.slice(0, 3).map((head) => head.split("\n").at(-1))).toEqual([
        "mail.activity",
        "res.users",
        "Contact",
    ]);
    expect(".o_ai_chat_rehearsal_more.text-danger").toHaveText(/2 more fields/);
    expect(".o_ai_chat_rehearsal_rest").toHaveText(/sale.order.line × \d+/);
});

test("the record that the call is about comes first", async () => {
    await mountApproval(
        {
            created: [record("mail.activity", 0, [])],
            changes: [record("res.partner", 1, [field(1)])],
        },
        { args: { model: "res.partner" } }
    );
    expect(".o_ai_chat_rehearsal_record:first").toHaveText(/res\.partner/);
});

test("each of many records is reached, page by page, also after an error", async () => {
    const one = (number) => ({
        ...record("res.partner", 1, [field(1)]),
        name: `Partner ${number}`,
        kind: "changed",
    });
    const page = (from, to) => Array.from({ length: to - from }, (_, i) => one(from + i));
    let isDown = true;
    onRpcOfCard((after) => {
        expect.step(after);
        if (isDown) {
            isDown = false;
            throw new Error("No connection.");
        }
        return { records: page(30 + after, Math.min(80 + after, 130)), total: 100 };
    });
    await mountApproval({
        changes: page(0, 30),
        others: [
            {
                model: "res.partner",
                label: "res.partner",
                kind: "changed",
                count: 100,
                listed: 100,
            },
        ],
        hidden: 100,
        partial: true,
    });
    expect(".o_ai_chat_rehearsal_others").toHaveCount(0);
    expect(".o_ai_chat_rehearsal_all").toHaveText("Show all 130 records");
    await click(".o_ai_chat_rehearsal_all");
    await animationFrame();
    expect(".o_ai_chat_rehearsal [role=alert]").toHaveText(/No connection/);
    await click(".o_ai_chat_rehearsal [role=alert] button");
    await animationFrame();
    expect(".o_ai_chat_rehearsal_further").toHaveText("Show 50 more records");
    expect(".o_ai_chat_rehearsal_rest").toHaveText("Changes: res.partner × 50");
    await click(".o_ai_chat_rehearsal_further");
    await animationFrame();
    expect.verifySteps([0, 0, 50]);
    expect(".o_ai_chat_rehearsal_record").toHaveCount(130);
    expect(".o_ai_chat_rehearsal_record:last").toHaveText(/Partner 129/);
    expect(".o_ai_chat_rehearsal_further").toHaveCount(0);
    expect(".o_ai_chat_rehearsal_rest").toHaveCount(0);
});

test("what is only counted is counted by kind, what nobody knows is in red, and arguments stay open", async () => {
    await mountApproval({
        changes: [{ id: 3, label: "Contact", name: "Azure", fields: [], first: 0, more: 2 }],
        outward: [
            { kind: "request", what: "https://example.com" },
            { kind: "callback", what: "odoo.addons.x.later" },
        ],
        others: [
            {
                model: "mail.followers",
                label: "Followers",
                kind: "created",
                count: 3,
                names: ["Ann", "Bob"],
            },
            { model: "res.users", label: "User", kind: "changed", count: 1, sensitive: true },
            { model: "res.partner", label: "Contact", kind: "changed", count: 4, unknown: true },
        ],
        hidden: 7,
        partial: true,
    });
    const red = queryAllTexts(".o_ai_chat_rehearsal_unknown.text-danger");
    expect(red).toHaveLength(3);
    expect(red[0]).toInclude("https://example.com");
    expect(red[2]).toInclude("Contact × 4");
    expect(".o_ai_chat_rehearsal_others").toHaveText(
        "Also creates (details not shown): Followers × 3 (Ann, Bob, …)"
    );
    expect(".o_ai_chat_rehearsal_sensitive.text-danger").toHaveText(
        "Also changes (details not shown): User × 1"
    );
    expect(".o_ai_chat_rehearsal_more").toHaveText(/2 more fields/);
    expect("input").toHaveCount(1);
});

test("what is attached and what is printed is told", async () => {
    const message = { kind: "message", record: "S00012", body: "Hi", recipients: ["Ann"] };
    await mountApproval({
        messages: [{ ...message, files: ["Quotation - S00012.pdf", "Terms.pdf"] }, message],
        outward: [{ kind: "program", what: "wkhtmltopdf" }],
    });
    expect(queryAllTexts(".o_ai_chat_rehearsal_files")).toEqual([
        "Attached: Quotation - S00012.pdf, Terms.pdf",
    ]);
    expect(".o_ai_chat_rehearsal_unknown").toHaveText(
        "Makes a PDF with another program (wkhtmltopdf)."
    );
});

test("what reaches somebody stands before the records, notes of Odoo's own behind them", async () => {
    const note = { kind: "note", record: "Azure", body: "Contact created", recipients: [] };
    await mountApproval({
        created: [ORDER],
        messages: [
            ...Array(5).fill(note),
            { ...note, recipients: ["Ann"] },
            { ...note, kind: "message", recipients: [] },
        ],
    });
    const kinds = () =>
        queryAll(".o_ai_chat_rehearsal > div").map((one) =>
            one.classList.contains("o_ai_chat_rehearsal_record") ? "record" : "message"
        );
    expect(kinds()).toEqual(["message", "message", "record", "message", "message"]);
    expect(".o_ai_chat_rehearsal_notes").toHaveText("Show all 5 internal notes");
    await click(".o_ai_chat_rehearsal_notes");
    await animationFrame();
    expect(".o_ai_chat_rehearsal_message").toHaveCount(7);
    expect(".o_ai_chat_rehearsal_notes").toHaveCount(0);
});

test("a long message is folded, with how much is left", async () => {
    const body = "x".repeat(1000);
    const message = {
        kind: "mail",
        record: "",
        subject: "Hi",
        body,
        recipients: ["a@example.com"],
    };
    await mountApproval({ messages: [message, { ...message, body: null }] });
    expect(".o_ai_chat_rehearsal_message:first").toHaveText(/Sends an e-mail to a@example.com/);
    expect(".o_ai_chat_rehearsal_message:first button").toHaveText("Show 400 more characters");
    expect(".o_ai_chat_rehearsal_message:last").toHaveText(/You may not read its text/);
    await click(".o_ai_chat_rehearsal_message:first button");
    await animationFrame();
    expect(queryOne(".o_ai_chat_rehearsal_message:first").textContent).toInclude(body);
});

test("where nothing can be shown the card says so, with the arguments", async () => {
    await mountApproval({ impossible: "It needs a network." });
    expect(".o_ai_chat_rehearsal_unknown.text-danger").toHaveText("It needs a network.");
    expect("input").toHaveCount(1);
});
