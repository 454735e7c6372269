import { click, edit, expect, test } from "@odoo/hoot";
import { animationFrame } from "@odoo/hoot-mock";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup } from "@web/../tests/web_test_helpers";
import { AiApiError } from "@woow_paas_platform/core/api_error";
import { ToolTrial } from "@woow_paas_platform/tool_trial/tool_trial";

defineMailModels();

const TOOL = {
    id: 5,
    name: "add",
    input_schema: {
        type: "object",
        properties: {
            a: { type: "integer", title: "First" },
            unit: { enum: ["m", "km"], default: "km" },
        },
        required: ["a"],
    },
};

async function mountTrial(answer) {
    const asked = [];
    const api = {
        tryTool(id, args) {
            asked.push([id, args]);
            return answer();
        },
    };
    await mountWithCleanup(ToolTrial, { props: { tool: TOOL, api } });
    return asked;
}

test("the form asks what the schema wants, and shows the result as a chat does", async () => {
    const asked = await mountTrial(() =>
        Promise.resolve({
            outcome: "ok",
            is_error: false,
            result: [{ sum: 3 }],
            truncated: false,
            duration_ms: 12_345,
            pictures: [{ name: "dot", mimetype: "image/gif", data: "R0lGODlhAQABAAAAACw=" }],
        })
    );
    await click("button[type=submit]");
    await animationFrame();
    expect(asked).toEqual([]);
    expect("[role=alert]").toHaveText("1 field needs attention.");
    await click("input[name=a]");
    await edit("2");
    await click("button[type=submit]");
    await animationFrame();
    expect(asked).toEqual([[5, { a: 2, unit: "km" }]]);
    expect("[role=status] p:first").toHaveText("Done in 12.3 s");
    expect("[role=status] td").toHaveText("3");
    expect("[role=status] img").toHaveAttribute("alt", "dot");
});

test("a refusal is a sentence", async () => {
    const refused = new AiApiError({ code: "denied", message: "An administrator has blocked it." });
    await mountTrial(() => Promise.reject(refused));
    await click("input[name=a]");
    await edit("2");
    await click("button[type=submit]");
    await animationFrame();
    expect("[role=alert]").toHaveText("An administrator has blocked it.");
    expect("button[type=submit]").toBeEnabled();
});
