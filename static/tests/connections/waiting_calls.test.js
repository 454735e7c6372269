import { animationFrame, click, describe, expect, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup, patchWithCleanup } from "@web/../tests/web_test_helpers";
import { WaitingCalls } from "@woow_paas_platform/connections/waiting_calls";
import { AiApiError } from "@woow_paas_platform/core/api_error";
import { McpApi } from "@woow_paas_platform/core/mcp_api";

describe.current.tags("desktop");
defineMailModels();

const CALL = {
    id: "direct_1",
    client: "Claude Code",
    tool: "Send mail",
    server: "Mail",
    args: { to: "a@b.c", body: "Pay 1\u200b", copies: ["d"] },
    reason: "This tool is set to ask before it runs.",
    destructive: false,
    choices: ["approve_once", "approve_always", "deny"],
    asked_at: "2026-11-27T10:00:00Z",
    expires_at: "2026-11-27T11:00:00Z",
};

async function mountCalls(calls, refused) {
    patchWithCleanup(McpApi.prototype, {
        waitingCalls: async () => calls,
        async decideCall(id, { decision }) {
            expect.step([id, decision]);
            calls = calls.filter((call) => call.id !== id);
            if (refused) {
                throw refused;
            }
        },
    });
    await mountWithCleanup(WaitingCalls, { props: { onDecided: () => expect.step("decided") } });
}

async function act(selector) {
    await click(selector);
    await animationFrame();
}

test("nothing is shown where nothing waits", async () => {
    await mountCalls([]);
    expect("section").toHaveCount(0);
});

test("a call is shown whole and allowed", async () => {
    await mountCalls([CALL]);
    expect(".card").toHaveText(/“Claude Code” wants to call “Send mail” of “Mail”/);
    expect("dd:eq(1)").toHaveText("Pay 1[U+200B]");
    expect("dd:eq(2)").toHaveText('["d"]');
    await act("[data-decision=approve_once]");
    expect.verifySteps([["direct_1", "approve_once"], "decided"]);
    expect(".card").toHaveCount(0);
    expect("[role=status]").toHaveText(/“Send mail” is allowed/);
});

test("a program with a key has no name, and what destroys is denied first", async () => {
    await mountCalls([
        { ...CALL, client: "", destructive: true, choices: ["approve_once", "deny"] },
    ]);
    expect(".card").toHaveText(/A program with your key/);
    expect("[data-decision=approve_always]").toHaveCount(0);
    expect("[data-decision=deny]").toHaveClass("btn-primary");
    await act("[data-decision=deny]");
    expect.verifySteps([["direct_1", "deny"], "decided"]);
});

test("what comes too late is said, and the list is read again", async () => {
    const error = new AiApiError({ code: "already_decided", status: 409, message: "Too late." });
    await mountCalls([CALL], error);
    await act("[data-decision=approve_once]");
    expect.verifySteps([["direct_1", "approve_once"]]);
    expect("[role=alert]").toHaveText("Too late.");
    expect(".card").toHaveCount(0);
});
