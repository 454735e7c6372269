import { animationFrame, describe, expect, test } from "@odoo/hoot";
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
