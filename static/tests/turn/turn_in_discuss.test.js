import { expect, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup } from "@web/../tests/web_test_helpers";
import { TurnView } from "@woow_paas_platform/turn/turn_view";
import { newTurnState } from "@woow_paas_platform/turn/turn_state";

defineMailModels();

async function mountTurn(turn, props = {}) {
    await mountWithCleanup(TurnView, { props: { turn, ...props } });
}

test("a question that waits for the answer before says so, and counts no time", async () => {
    await mountTurn(newTurnState(1, "queued"), { connection: "idle" });
    expect(".o_ai_chat_activity").toHaveText("Queued");
    await mountTurn(newTurnState(2, "queued"), { connection: "open" });
    expect(".o_ai_chat_activity:last").toHaveText("Starting…");
});

test("what a message beside it tells of the end is not said twice", async () => {
    await mountTurn(newTurnState(1, "stopped"), { isEndingTold: true });
    expect(".o_ai_chat_ending").toHaveCount(0);
    await mountTurn(newTurnState(2, "stopped"));
    expect(".o_ai_chat_ending").toHaveText("This answer was stopped.");
});
