import { animationFrame, click, edit, expect, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup } from "@web/../tests/web_test_helpers";
import { AiApiError } from "@woow_paas_platform/core/api_error";
import { ImportForm } from "@woow_paas_platform/server_forms/import_form";
import { TemplateForm } from "@woow_paas_platform/server_forms/template_form";

defineMailModels();

test("what is exported stands apart from what is pasted, to be copied", async () => {
    const list = { exportText: async () => '{"mcpServers": {}}' };
    await mountWithCleanup(ImportForm, { props: { list, onDone: () => {} } });
    await click("button:contains(Show these servers)");
    await animationFrame();
    expect("textarea").toHaveValue("");
    expect(".o_woow_exported pre").toHaveText('{"mcpServers": {}}');
    expect(".o_woow_exported .o_ai_chat_copy").toHaveAttribute("aria-label", "Copy");
});

test("an import says what it has added and what it left out", async () => {
    const notes = [{ name: "local", message: "A command." }];
    const list = { importText: async () => ({ added: ["github", "slack"], notes }) };
    await mountWithCleanup(ImportForm, { props: { list, onDone: () => expect.step("done") } });
    await click("textarea");
    await edit("{}");
    await animationFrame();
    await click("button:contains(Import)");
    await animationFrame();
    expect(".o_woow_added").toHaveText("Added 2 servers: github, slack");
    expect(".o_woow_notes").toHaveText("local: A command.");
    expect("textarea").toHaveValue("");
    expect.verifySteps([]);
});

test("what a configuration decides is asked before anything is imported", async () => {
    const asks = [{ name: "evil", message: "It comes with the trust level “Fully trusted”." }];
    const list = {
        importText: async (text, isConfirmed) => {
            expect.step(`${text} ${isConfirmed}`);
            if (!isConfirmed) {
                throw new AiApiError({ code: "confirmation_required", details: { notes: asks } });
            }
            return { added: ["evil"], notes: [] };
        },
    };
    await mountWithCleanup(ImportForm, { props: { list, onDone: () => {} } });
    await click("textarea");
    await edit("{}");
    await animationFrame();
    await click("button:contains(Import):first");
    await animationFrame();
    expect(".o_woow_asks li").toHaveText("evil: It comes with the trust level “Fully trusted”.");
    expect(".o_woow_added").toHaveCount(0);
    await click("textarea");
    await edit("[]");
    await animationFrame();
    expect(".o_woow_asks").toHaveCount(0, { message: "another text is asked about anew" });
    await click("button:contains(Import):first");
    await animationFrame();
    await click("button:contains(Import anyway)");
    await animationFrame();
    expect(".o_woow_added").toHaveText("Added 1 server: evil");
    expect.verifySteps(["{} false", "[] false", "[] true"]);
});

test("the list of templates can be left", async () => {
    await mountWithCleanup(TemplateForm, {
        props: {
            api: { templates: async () => [] },
            scope: "user",
            onSave: () => {},
            onCancel: () => expect.step("cancel"),
        },
    });
    await click(".o_woow_template_cancel");
    expect.verifySteps(["cancel"]);
});
