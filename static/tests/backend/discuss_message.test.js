import { expect, test } from "@odoo/hoot";
import { defineMailModels, start } from "@mail/../tests/mail_test_helpers";
import { markup } from "@odoo/owl";
import { getService } from "@web/../tests/web_test_helpers";
import "@woow_paas_platform/backend/discuss_message";

defineMailModels();

test("previews tell what was said, and not which calls were made for it", async () => {
    await start();
    const store = getService("mail.store");
    const preview = (id, body) =>
        String(store["mail.message"].insert({ id, body: markup(body) }).previewText);
    const summary = '<div class="o_ai_call_summary"><span>Tools used</span></div>';
    expect(preview(901, `<p>It is noon.</p>${summary}`)).toBe("It is noon.");
    expect(preview(902, "<p>It is noon.</p>")).toBe("It is noon.");
});
