import { animationFrame, click, Deferred, expect, test } from "@odoo/hoot";
import { Component, xml } from "@odoo/owl";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup, patchWithCleanup } from "@web/../tests/web_test_helpers";
import { assets } from "@web/core/assets";
import { registry } from "@web/core/registry";
import { ChatFrame } from "@woow_paas_platform/backend/frame/chat_frame";

defineMailModels();

const NAME = "woow_paas_platform.AiChat";

class Chat extends Component {
    static template = xml`<p class="chat" t-out="props.name"/>`;
    static props = ["*"];
}

test("the chat has an outline until its script is there, and is asked for again", async () => {
    const components = registry.category("lazy_components");
    const chat = components.get(NAME);
    components.add(NAME, Chat, { force: true });
    const loads = [new Deferred(), new Deferred()];
    patchWithCleanup(assets, {
        loadBundle() {
            expect.step("load");
            return loads[0];
        },
    });
    patchWithCleanup(console, { warn: () => expect.step("warn") });
    await mountWithCleanup(ChatFrame, { props: { chat: { name: "Ada" } } });
    expect(".o_ai_chat_skeleton").toHaveCount(1);
    loads.shift().reject(new Error("offline"));
    await animationFrame();
    expect(".o_ai_chat_skeleton").toHaveCount(0);
    expect(".o_ai_chat_failed").toHaveText(/could not be loaded/);
    await click(".o_ai_chat_failed button");
    await animationFrame();
    expect(".o_ai_chat_skeleton").toHaveCount(1);
    loads[0].resolve();
    await animationFrame();
    await animationFrame();
    expect(".chat").toHaveText("Ada");
    expect.verifySteps(["load", "warn", "load", "load"]);
    components.add(NAME, chat, { force: true });
});
