import {
    after,
    animationFrame,
    click,
    describe,
    edit,
    expect,
    press,
    queryAllTexts,
    test,
} from "@odoo/hoot";
import { advanceTime } from "@odoo/hoot-mock";
import { Component, useState, xml } from "@odoo/owl";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mockService, mountWithCleanup, patchWithCleanup } from "@web/../tests/web_test_helpers";
import { browser } from "@web/core/browser/browser";
import { McpServers } from "@woow_paas_platform/mcp_servers/mcp_servers";
import { json } from "../fake_responses";

describe.current.tags("desktop");
defineMailModels();

const CHANGED = "woow_ai/mcp_server";
const NOTHING = { system_servers: [], user_servers: [], has_more: false, next: null, notice: "" };

class Page extends Component {
    static template = xml`<McpServers t-if="state.isOpen" />`;
    static components = { McpServers };
    static props = ["*"];

    setup() {
        this.state = useState({ isOpen: true });
    }
}

test("the page of servers hears of changes only while it is there", async () => {
    const listeners = new Set();
    mockService("bus_service", {
        subscribe(event, listener) {
            if (event === CHANGED) {
                listeners.add(listener);
            }
            return super.subscribe(event, listener);
        },
        unsubscribe(event, listener) {
            if (event === CHANGED) {
                listeners.delete(listener);
            }
            return super.unsubscribe(event, listener);
        },
    });
    patchWithCleanup(browser, { fetch: async () => json(NOTHING) });
    const page = await mountWithCleanup(Page);
    expect(listeners.size).toBe(1);
    page.state.isOpen = false;
    await animationFrame();
    expect(listeners.size).toBe(0);
});

test("a server with tools to review is not green, and the tab counts them live", async () => {
    const server = {
        id: 1,
        name: "crm",
        active: true,
        state: "connected",
        tool_count: 1,
        active_tool_count: 0,
        review_count: 1,
        authorization: "key",
    };
    const tab = document.createElement("span");
    Object.assign(tab, { id: "o_woow_tab_number", className: "d-none" });
    tab.append(document.createElement("span"));
    document.body.append(tab);
    after(() => tab.remove());
    let listed = [server, { ...server, id: 2, name: "new", state: "draft", review_count: 0 }];
    patchWithCleanup(browser, { fetch: async () => json({ ...NOTHING, user_servers: listed }) });
    await mountWithCleanup(McpServers, { props: { cloudServiceId: 5 } });
    await animationFrame();
    expect("[data-server=crm] .o_woow_server_state").toHaveText("1 to review");
    expect("[data-server=crm] .o_woow_server_state").not.toHaveClass("bg-success-subtle");
    expect("[data-server=new] .o_woow_server_state").toHaveText("Connecting…");
    expect(tab.textContent).toBe("1");
    expect(tab.className).toBe("o_woow_attention");
    listed = [{ ...server, review_count: 0 }];
    await advanceTime(1500);
    await animationFrame();
    expect(tab.className).toBe("d-none");
});

test("the folded card marks what was refused and what looks suspicious", async () => {
    const server = {
        id: 1,
        name: "crm",
        active: true,
        state: "connected",
        tool_count: 3,
        active_tool_count: 2,
        review_count: 0,
        refused_count: 1,
        warned_count: 2,
        authorization: "key",
    };
    const rest = { refused_count: 0, warned_count: 0 };
    const user_servers = [
        server,
        { ...server, id: 2, name: "off", active: false },
        { ...server, id: 3, name: "fine", ...rest },
    ];
    patchWithCleanup(browser, { fetch: async () => json({ ...NOTHING, user_servers }) });
    await mountWithCleanup(McpServers, { props: { cloudServiceId: 5 } });
    await animationFrame();
    expect(queryAllTexts("[data-server=crm] .o_woow_server_mark")).toEqual([
        "1 refused",
        "2 suspicious",
    ]);
    expect(".o_woow_server_mark").toHaveCount(2);
});

test("each shared server shows its state in words", async () => {
    const shared = [
        ["draft", "Not tested"],
        ["connected", "Connected"],
        ["degraded", "Degraded"],
        ["error", "Error"],
        ["auth_required", "Credentials needed"],
    ];
    const servers = shared.map(([state], id) => ({ id, name: state, active: true, state }));
    const listed = { ...NOTHING, system_servers: servers };
    patchWithCleanup(browser, { fetch: async () => json(listed) });
    await mountWithCleanup(Page);
    const words = [...document.querySelectorAll(".o_woow_shared_server .o_woow_server_state")];
    expect(words.map((word) => word.textContent)).toEqual(shared.map(([, word]) => word));
});

test("what is written about a new server is lost by Cancel alone", async () => {
    patchWithCleanup(browser, { fetch: async () => json(NOTHING) });
    await mountWithCleanup(McpServers, { props: {} });
    const [address, template] = ["[data-adding=address]", "[data-adding=template]"];
    await click(address);
    await animationFrame();
    await press("Escape");
    await animationFrame();
    expect("form").toHaveCount(0);
    expect(address).toBeFocused();
    await click(address);
    await animationFrame();
    await edit("https://crm.example.com/mcp");
    await press("Escape");
    await animationFrame();
    expect("input[type=url]").toHaveValue("https://crm.example.com/mcp");
    expect(address).not.toBeEnabled();
    expect(template).not.toBeEnabled();
    await click("button:contains(Cancel)");
    await animationFrame();
    expect("form").toHaveCount(0);
    expect(address).toBeFocused();
    expect(template).toBeEnabled();
});
