import { animationFrame, click, expect, queryAllTexts, queryText, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup } from "@web/../tests/web_test_helpers";
import { ToolCallCard } from "@woow_paas_platform/tool_call/tool_call_card";
import { toolCall } from "@woow_paas_platform/turn/turn_state";

defineMailModels();

const ROW = { number: "A1", customer: "Ann", amount: 5, paid: true };

async function heads(result) {
    const call = toolCall({ id: "a", tool: "list", outcome: "ok", result });
    await mountWithCleanup(ToolCallCard, { props: { call } });
    await click(".o_ai_chat_tool_head");
    await animationFrame();
    return queryAllTexts(".o_ai_chat_tool_table th");
}

test("arguments stand in the order in which they came, at every depth", async () => {
    const args = { model: "sale.order", values: { partner_id: "Azure", note: "", a: 1 }, id: 7 };
    const call = toolCall({ id: "a", tool: "add", args });
    await mountWithCleanup(ToolCallCard, { props: { call } });
    await click(".o_ai_chat_tool_head");
    await animationFrame();
    expect(JSON.stringify(JSON.parse(queryText(".o_ai_chat_tool_args")))).toBe(
        JSON.stringify(args)
    );
});

test("a table has the columns in the server's order", async () => {
    expect(await heads({ result: [ROW] })).toEqual(Object.keys(ROW));
});

test("so has one that came as a text", async () => {
    expect(await heads(JSON.stringify({ result: [ROW] }))).toEqual(Object.keys(ROW));
});

test("where text and structure differ the structure is the table", async () => {
    const text = JSON.stringify({ ...ROW, customer: undefined });
    expect(await heads({ text, structured: { result: [ROW] } })).toEqual(Object.keys(ROW));
});
