import { animationFrame, click, expect, queryAllTexts, queryText, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup } from "@web/../tests/web_test_helpers";
import { ToolCallCard } from "@woow_paas_platform/tool_call/tool_call_card";
import { toolCall } from "@woow_paas_platform/turn/turn_state";

defineMailModels();

/** As the database gives it back: short keys first. */
const STORED = [{ paid: true, amount: 5, number: "A1", customer: "Ann" }];

async function heads(text) {
    const result = { text, structured: { result: STORED } };
    const call = toolCall({ id: "a", tool: "list", outcome: "ok", result });
    await mountWithCleanup(ToolCallCard, { props: { call } });
    await click(".o_ai_chat_tool_head");
    await animationFrame();
    return queryAllTexts(".o_ai_chat_tool_table th");
}

test("arguments stand in the order of the tool's schema", async () => {
    const args = { id: 7, name: "Ann", extra: 1, customer: "Azure" };
    const call = toolCall({
        id: "a",
        tool: "add",
        args,
        order: ["customer", "name", "gone", "id"],
    });
    await mountWithCleanup(ToolCallCard, { props: { call } });
    await click(".o_ai_chat_tool_head");
    await animationFrame();
    const shown = JSON.parse(queryText(".o_ai_chat_tool_args"));
    expect(Object.keys(shown)).toEqual(["customer", "name", "id", "extra"]);
    expect(shown).toEqual(args);
});

test("a table has the columns in the server's order", async () => {
    const said = { number: "A1", customer: "Ann", amount: 5, paid: true };
    expect(await heads(JSON.stringify({ result: [said] }))).toEqual([
        "number",
        "customer",
        "amount",
        "paid",
    ]);
});

test("a text that says something else is not the table", async () => {
    const said = { number: "B2", customer: "Ann", amount: 5, paid: true };
    expect(await heads(JSON.stringify({ result: [said] }))).toEqual(Object.keys(STORED[0]));
});

test("a list that is told item by item has it, too", async () => {
    const said = { number: "A1", customer: "Ann", amount: 5, paid: true };
    const lines = [said, { ...said, number: "B2" }].map((row) => JSON.stringify(row, null, 2));
    STORED.push({ ...STORED[0], number: "B2" });
    expect(await heads(lines.join("\n"))).toEqual(Object.keys(said));
    STORED.pop();
});
