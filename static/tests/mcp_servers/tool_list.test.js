import { click, expect, queryOne, test } from "@odoo/hoot";
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
        definition_diff: "",
        input_schema: { properties: { message: { type: "string" } }, required: ["message"] },
    };
    await mountWithCleanup(ToolList, {
        props: {
            tools: [tool],
            isReadonly: false,
            onSwitch: (_tool, isOn) => expect.step(`switch ${isOn}`),
            onReview: (_tool, review) => expect.step(review),
        },
    });
    expect("[data-tool=echo]").toHaveText(/Needs review/);
    queryOne("details").open = true;
    expect("dt").toHaveText(/message\s*string\s*required/);
    await click("button:contains(Refuse)");
    await click("input[role=switch]");
    expect.verifySteps(["refuse", "switch false"]);
});
