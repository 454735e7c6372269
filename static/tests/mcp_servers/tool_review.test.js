import { click, expect, queryAll, queryAllTexts, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup } from "@web/../tests/web_test_helpers";
import { ToolList } from "@woow_paas_platform/mcp_servers/tool_list";

defineMailModels();

async function mountTool(values) {
    const tool = {
        id: 3,
        name: "echo",
        title: "",
        description: "",
        active: true,
        available: true,
        review_state: "changed",
        warnings: "",
        definition_diff: "<table><tbody><tr><td>now</td></tr></tbody></table>",
        input_schema: {},
        ...values,
    };
    const onReview = (_tool, review) => expect.step(review);
    await mountWithCleanup(ToolList, {
        props: {
            tools: [tool],
            isReadonly: false,
            onSwitch: () => {},
            onReview,
            onPolicy: () => {},
        },
    });
    queryAll("details").forEach((details) => (details.open = true));
}

function choices() {
    return queryAll("[data-review]").map(({ dataset, className }) => [
        dataset.review,
        className.includes("btn-primary"),
    ]);
}

test("a harmless change is accepted at hand", async () => {
    await mountTool({});
    expect(choices()).toEqual([
        ["accept", true],
        ["refuse", false],
    ]);
});

test("under warnings, each on its own line, refusing is at hand", async () => {
    await mountTool({ warnings: "It contains a link: “a”\nIt reads like an instruction: “b”" });
    expect(queryAllTexts(".o_woow_warnings li")).toEqual([
        "It contains a link: “a”",
        "It reads like an instruction: “b”",
    ]);
    expect(choices()).toEqual([
        ["refuse", true],
        ["accept", false],
    ]);
});

test("a tool in use that nobody has reviewed can be accepted", async () => {
    await mountTool({ review_state: "approved", review_hash: "ab12", definition_diff: "" });
    expect(".badge").toHaveText("Not reviewed");
    expect(choices()).toEqual([
        ["accept", true],
        ["refuse", false],
    ]);
    await click("[data-review=accept]");
    expect.verifySteps(["accept"]);
});

test("an accepted definition asks for nothing", async () => {
    await mountTool({ review_state: "approved", review_hash: "" });
    expect(choices()).toEqual([]);
});

test("what was refused can be accepted later", async () => {
    await mountTool({ review_state: "refused" });
    expect(choices()).toEqual([["accept", false]]);
    expect(".o_woow_review td").toHaveText("now");
    await click("[data-review=accept]");
    expect.verifySteps(["accept"]);
});
