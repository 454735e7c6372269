import { click, expect, queryAllTexts, test } from "@odoo/hoot";
import { animationFrame, Deferred } from "@odoo/hoot-mock";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { makeDialogMockEnv, mountWithCleanup } from "@web/../tests/web_test_helpers";
import { ConnectionTest } from "@woow_paas_platform/server_dialogs/connection_test";
import { AiApiError } from "@woow_paas_platform/core/api_error";

defineMailModels();

const STEPS = [
    { name: "name", state: "ok", message: "mcp.example.com", advice: "", duration_ms: 3 },
    {
        name: "connection",
        state: "failed",
        message: "Nothing.",
        advice: "Look.",
        duration_ms: 12_345,
    },
    { name: "tools", state: "skipped", message: "", advice: "", duration_ms: 0 },
];

async function mountTest(answers) {
    const asked = [];
    const api = {
        request(method, path) {
            asked.push(`${method} ${path}`);
            return answers.shift();
        },
    };
    await mountWithCleanup(ConnectionTest, {
        env: await makeDialogMockEnv(),
        props: { path: "/api/mcp/servers/7/test", close: () => expect.step("close"), api },
    });
    return asked;
}

test("steps follow when the server was asked; the failed one says what to do", async () => {
    const answer = new Deferred();
    await mountTest([answer]);
    expect("[role=status]").toHaveText("Testing…");
    expect("button:contains(Test again)").not.toBeEnabled();
    answer.resolve({ ok: false, steps: STEPS });
    await animationFrame();
    expect(queryAllTexts("[data-step] span:first-child")).toEqual([
        "Host name",
        "Connection",
        "Tools",
    ]);
    expect("[data-step=connection] .o_woow_advice").toHaveText("Look.");
    expect("[data-step=name] .text-nowrap").toHaveText("3 ms");
    expect("[data-step=connection] .text-nowrap").toHaveText("12.3 s");
    expect("[data-step=tools]").not.toHaveText(/ms/);
    await click("button:contains(Close)");
    expect.verifySteps(["close"]);
});

test("what keeps it from being tested is a sentence, and it can be tried again", async () => {
    const refused = new AiApiError({ code: "rate_limited", message: "Try again in a minute." });
    const asked = await mountTest([Promise.reject(refused), Promise.resolve({ steps: STEPS })]);
    await animationFrame();
    expect("[role=alert]").toHaveText("Try again in a minute.");
    await click("button:contains(Test again)");
    await animationFrame();
    expect("[role=alert]").toHaveCount(0);
    expect("[data-step]").toHaveCount(3);
    expect(asked).toEqual(["POST /api/mcp/servers/7/test", "POST /api/mcp/servers/7/test"]);
});
