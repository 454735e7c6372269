import { beforeEach, click, describe, expect, fill, queryAllTexts, test } from "@odoo/hoot";
import { mountWithCleanup } from "@web/../tests/web_test_helpers";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { PromptLibrary } from "@woow_paas_platform/prompts/prompt_library";
import { settle } from "../ai_chat_test_helpers";
import { refusal } from "../fake_responses";
import { FakeServer } from "../fake_server";

describe.current.tags("desktop");
defineMailModels();

const PROMPT = { fields: [], workspace: null, can_edit: true };
/** @type {FakeServer} */
let server;
beforeEach(() => {
    server = new FakeServer();
});

async function mountLibrary() {
    await mountWithCleanup(PromptLibrary);
    await settle();
}

test("prompts are added, changed and deleted", async () => {
    await mountLibrary();
    expect(".o_woow_empty").toHaveCount(1);
    await click(".o_woow_add_prompt");
    await settle();
    expect(".o_woow_prompt_form input").toBeFocused();
    await fill("tea");
    await click("textarea");
    await fill("Tea?");
    await click(".o_woow_prompt_form [type=submit]");
    await settle();
    expect(queryAllTexts(".o_woow_prompt code")).toEqual(["/tea"]);
    expect(".o_woow_add_prompt").toBeFocused();
    await click(".o_woow_prompt button:first");
    await settle();
    await click("textarea");
    await fill(" Now?");
    await click(".o_woow_prompt_form [type=submit]");
    await settle();
    expect(".o_woow_prompt_content").toHaveText("Tea? Now?");
    expect(".o_woow_prompt button:first").toBeFocused();
    await click(".o_woow_prompt button:last");
    await settle();
    await click(".modal .btn-danger");
    await settle();
    expect(".o_woow_prompt").toHaveCount(0);
    expect(".o_woow_add_prompt").toBeFocused();
});

test("a refusal keeps what was written", async () => {
    await mountLibrary();
    await click(".o_woow_add_prompt");
    await settle();
    await fill("tea");
    await click("textarea");
    await fill("Tea?");
    server.interrupts.push({
        match: "POST /api/ai/saved-prompts",
        answer: refusal(422, "refused", "There is already a command “/tea”."),
    });
    await click(".o_woow_prompt_form [type=submit]");
    await settle();
    expect(".o_woow_prompt_form").toHaveText(/already a command/);
    expect("textarea").toHaveValue("Tea?");
});

test("what is written in one prompt is not lost to another one", async () => {
    server.savedPrompts = ["tea", "tide"].map((name, id) => ({
        ...PROMPT,
        id: id + 1,
        name,
        content: `${name}?`,
    }));
    await mountLibrary();
    await click("[data-prompt-id='1'] button:contains(Edit)");
    await settle();
    expect("[data-prompt-id='2'] button:contains(Edit)").toBeEnabled();
    await click("textarea");
    await fill(" Now?");
    await settle();
    expect("[data-prompt-id='2'] button:contains(Edit)").not.toBeEnabled();
    expect(".o_woow_add_prompt").not.toBeEnabled();
    await click("button:contains(Cancel)");
    await settle();
    expect("[data-prompt-id='1'] button:contains(Edit)").toBeFocused();
    expect(".o_woow_add_prompt").toBeEnabled();
});

test("a workspace's prompt is changed by its managers only", async () => {
    const workspace = { id: 1, name: "ACME" };
    server.savedPrompts = [
        { ...PROMPT, id: 3, name: "tea", content: "Tea?", workspace, can_edit: false },
    ];
    server.workspaces = [workspace];
    await mountLibrary();
    expect(".o_woow_prompt .badge").toHaveText("ACME");
    expect(".o_woow_prompt button").toHaveCount(0);
    await click(".o_woow_add_prompt");
    await settle();
    expect(queryAllTexts("option")).toEqual(["Only me", "ACME"]);
});
