import { animationFrame, click, describe, edit, expect, select, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup, patchWithCleanup } from "@web/../tests/web_test_helpers";
import { ClientKeys } from "@woow_paas_platform/connections/client_keys";
import { AiApiError } from "@woow_paas_platform/core/api_error";
import { McpApi } from "@woow_paas_platform/core/mcp_api";

describe.current.tags("desktop");
defineMailModels();

const KEY = {
    id: 5,
    name: "Laptop",
    created_at: "2026-11-21T20:17:43Z",
    expires_at: "2027-02-19T20:17:43Z",
};

const CLIENT = {
    id: 8,
    name: "Claude Code",
    gateway: "",
    place: "localhost",
    can_call: true,
    can_ask: false,
    can_change: false,
    connected_at: "2026-11-21T20:17:43Z",
    last_used_at: "2026-11-22T20:17:43Z",
    expires_at: "2026-12-22T20:17:43Z",
};

async function mountKeys(makeClientKey) {
    let keys = [KEY];
    let clients = [CLIENT];
    patchWithCleanup(McpApi.prototype, {
        clientKeys: async () => ({
            clients,
            keys,
            days: [30, 90, 365],
            url: "https://odoo.test/mcp",
            gateways: [{ name: "Sales", url: "https://odoo.test/mcp/sales" }],
        }),
        async makeClientKey(values) {
            expect.step(values);
            return makeClientKey();
        },
        async revokeClientKey(id) {
            expect.step(id);
            keys = [];
        },
        async disconnectClient(id) {
            expect.step(id);
            clients = [];
        },
    });
    await mountWithCleanup(ClientKeys);
}

async function act(selector) {
    await click(selector);
    await animationFrame();
}

async function fill() {
    await act(".o_woow_client_keys > .btn-primary");
    await click("[name=name]");
    await edit("Editor");
    await click("[name=password]");
    await edit("secret");
    await act("[type=submit]");
}

test("a new key is shown until the page is left", async () => {
    await mountKeys(async () => "abc123");
    expect(".o_woow_client_url code").toHaveText("https://odoo.test/mcp");
    await fill();
    expect.verifySteps([{ name: "Editor", days: 90, password: "secret" }]);
    expect(".o_woow_made_key code").toHaveText("abc123");
    expect("form").toHaveCount(0);
    expect(".o_woow_client_keys > .btn-primary").toBeFocused();
});

test("a wrong password keeps the form", async () => {
    await mountKeys(async () => {
        throw new AiApiError({ code: "wrong_password", status: 422, message: "It is wrong." });
    });
    await fill();
    expect.verifySteps([{ name: "Editor", days: 90, password: "secret" }]);
    expect("[role=alert]").toHaveText(/It is wrong/);
    expect("[name=name]").toHaveValue("Editor");
    expect(".o_woow_made_key").toHaveCount(0);
});

test("a key is revoked after a question", async () => {
    await mountKeys();
    await act("[data-key] button");
    expect(".modal").toHaveText(/“Laptop” can no longer reach/);
    await act(".modal .btn-secondary");
    expect.verifySteps([]);
    await act("[data-key] button");
    await act(".modal .btn-danger");
    expect.verifySteps([5]);
    expect("[data-key]").toHaveCount(0);
});

test("a client is disconnected after a question", async () => {
    await mountKeys();
    expect("[data-client]").toHaveText(/Claude Code\s+localhost, lists and calls your tools/);
    await act("[data-client] button");
    expect(".modal").toHaveText(/“Claude Code” can no longer reach/);
    await act(".modal .btn-danger");
    expect.verifySteps([8]);
    expect("[data-client]").toHaveCount(0);
    expect("[data-key]").toHaveCount(1);
});

test("a gateway has an address of its own", async () => {
    await mountKeys(async () => "");
    await click("#o_woow_gateway");
    await select("https://odoo.test/mcp/sales");
    await animationFrame();
    expect(".o_woow_client_url code").toHaveText("https://odoo.test/mcp/sales");
    await act("[data-connect=claude_code]");
    expect("pre").toHaveText(
        "claude mcp add --transport http odoo-sales https://odoo.test/mcp/sales"
    );
});
