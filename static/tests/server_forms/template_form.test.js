import { click, edit, expect, select, test } from "@odoo/hoot";
import { animationFrame } from "@odoo/hoot-mock";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import {
    makeDialogMockEnv,
    mountWithCleanup,
    patchWithCleanup,
} from "@web/../tests/web_test_helpers";
import { browser } from "@web/core/browser/browser";
import { McpServerTemplate } from "@woow_paas_platform/server_dialogs/mcp_server_template";
import { TemplateForm } from "@woow_paas_platform/server_forms/template_form";

defineMailModels();

function watchClipboard() {
    const clipboard = { writeText: async (text) => expect.step(text) };
    patchWithCleanup(browser, { navigator: { ...browser.navigator, clipboard } });
}

const TEMPLATE = {
    id: "github",
    name: "GitHub",
    description: "Issues.",
    category: "development",
    icon: "fa-github",
    website: "",
    is_system_only: false,
    is_command: false,
    available: true,
    operator_lines: "",
    fields: [
        {
            name: "token",
            label: "Token",
            placeholder: "ghp_…",
            help: "",
            required: true,
            secret: true,
        },
        {
            name: "sets",
            label: "Sets",
            placeholder: "",
            help: "Which.",
            required: false,
            secret: false,
        },
    ],
};

const COMMAND = { ...TEMPLATE, id: "files", name: "Files", is_command: true };
const LINES = '[[mcp.templates]]\nname = "files"';
const NOT_ENABLED = { ...COMMAND, available: false, operator_lines: LINES };

test("a template's form is made of its fields; what is secret is not shown", async () => {
    const saved = [];
    await mountWithCleanup(TemplateForm, {
        props: {
            api: { templates: async () => [TEMPLATE, COMMAND] },
            scope: "user",
            isPersonal: true,
            onSave: async (values) => saved.push(values),
            onCancel: () => {},
        },
    });
    expect(".o_woow_template").toHaveText(/GitHub\s*Issues\.\s*Development/);
    await click(".o_woow_template");
    await animationFrame();
    expect("#o_woow_template_token").toBeFocused();
    expect("#o_woow_template_token").toHaveAttribute("type", "password");
    expect("#o_woow_template_token").toHaveAttribute("required");
    expect("#o_woow_template_sets").toHaveAttribute("type", "text");
    await click("#o_woow_template_token");
    await edit("secret");
    await click("button[type=submit]");
    await animationFrame();
    expect(saved).toEqual([{ template: "github", values: { token: "secret", sets: "" } }]);
});

test("what the operator has not enabled is shown with the lines to send", async () => {
    watchClipboard();
    const asked = [];
    await mountWithCleanup(TemplateForm, {
        props: {
            api: {
                templates: async (scope) => {
                    asked.push(scope);
                    return [TEMPLATE, NOT_ENABLED];
                },
            },
            scope: "system",
            onSave: () => expect.step("save"),
            onCancel: () => {},
        },
    });
    expect(asked).toEqual(["system"]);
    expect(".o_woow_template").toHaveCount(2);
    expect("[data-template=github]").not.toHaveClass("o_woow_unavailable");
    expect("[data-template=files]").toHaveClass("o_woow_unavailable");
    expect("[data-template=files]").toHaveText(/Not enabled by the operator/);
    await click("[data-template=files]");
    await animationFrame();
    expect("form").toHaveCount(0);
    expect(".o_woow_operator_lines").toHaveText(LINES);
    await click(".btn-primary");
    await animationFrame();
    expect("[role=status]").toHaveText("Copied");
    expect.verifySteps([LINES]);
    await click("button:contains(Other templates)");
    await animationFrame();
    expect(".o_woow_template").toHaveCount(2);
    expect("[data-template=files]").toBeFocused();
});

test("an administrator chooses among the environments that the operator has released", async () => {
    const environments = [
        { env_type: "dynamic_injected", env_config: { runtime: "node", package: "files@1.0.0" } },
        { env_type: "custom_image", env_config: { image: "files:1" } },
    ];
    const saved = [];
    await mountWithCleanup(TemplateForm, {
        props: {
            api: { templates: async () => [{ ...COMMAND, fields: [], environments }] },
            scope: "system",
            onSave: async (values) => saved.push(values),
            onCancel: () => {},
        },
    });
    await click("[data-template=files]");
    await animationFrame();
    expect("option").toHaveCount(3);
    expect("option:eq(1)").toHaveText("Package fetched at startup: files@1.0.0");
    await click("button[type=submit]");
    await animationFrame();
    await click("select");
    await select("1");
    await animationFrame();
    await click("button[type=submit]");
    await animationFrame();
    expect(saved).toEqual([
        { template: "files", values: {} },
        { template: "files", values: {}, ...environments[1] },
    ]);
});

async function editValues() {
    const api = {
        templates: async () => [TEMPLATE, COMMAND],
        update: async (id, values) => expect.step([id, values]),
    };
    await mountWithCleanup(McpServerTemplate, {
        env: await makeDialogMockEnv(),
        props: {
            api,
            serverId: 7,
            templateId: "files",
            onSaved: () => expect.step("saved"),
            close: () => expect.step("close"),
        },
    });
}

test("a server of a template is filled in again, and what is left empty stays", async () => {
    await editValues();
    expect(".modal-title").toHaveText("Edit values");
    expect("#o_woow_template_token").not.toHaveAttribute("required");
    await click("#o_woow_template_sets");
    await edit("repos");
    await click("button[type=submit]");
    await animationFrame();
    expect.verifySteps([[7, { values: { sets: "repos" } }], "saved", "close"]);
});

test("what is optional can be removed from a server of a template", async () => {
    await editValues();
    expect("#o_woow_template_token_remove").toHaveCount(0);
    await click("#o_woow_template_sets_remove");
    await animationFrame();
    expect("#o_woow_template_sets").not.toBeEnabled();
    await click("button[type=submit]");
    await animationFrame();
    expect.verifySteps([[7, { values: { sets: "" } }], "saved", "close"]);
});

test("what the operator has withdrawn is not filled in again", async () => {
    await mountWithCleanup(TemplateForm, {
        props: {
            api: { templates: async () => [TEMPLATE, NOT_ENABLED] },
            scope: "system",
            chosenId: "files",
            onSave: () => expect.step("save"),
            onCancel: () => {},
        },
    });
    expect("[role=alert]").toHaveText(/no longer enabled in the operator.s file/);
    expect(".o_woow_template").toHaveCount(0);
});

test("whoever manages a server of a template says how far it is trusted", async () => {
    await mountWithCleanup(TemplateForm, {
        props: {
            api: { templates: async () => [TEMPLATE] },
            scope: "user",
            chosenId: "github",
            trustLevel: "none",
            onSave: (values) => expect.step(values),
            onCancel: () => {},
        },
    });
    await click("#o_woow_template_trust");
    await select("annotations");
    await click("button[type=submit]");
    await animationFrame();
    expect.verifySteps([{ template: "github", values: {}, trust_level: "annotations" }]);
});
