import {
    beforeEach,
    click,
    describe,
    edit,
    expect,
    getFixture,
    press,
    queryOne,
    test,
} from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup } from "@web/../tests/web_test_helpers";
import { AiChat } from "@woow_paas_platform/ai_chat/ai_chat";
import { settle } from "../ai_chat_test_helpers";
import { FakeServer } from "../fake_server";

describe.current.tags("desktop");
defineMailModels();

let server;
beforeEach(() => {
    sessionStorage.clear();
    server = new FakeServer();
});

function visibilityOf(selector) {
    return getComputedStyle(queryOne(selector)).contentVisibility;
}

test("what is out of sight is laid out again only when the answer is complete", async () => {
    getFixture().style.height = "600px";
    await mountWithCleanup(AiChat);
    await settle();
    await click(".o_ai_chat_input");
    await edit("Tell me");
    await press("Enter");
    await settle();
    const { stream } = server;
    const blocks = ["<h2>Title</h2>", "<p>Text</p>", "<ul><li>one</li></ul>", "<hr>", "<p>End</p>"];
    blocks.forEach((html, index) =>
        stream.event(index + 1, { type: "text_block", index, html, step: index })
    );
    await settle();
    expect(visibilityOf(".o_ai_chat_html:first")).toBe("auto");
    expect(visibilityOf(".o_ai_chat_message:first")).toBe("auto");
    const height = queryOne(".o_ai_chat_html:last").getBoundingClientRect().bottom;
    const top = queryOne(".o_ai_chat_turn").getBoundingClientRect().top;
    stream.event(9, { type: "done", message_id: 99, state: "done" });
    await settle();
    expect(visibilityOf(".o_ai_chat_html:first")).toBe("visible");
    const after = queryOne(".o_ai_chat_html:last").getBoundingClientRect().bottom;
    expect(after - queryOne(".o_ai_chat_turn").getBoundingClientRect().top).toBe(height - top, {
        message: "nothing jumps",
    });
});
