import { click, edit, expect, queryOne, select, test } from "@odoo/hoot";
import { animationFrame } from "@odoo/hoot-mock";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup } from "@web/../tests/web_test_helpers";
import { ImportForm } from "@woow_paas_platform/server_forms/import_form";
import { ServerForm } from "@woow_paas_platform/server_forms/server_form";

defineMailModels();

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
            return { added: [], notes };
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
