import { animationFrame, click, expect, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup } from "@web/../tests/web_test_helpers";
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
