import { click, expect, queryOne, select, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup } from "@web/../tests/web_test_helpers";
import { ToolList } from "@woow_paas_platform/mcp_servers/tool_list";

defineMailModels();

test("a changed tool is shown with its arguments, and decided on", async () => {
    const tool = {
        id: 3,
        name: "echo",
        title: "",
        description: "Says it again.",
        active: true,
        available: true,
        review_state: "changed",
        warnings: "",
        approval_policy: "default",
        definition_diff: "",
        input_schema: { properties: { message: { type: "string" } }, required: ["message"] },
    };
    await mountWithCleanup(ToolList, {
        props: {
            tools: [tool],
            isReadonly: false,
            onSwitch: (_tool, isOn) => expect.step(`switch ${isOn}`),
            onReview: (_tool, review) => expect.step(review),
            onPolicy: (_tool, policy) => expect.step(policy),
        },
    });
    expect("[data-tool=echo]").toHaveText(/Needs review/);
    queryOne("details").open = true;
    expect("dt").toHaveText(/message\s*string\s*required/);
    await click("button:contains(Refuse)");
    await click("input[role=switch]");
    await click(".o_woow_tool_policy");
    await select("never");
    expect.verifySteps(["refuse", "switch false", "never"]);
});

test("one with suspicious text is marked while it is folded, and reading them takes its time", async () => {
    const tool = {
        id: 3,
        name: "send",
        active: true,
        available: true,
        review_state: "new",
        warnings: "It reads like an instruction to the model: “Ignore”",
        approval_policy: "default",
        input_schema: {},
    };
    const handlers = { onSwitch: () => {}, onReview: () => {}, onPolicy: () => {} };
    const shown = { isReadonly: false, ...handlers };
    await mountWithCleanup(ToolList, { props: { tools: [tool], ...shown } });
    expect("summary .o_woow_warned").toBeVisible();
    await mountWithCleanup(ToolList, { props: { tools: [], isSyncing: true, ...shown } });
    expect("p[role=status]").toHaveText("Reading the tools of this server…");
});
