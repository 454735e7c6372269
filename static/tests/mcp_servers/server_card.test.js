import { animationFrame, click, describe, edit, expect, press, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup } from "@web/../tests/web_test_helpers";
import { ServerCard } from "@woow_paas_platform/mcp_servers/server_card";

describe.current.tags("desktop");
defineMailModels();

const SERVER = {
    id: 1,
    name: "crm",
    url: "https://crm.example.com/mcp",
    active: true,
    state: "connected",
    authorization: "key",
    is_personal: false,
    header_names: [],
};

test("settings that were changed are lost by Cancel alone", async () => {
    const list = { loadTools: async () => {}, isAsking: () => false };
    await mountWithCleanup(ServerCard, { props: { server: SERVER, list, onRemoved: () => {} } });
    const [toggle, open] = [".o_woow_server_toggle", "button:contains(Edit)"];
    await click(toggle);
    await animationFrame();
    await click(open);
    await animationFrame();
    expect(toggle).toBeEnabled();
    await edit("https://new.example.com/mcp");
    await press("Escape");
    await animationFrame();
    expect("input[type=url]").toHaveValue("https://new.example.com/mcp");
    expect(toggle).not.toBeEnabled();
    await click("button:contains(Cancel)");
    await animationFrame();
    expect("form").toHaveCount(0);
    expect(toggle).toBeEnabled();
    expect(open).toBeFocused();
});
