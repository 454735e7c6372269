import { Component, xml } from "@odoo/owl";
import { animationFrame, click, expect, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup, patchWithCleanup } from "@web/../tests/web_test_helpers";
import { assets } from "@web/core/assets";
import { registry } from "@web/core/registry";
import { LazyQuestion } from "@woow_paas_platform/tool_call/lazy_question";

defineMailModels();

class LateCard extends Component {
    static template = xml`<p class="late_card" t-out="props.text"/>`;
    static props = { text: String };
}

test("a question whose code does not come can be asked for again", async () => {
    let isOffline = true;
    patchWithCleanup(assets, {
        async loadBundle() {
            if (isOffline) {
                throw new Error("offline");
            }
            registry.category("lazy_components").add("woow_paas_platform.LateCard", LateCard);
        },
    });
    await mountWithCleanup(LazyQuestion, { props: { name: "LateCard", props: { text: "Yes?" } } });
    await animationFrame();
    expect("[role=alert]").toHaveText(/The server cannot be reached/);
    isOffline = false;
    await click("[role=alert] button");
    await animationFrame();
    await animationFrame();
    expect(".late_card").toHaveText("Yes?");
    expect("[role=alert]").toHaveCount(0);
});
