import { expect, queryAllTexts, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup, onRpc } from "@web/../tests/web_test_helpers";
import { ToolSwitches } from "@woow_paas_platform/backend/tool_switches";

defineMailModels();

const SERVERS = [
    { id: 1, name: "files", description: "", active: true, state: "connected" },
    { id: 2, name: "shop", description: "", active: true, state: "auth_required" },
];
const TOOLS = [
    { id: 1, name: "read", server_id: [1, "files"], active: true, token_estimate: 1200 },
    { id: 2, name: "remove", server_id: [1, "files"], active: true, token_estimate: 300 },
];

test("switches tell what the tools cost and what is wrong with a server", async () => {
    onRpc("woow_paas_platform.mcp_server", "search_read", () => SERVERS);
    onRpc("woow_paas_platform.mcp_tool", "search_read", () => TOOLS);
    const record = {
        resId: 1,
        data: { servers: { currentIds: [1, 2] }, mcp_tool_disabled_ids: { currentIds: [2] } },
    };
    await mountWithCleanup(ToolSwitches, { props: { name: "servers", record, readonly: true } });
    expect(queryAllTexts("[data-server=files] .o_woow_tool_tokens")).toEqual([
        "about 1,200 tokens",
        "about 1,200 tokens",
        "about 300 tokens",
    ]);
    expect("[data-server=files] .badge").toHaveCount(0);
    expect("[data-server=shop] .badge").toHaveText("Credentials needed");
});
