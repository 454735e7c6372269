import { animationFrame, click, describe, edit, expect, press, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup } from "@web/../tests/web_test_helpers";
import { AssistantCard } from "@woow_paas_platform/service_assistants/assistant_card";

describe.current.tags("desktop");
defineMailModels();

const ASSISTANT = {
    id: 1,
    name: "Flow helper",
    active: true,
    lock: null,
    provider_id: 2,
    server_ids: [],
    ratings: { good: 0, bad: 0 },
    instructions: "Be brief.",
};

async function act(selector) {
    await click(selector);
    await animationFrame();
}

test("instructions that were written are lost by Cancel alone", async () => {
    await mountWithCleanup(AssistantCard, {
        props: {
            assistant: ASSISTANT,
            providers: [{ id: 2, name: "Demo" }],
            servers: [],
            api: {},
            onChange: async () => {},
            onPut: () => {},
            onRemove: async () => {},
        },
    });
    const places = [
        ".o_woow_assistant_toggle",
        "button:contains(Edit)",
        "button:contains(Versions)",
    ];
    await act(".o_woow_assistant_toggle");
    await act("button:contains(Edit)");
    await press("Escape");
    await animationFrame();
    expect("form").toHaveCount(0);
    await act("button:contains(Edit)");
    await click("textarea:first");
    await edit("Be exact.");
    await press("Escape");
    await animationFrame();
    expect("textarea:first").toHaveValue("Be exact.");
    for (const place of places) {
        expect(place).not.toBeEnabled();
    }
    await act("button:contains(Cancel)");
    expect("form").toHaveCount(0);
    for (const place of places) {
        expect(place).toBeEnabled();
    }
    expect("button:contains(Edit)").toBeFocused();
});
