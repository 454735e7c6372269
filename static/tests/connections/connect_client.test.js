import { animationFrame, click, describe, expect, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup } from "@web/../tests/web_test_helpers";
import { ConnectClient } from "@woow_paas_platform/connections/connect_client";

describe.current.tags("desktop");
defineMailModels();

const ADDRESS = "https://odoo.example.com/mcp";

async function choose(id, url = ADDRESS) {
    await mountWithCleanup(ConnectClient, { props: { url } });
    await click(`[data-connect=${id}]`);
    await animationFrame();
}

test("nothing is shown before a client is chosen, nor after it is chosen twice", async () => {
    await mountWithCleanup(ConnectClient, { props: { url: ADDRESS } });
    expect("pre").toHaveCount(0);
    await click("[data-connect=claude]");
    await animationFrame();
    expect("pre").toHaveText(ADDRESS);
    expect("[data-connect=claude]").toHaveAttribute("aria-expanded", "true");
    await click("[data-connect=claude]");
    await animationFrame();
    expect("pre").toHaveCount(0);
});

test("a terminal gets a command", async () => {
    await choose("claude_code");
    expect("pre").toHaveText(`claude mcp add --transport http odoo ${ADDRESS}`);
    expect("a").toHaveCount(0);
});

test("VS Code is opened with the server", async () => {
    await choose("vscode");
    const link = document.querySelector("a").getAttribute("href");
    expect(link.startsWith("vscode:mcp/install?")).toBe(true);
    const server = JSON.parse(decodeURIComponent(link.split("?")[1]));
    expect(server).toEqual({ name: "odoo", type: "http", url: ADDRESS });
});

test("Cursor is opened with the server", async () => {
    await choose("cursor");
    const link = document.querySelector("a").getAttribute("href");
    const query = new URLSearchParams(link.split("?")[1]);
    expect(query.get("name")).toBe("odoo");
    expect(JSON.parse(atob(query.get("config")))).toEqual({ url: ADDRESS });
});

test("a public address needs no warning", async () => {
    await choose("chatgpt");
    expect(".alert").toHaveCount(0);
});

for (const url of [
    "http://odoo.example.com/mcp",
    "https://localhost/mcp",
    "https://10.0.0.7/mcp",
]) {
    test(`nobody on the internet reaches ${url}`, async () => {
        await choose("claude", url);
        expect(".alert").toHaveText(/Claude calls Odoo over the internet/);
    });
}
