import { click, edit, expect, queryOne, select, test } from "@odoo/hoot";
import { animationFrame } from "@odoo/hoot-mock";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import {
    makeDialogMockEnv,
    mountWithCleanup,
    patchWithCleanup,
} from "@web/../tests/web_test_helpers";
import { browser } from "@web/core/browser/browser";
import { McpServerTemplate } from "@woow_paas_platform/server_dialogs/mcp_server_template";
import { ImportForm } from "@woow_paas_platform/server_forms/import_form";
import { ServerForm } from "@woow_paas_platform/server_forms/server_form";
import { TemplateForm } from "@woow_paas_platform/server_forms/template_form";
import { ToolList } from "@woow_paas_platform/mcp_servers/tool_list";

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

async function fillInAnew() {
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
    await fillInAnew();
    expect(".modal-title").toHaveText("Edit values");
    expect("#o_woow_template_token").not.toHaveAttribute("required");
    await click("#o_woow_template_sets");
    await edit("repos");
    await click("button[type=submit]");
    await animationFrame();
    expect.verifySteps([[7, { values: { sets: "repos" } }], "saved", "close"]);
});

test("what is optional can be removed from a server of a template", async () => {
    await fillInAnew();
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

test("a key that is left empty stays, headers must be JSON", async () => {
    const saved = [];
    const server = {
        url: "https://a.example.com/mcp",
        name: "a",
        description: "",
        transport: "auto",
        trust_level: "none",
        call_timeout: 30,
        has_api_key: true,
        header_names: ["X-Team"],
    };
    await mountWithCleanup(ServerForm, {
        props: {
            server,
            isPersonal: false,
            onSave: async (values) => saved.push(values),
            onCancel: () => {},
        },
    });
    expect(queryOne("input[type=url]")).toBeFocused();
    queryOne("details").open = true;
    await click("textarea");
    await edit("not JSON");
    await click("button[type=submit]");
    await animationFrame();
    expect("[role=alert]").toHaveText(/headers must be a JSON object/);
    await click("textarea");
    await edit("");
    await click("button[type=submit]");
    await animationFrame();
    expect(saved).toEqual([{}]);
});

test("a server with OAuth: a client is asked for only where one is needed", async () => {
    const saved = [];
    await mountWithCleanup(ServerForm, {
        props: {
            isPersonal: true,
            onSave: async (values) => saved.push(values),
            onCancel: () => {},
        },
    });
    const field = (label) =>
        `.o_woow_server_form div:has(> label:contains(${label})) > :nth-child(2)`;
    await click("input[type=url]");
    await edit("https://a.example.com/mcp");
    expect(field("API key")).toHaveCount(1);
    await click(field("Authorization"));
    await select("oauth_user");
    await animationFrame();
    expect(field("API key")).toHaveCount(0);
    expect(field("Client secret")).toHaveCount(0);
    expect("option[value=oauth_server]").toHaveCount(0);
    await click(field("OAuth scopes"));
    await edit("tools.read");
    await click("button[type=submit]");
    await animationFrame();
    expect(saved).toEqual([
        {
            url: "https://a.example.com/mcp",
            authorization: "oauth_user",
            oauth_scope: "tools.read",
        },
    ]);
    await click(field("Authorization"));
    await select("oauth_client");
    await animationFrame();
    for (const label of ["Client ID", "Authorization server"]) {
        expect(field(label)).toHaveAttribute("required");
    }
    expect(field("Client secret")).toHaveAttribute("type", "password");
});

test("what an import leaves out is told, and what is no JSON", async () => {
    const notes = [{ name: "local", message: "Only in the file." }];
    const list = {
        importText: async (text) => {
            JSON.parse(text);
            return notes;
        },
    };
    await mountWithCleanup(ImportForm, { props: { list, onDone: () => expect.step("done") } });
    await click("textarea");
    await edit("{");
    await click("button:contains(Import)");
    await animationFrame();
    expect("[role=alert]").toHaveText("This is not valid JSON.");
    await click("textarea");
    await edit("{}");
    await click("button:contains(Import)");
    await animationFrame();
    expect(".o_woow_notes").toHaveText(/Only in the file\./);
    expect.verifySteps([]);
});

test("a changed tool is shown with its arguments, and decided on", async () => {
    const tool = {
        id: 3,
        name: "echo",
        title: "",
        description: "Says it again.",
        active: true,
        available: true,
        review_state: "changed",
        warnings: "",
        definition_diff: "",
        input_schema: { properties: { message: { type: "string" } }, required: ["message"] },
    };
    await mountWithCleanup(ToolList, {
        props: {
            tools: [tool],
            isReadonly: false,
            onSwitch: (_tool, isOn) => expect.step(`switch ${isOn}`),
            onReview: (_tool, review) => expect.step(review),
        },
    });
    expect("[data-tool=echo]").toHaveText(/Needs review/);
    queryOne("details").open = true;
    expect("dt").toHaveText(/message\s*string\s*required/);
    await click("button:contains(Refuse)");
    await click("input[role=switch]");
    expect.verifySteps(["refuse", "switch false"]);
});
