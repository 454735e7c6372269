import { expect, test } from "@odoo/hoot";
import { advanceTime } from "@odoo/hoot-mock";
import { ServerList } from "@woow_paas_platform/mcp_servers/server_list";

function server(values) {
    return { id: 1, name: "one", active: true, state: "connected", last_sync: "a", ...values };
}

function listed(...user_servers) {
    return { system_servers: [server({ id: 9 }), server({ id: 10, active: false })], user_servers };
}

test("a service shows its servers, and beside them what everybody shares", async () => {
    const list = new ServerList(5, { servers: async () => listed(server()) });
    await list.load();
    expect(list.servers.map((one) => one.id)).toEqual([1]);
    expect(list.shared.map((one) => one.id)).toEqual([9]);
    expect(list.owner).toEqual({ cloud_service_id: 5 });
});

test("a person's page shows only what is the person's own", async () => {
    const own = server({ id: 2, is_personal: true });
    const list = new ServerList(null, { servers: async () => listed(server(), own) });
    await list.load();
    expect(list.servers.map((one) => one.id)).toEqual([2]);
    expect(list.owner).toEqual({});
});

test("a new server is looked at until it has a state, then no more", async () => {
    const states = ["draft", "draft", "connected"];
    let looks = 0;
    const list = new ServerList(5, {
        servers: async () => listed(server({ state: states[looks++] })),
    });
    await list.load();
    await advanceTime(1500);
    await advanceTime(1500);
    await advanceTime(10000);
    expect(looks).toBe(3);
    expect(list.servers[0].state).toBe("connected");
});

test("nobody waits for a server that nobody asks", async () => {
    for (const [notice, values] of [
        ["MCP is switched off.", { last_attempt: null }],
        ["", { last_attempt: "2026-11-21T20:17:43Z" }],
        ["", { last_attempt: null, active: false }],
    ]) {
        let looks = 0;
        const list = new ServerList(5, {
            servers: async () => {
                looks++;
                return { ...listed(server({ state: "draft", ...values })), notice };
            },
            toggle: async () => server({ state: "draft", ...values, active: true }),
        });
        await list.load();
        expect(list.isAsking(list.servers[0])).toBe(false);
        await advanceTime(10000);
        expect(looks).toBe(1);
        await list.toggle(list.servers[0], true); // which asks it once more
        expect(list.isAsking(list.servers[0])).toBe(!notice);
        list.leave();
    }
});

test("a server that waits for a sign-in is not looked at again and again", async () => {
    let looks = 0;
    const list = new ServerList(5, {
        servers: async () => {
            looks++;
            return listed(server({ state: "draft", sign_in_url: "/sign-in", sign_in_id: null }));
        },
    });
    await list.load();
    await advanceTime(10000);
    expect(looks).toBe(1);
});

test("who goes to sign in finds the tools, whatever the other tab tells", async () => {
    let looks = 0;
    const list = new ServerList(5, {
        servers: async () => {
            looks++;
            const signed = looks > 20 ? { sign_in_id: 3 } : { sign_in_id: null };
            const state = looks > 22 ? "connected" : "draft";
            return listed(server({ state, sign_in_url: "/sign-in", ...signed }));
        },
    });
    await list.load();
    list.expectSignIn(list.servers[0]);
    for (let look = 0; look < 40; look++) {
        await advanceTime(1500);
    }
    expect(looks).toBe(23);
    expect(list.servers[0].state).toBe("connected");
});

test("tools that are open are read again when the server was", async () => {
    const reads = [];
    let last_sync = "a";
    const list = new ServerList(5, {
        servers: async () => listed(server({ last_sync })),
        server: async (id) => {
            reads.push(id);
            return server({ last_sync, tools: [{ id: 3, name: `of ${last_sync}` }] });
        },
    });
    await list.load();
    await list.loadTools(1);
    last_sync = "b";
    await list.load();
    expect(reads).toEqual([1, 1]);
    expect(list.servers[0].tools[0].name).toBe("of b");
});

test("a sync that fails shows the state that it left", async () => {
    const list = new ServerList(5, {
        servers: async () => listed(server({ state: "error" })),
        sync: async () => {
            throw new Error("No answer.");
        },
    });
    await expect(list.sync(1)).rejects.toThrow("No answer.");
    expect(list.servers[0].state).toBe("error");
});

test("a tool whose change is refused is shown as it is now", async () => {
    let definition_diff = "what was shown";
    const list = new ServerList(5, {
        servers: async () => listed(server()),
        server: async () => server({ tools: [{ id: 3, definition_diff }] }),
        changeTool: async () => {
            definition_diff = "what waits by now";
            throw new Error("Another definition waits.");
        },
    });
    await list.load();
    await list.loadTools(1);
    const [one] = list.servers;
    await expect(list.changeTool(one, one.tools[0], { review: "accept" })).rejects.toThrow(
        "Another definition waits."
    );
    expect(list.servers[0].tools[0].definition_diff).toBe("what waits by now");
});
