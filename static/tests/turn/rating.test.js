import { click, edit, expect, select, test } from "@odoo/hoot";
import { animationFrame } from "@odoo/hoot-mock";
import { Component, useState, xml } from "@odoo/owl";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup } from "@web/../tests/web_test_helpers";
import { Rating } from "@woow_paas_platform/turn/rating";

defineMailModels();

/** An answer whose rating the server keeps, unless it fails. */
async function mountRating(server) {
    class Answer extends Component {
        static components = { Rating };
        static props = {};
        static template = xml`<Rating rating="state.rating" onRate.bind="rate"/>`;

        setup() {
            this.state = useState({ rating: server.rating || null });
        }

        async rate(values) {
            expect.step(values);
            if (server.error) {
                throw server.error;
            }
            this.state.rating = values && {
                text: "",
                share: false,
                reply: "",
                reported: Boolean(values.report),
                ...values,
            };
        }
    }
    await mountWithCleanup(Answer);
}

test("a rating is given, changed and taken back", async () => {
    await mountRating({});
    await click("[data-rating='good']");
    await animationFrame();
    expect("[data-rating='good']").toHaveAttribute("aria-pressed", "true");
    expect("form").toHaveCount(0);
    await click("[data-rating='bad']");
    await animationFrame();
    expect("[data-rating='good']").toHaveAttribute("aria-pressed", "false");
    await click("textarea");
    await edit("It is not.");
    await click("button[type='submit']");
    await animationFrame();
    expect("[role='status']").toHaveText("Thank you for your feedback.");
    expect(".o_ai_chat_rating_details").toBeFocused();
    await click("[data-rating='bad']");
    await animationFrame();
    expect("[data-rating='bad']").toHaveAttribute("aria-pressed", "false");
    expect("[role='status']").toHaveCount(0);
    const said = { value: "bad", reason: null, text: "It is not.", share: false };
    expect.verifySteps([{ value: "good" }, { value: "bad" }, said, null]);
});

test("what was not kept is told and stays in the form", async () => {
    const server = { rating: { value: "bad", reason: "slow", text: "", share: false, reply: "" } };
    await mountRating(server);
    await click(".o_ai_chat_rating_details");
    await animationFrame();
    expect("select").toHaveValue("slow");
    await click("textarea");
    await edit("It is not.");
    server.error = new Error("Odoo cannot be reached.");
    await click("button[type='submit']");
    await animationFrame();
    expect("[role='alert']").toHaveText("Odoo cannot be reached.");
    expect("textarea").toHaveValue("It is not.");
    expect.verifySteps([{ value: "bad", reason: "slow", text: "It is not.", share: false }]);
});

test("what an administrator has read and said stands below", async () => {
    const rating = { value: "good", reason: null, text: "", share: false, reply: "" };
    await mountRating({ rating: { ...rating, seen_at: "2026-01-02T03:04:05Z" } });
    expect(".o_ai_chat_rating_seen").toHaveText("Read by an administrator");
    await mountRating({ rating: { ...rating, seen_at: "2026-01-02T03:04:05Z", reply: "Soon." } });
    expect(".o_ai_chat_rating_reply").toHaveText(/Soon\./);
    expect(".o_ai_chat_rating_seen").toHaveCount(1);
});

test("an answer is reported with a reason, once", async () => {
    await mountRating({});
    await click(".o_ai_chat_rating_report");
    await animationFrame();
    expect("form").toHaveAttribute("aria-label", "Report this answer");
    expect("select").toHaveAttribute("required");
    await click("select");
    await select("harmful");
    await click("button[type='submit']");
    await animationFrame();
    const said = { value: "bad", reason: "harmful", text: "", share: false, report: true };
    expect.verifySteps([said]);
    await animationFrame();
    expect("form").toHaveCount(0);
    expect(".o_ai_chat_rating_reported").toHaveText("Reported");
    expect(".o_ai_chat_rating_report").toHaveCount(0);
    expect(".o_ai_chat_rating_details").toBeFocused();
});
