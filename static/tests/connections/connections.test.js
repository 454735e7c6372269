import { animationFrame, click, describe, edit, expect, press, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup, patchWithCleanup } from "@web/../tests/web_test_helpers";
import { AiConnections } from "@woow_paas_platform/connections/ai_connections";
import { AiApiError } from "@woow_paas_platform/core/api_error";
import { McpApi } from "@woow_paas_platform/core/mcp_api";

describe.current.tags("desktop");
defineMailModels();

const CONNECTION = {
    server: { id: 3, name: "crm", title: "CRM", description: "" },
    has_key: true,
    key_since: "2026-11-21T20:17:43Z",
};
const GRANT = { id: 6, tool: "crm.find", conversation: null, granted_at: "2026-11-21T20:17:43Z" };

async function mountConnections(disconnect = async () => {}) {
    patchWithCleanup(McpApi.prototype, {
        connections: async () => [CONNECTION],
        grants: async () => [GRANT],
        async connect(id, key) {
            expect.step(`connect ${id} ${key}`);
            return CONNECTION;
        },
        async disconnect(id) {
            expect.step(`disconnect ${id}`);
            await disconnect();
        },
        revokeGrant: async (id) => expect.step(`revoke ${id}`),
    });
    await mountWithCleanup(AiConnections);
    await animationFrame();
}

async function ask(selector) {
    await click(selector);
    await animationFrame();
}

test("what takes effect at once is asked about first", async () => {
    await mountConnections();
    await ask(".o_woow_connection .btn-outline-danger");
    expect(".modal").toHaveText(/“CRM” cannot be used in your chats/);
    await ask(".modal .btn-secondary");
    await ask("[data-grant] button");
    expect(".modal").toHaveText(/before “crm.find” is called/);
    await ask(".modal .btn-secondary");
    expect.verifySteps([]);
    await ask("[data-grant] button");
    await ask(".modal .btn-primary");
    expect("[data-grant]").toHaveCount(0);
    await ask(".o_woow_connection .btn-outline-danger");
    await ask(".modal .btn-danger");
    expect.verifySteps(["revoke 6", "disconnect 3"]);
});

test("who has changed a key, or not, goes on where it began", async () => {
    await mountConnections();
    const replace = ".o_woow_connection button:contains(Replace)";
    await ask(replace);
    await press("Escape");
    await animationFrame();
    expect(replace).toBeFocused();
    await ask(replace);
    await edit("abc");
    await press("Enter");
    await animationFrame();
    expect(replace).toBeFocused();
    expect.verifySteps(["connect 3 abc"]);
});

test("where the session is over there is a way to sign in, in a tab of its own", async () => {
    await mountConnections(async () => {
        throw new AiApiError({ code: "unauthenticated", status: 401, message: "It has ended." });
    });
    await ask(".o_woow_connection .btn-outline-danger");
    await ask(".modal .btn-danger");
    expect.verifySteps(["disconnect 3"]);
    expect(".o_woow_connection [role=alert]").toHaveText(/It has ended\.\s*Sign in/);
    expect(".o_woow_sign_in_again").toHaveAttribute("target", "_blank");
    expect(".o_woow_sign_in_again").toHaveAttribute("href", /^\/web\/login\?redirect=/);
});
