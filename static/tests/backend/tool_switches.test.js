import { expect, queryAllTexts, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup, onRpc } from "@web/../tests/web_test_helpers";
import { ToolSwitches } from "@woow_paas_platform/backend/tool_switches";

defineMailModels();

const SERVERS = [
    { id: 1, name: "files", description: "", active: true, state: "connected" },
    { id: 2, name: "shop", description: "", active: true, state: "auth_required" },
];
const TOOL = {
    server_id: [1, "files"],
    active: true,
    is_usable: true,
    review_state: "approved",
    token_estimate: 300,
};
const TOOLS = [
    { ...TOOL, id: 1, name: "read", token_estimate: 1200 },
    { ...TOOL, id: 2, name: "remove" },
];

async function mountSwitches(tools, disabled = []) {
    onRpc("woow_paas_platform.mcp_server", "search_read", () => SERVERS);
    onRpc("woow_paas_platform.mcp_tool", "search_read", () => tools);
    const record = {
        resId: 1,
        data: { servers: { currentIds: [1, 2] }, mcp_tool_disabled_ids: { currentIds: disabled } },
    };
    await mountWithCleanup(ToolSwitches, { props: { name: "servers", record, readonly: true } });
}

test("switches tell what the tools cost and what is wrong with a server", async () => {
    await mountSwitches(TOOLS, [2]);
    expect(queryAllTexts("[data-server=files] .o_woow_tool_tokens")).toEqual([
        "about 1,200 tokens",
        "about 1,200 tokens",
        "about 300 tokens",
    ]);
    expect("[data-server=files] .badge").toHaveCount(0);
    expect("[data-server=shop] .badge").toHaveText("Credentials needed");
});

test("tools that no model is offered do not count", async () => {
    await mountSwitches([
        ...TOOLS,
        { ...TOOL, id: 3, name: "move", is_usable: false, review_state: "new" },
        { ...TOOL, id: 4, name: "wipe", is_usable: false, review_state: "refused" },
        { ...TOOL, id: 5, name: "share", is_usable: false, active: false },
    ]);
    expect("[data-server=files] .o_woow_tool_count").toHaveText("2 of 5 tools");
    expect("[data-server=files] .o_woow_tool_tokens:first").toHaveText("about 1,500 tokens");
    expect("[data-server=files] .badge").toHaveCount(2);
    expect("[data-tool=move] .badge").toHaveText("Needs review");
    expect("[data-tool=wipe] .badge").toHaveText("Refused");
});
