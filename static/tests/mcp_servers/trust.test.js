import { animationFrame, click, expect, queryOne, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup } from "@web/../tests/web_test_helpers";
import { ServerCard } from "@woow_paas_platform/mcp_servers/server_card";
import { ServerForm } from "@woow_paas_platform/server_forms/server_form";

defineMailModels();

const NOTHING = () => {};
const LIST = { loadTools: async () => {}, isAsking: () => false };

test("what is asked before calls is said where a server is added", async () => {
    await mountWithCleanup(ServerForm, {
        props: { isPersonal: false, onSave: NOTHING, onCancel: NOTHING },
    });
    const trust = queryOne("select[id$=_trust]");
    expect(trust.value).toBe("none");
    expect(trust.closest("details")).toBe(null);
});

test("the card says what is asked before calls, and the address once", async () => {
    const server = {
        id: 1,
        name: "billing",
        url: "https://billing.example.com/mcp",
        active: true,
        state: "connected",
        authorization: "key",
        trust_level: "annotations",
        last_sync: "2026-11-21T20:17:43Z",
    };
    await mountWithCleanup(ServerCard, {
        props: { server, list: LIST, onRemoved: NOTHING },
    });
    expect("article").toHaveText(/https:\/\/billing/);
    await click(".o_woow_server_toggle");
    await animationFrame();
    expect(".o_woow_trust").toHaveText("Trust its labels: run read-only tools, ask for the rest");
    expect(queryOne("article").textContent.split("https://billing").length).toBe(2);
    expect("dd:last").not.toHaveText(/:\d\d:\d\d/, { message: "no seconds" });
});
