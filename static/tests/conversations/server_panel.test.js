import {
    after,
    animationFrame,
    beforeEach,
    click,
    describe,
    edit,
    expect,
    getFixture,
    press,
    queryAllTexts,
    test,
} from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup } from "@web/../tests/web_test_helpers";
import { AiChat } from "@woow_paas_platform/ai_chat/ai_chat";
import { setVisibility, settle } from "../ai_chat_test_helpers";
import { FakeServer } from "../fake_server";

describe.current.tags("desktop");
defineMailModels();

const SHOP = { id: 5, name: "Shop", state: "running", workspace: { id: 1, name: "ACME" } };

function mcpServer(id, name, count) {
    return {
        id,
        name,
        title: "",
        description: "",
        scope: "system",
        state: "connected",
        tool_count: count,
        token_estimate: 100,
        enabled: true,
        enabled_for_me: true,
    };
}

/** @type {FakeServer} */
let server;
beforeEach(() => {
    sessionStorage.clear();
    server = new FakeServer();
    server.mcpServers = [mcpServer(1, "time", 1), mcpServer(2, "files", 13)];
});

async function mountChat(props = {}) {
    getFixture().style.height = "600px";
    await mountWithCleanup(AiChat, { props });
    await settle();
}

async function type(text) {
    await click(".o_ai_chat_input");
    await edit(text);
    await settle();
}

test("a server without tools costs nothing, and says whether they wait for review", async () => {
    server.mcpServers = [
        { ...mcpServer(1, "crm", 0), token_estimate: 0, review_count: 2 },
        { ...mcpServer(2, "empty", 0), token_estimate: 0 },
    ];
    await mountChat();
    await click(".o_ai_chat_scope");
    await settle();
    expect(".o_ai_chat_server[data-server='crm'] small").toHaveText("Its tools wait for review.");
    expect(".o_ai_chat_server[data-server='empty'] small").toHaveText("No tools");
});

test("a line tells what a new chat may use, and what is switched off there stays off", async () => {
    server.cloudServices = [SHOP];
    await mountChat({ newChat: { cloud_service_id: 5 } });
    expect(".o_ai_chat_scope .text-truncate").toHaveText("Ada · Shop · 2 servers · 14 tools");
    expect(server.requestsTo("mcp-config").at(-1).line).toBe(
        "GET /api/ai/assistants/1/mcp-config?cloud_service_id=5"
    );
    await click(".o_ai_chat_scope");
    await settle();
    expect(".o_ai_chat_scope").toHaveAttribute("aria-expanded", "true");
    await click(".o_ai_chat_server[data-server=files] input");
    await settle();
    expect(".o_ai_chat_scope .text-truncate").toHaveText("Ada · Shop · 1 server · 1 tool");
    expect(server.requestsTo("POST")).toHaveLength(0);
    await press("Escape");
    await animationFrame();
    expect(".o_ai_chat_servers_panel").toHaveCount(0);

    await type("Hi");
    await press("Enter");
    await settle();
    expect(server.requestsTo("POST")[0].body).toEqual({
        assistant_id: 1,
        cloud_service_id: 5,
        enabled_servers: ["time"],
    });
});

test("the Escape that closes the servers or the list of chats closes nothing around them", async () => {
    const hear = (ev) => expect.step(ev.defaultPrevented);
    window.addEventListener("keydown", hear); // before the chat does, as the backend's panel
    after(() => window.removeEventListener("keydown", hear));
    getFixture().style.width = "400px";
    await mountChat();
    for (const opener of [".o_ai_chat_scope", ".o_ai_chat_menu_toggle"]) {
        await click(opener);
        await settle();
        expect(opener).toHaveAttribute("aria-expanded", "true");
        await press("Escape");
        await animationFrame();
        expect(opener).toHaveAttribute("aria-expanded", "false");
        expect.verifySteps([true]);
    }
    await press("Escape");
    expect.verifySteps([false]);
});

test("with Shift it leads to the input from there, too", async () => {
    getFixture().style.width = "400px";
    await mountChat();
    for (const opener of [".o_ai_chat_scope", ".o_ai_chat_menu_toggle"]) {
        await click(opener);
        await settle();
        await press(["shift", "Escape"]);
        await settle();
        expect(opener).toHaveAttribute("aria-expanded", "false");
        expect(".o_ai_chat_input").toBeFocused();
    }
});

test("it follows the switches of a conversation", async () => {
    const conversation = server.conversation();
    await mountChat({ conversationId: conversation.id });
    expect(".o_ai_chat_scope .text-truncate").toHaveText("Ada · 2 servers · 14 tools");
    await click(".o_ai_chat_scope");
    await settle();
    for (const name of ["time", "files"]) {
        await click(`.o_ai_chat_server[data-server=${name}] input`);
        await settle();
    }
    expect(server.requestsTo("PATCH").map(({ body }) => body)).toEqual(
        Array(2).fill({ active: false, conversation_id: conversation.id })
    );
    expect(".o_ai_chat_scope .text-truncate").toHaveText("Ada · no MCP servers");
});

test("a server that does not work says why, and is not counted", async () => {
    const state_message = "It does not answer.";
    Object.assign(server.mcpServers[0], { state: "error", state_message });
    await mountChat({ conversationId: server.conversation().id });
    expect(".o_ai_chat_scope .text-truncate").toHaveText("Ada · 1 of 2 servers working · 13 tools");
    await click(".o_ai_chat_scope");
    await settle();
    expect(".o_ai_chat_server_reason").toHaveText("It does not answer.");
    expect(".o_ai_chat_server[data-server=files] .o_ai_chat_server_reason").toHaveCount(0);
});

test("a server's tools are listed when its line is opened, also while it is off", async () => {
    server.mcpServers[1].enabled = false;
    server.mcpServers[1].token_estimate = 1522;
    await mountChat({ conversationId: server.conversation().id });
    await click(".o_ai_chat_scope");
    await settle();
    const files = ".o_ai_chat_server[data-server=files]";
    expect(`${files} summary`).toHaveText("13 tools, about 1,522 tokens per request");
    await click(`${files} summary`);
    await settle();
    expect(`${files} dt`).toHaveText("get");
    expect(`${files} dd`).toHaveText("Gets it.");
    expect(server.requestsTo("command").map(({ body }) => body)).toEqual([
        { command: "/mcp tools", server_ids: [2] },
    ]);
});

test("a switch counts in all conversations of the person, too", async () => {
    const conversation = server.conversation();
    await mountChat({ conversationId: conversation.id });
    await click(".o_ai_chat_scope");
    await settle();
    const button = ".o_ai_chat_server[data-server=files] .o_ai_chat_for_me";
    expect(button).toHaveText("Turn off in all my conversations");
    await click(button);
    await settle();
    expect(server.requestsTo("PATCH").at(-1).body).toEqual({
        active: false,
        conversation_id: conversation.id,
        for_me: true,
    });
    expect(button).toHaveText("Turn on in all my conversations");
    expect(".o_ai_chat_scope .text-truncate").toHaveText("Ada · 1 server · 1 tool");
});

test("a new chat begins with what is left on in general", async () => {
    await mountChat();
    await click(".o_ai_chat_scope");
    await settle();
    await click(".o_ai_chat_server[data-server=files] .o_ai_chat_for_me");
    await settle();
    expect(server.requestsTo("PATCH").at(-1).body).toEqual({ active: false, for_me: true });
    expect(".o_ai_chat_scope .text-truncate").toHaveText("Ada · 1 server · 1 tool");
    await press("Escape");
    await type("Hi");
    await press("Enter");
    await settle();
    expect(server.requestsTo("POST")[0].body).toEqual({ assistant_id: 1 });
});

test("while MCP is switched off the line says so", async () => {
    Object.assign(server, { mcpServers: [], mcpNotice: "MCP is off." });
    await mountChat();
    expect(".o_ai_chat_scope .text-truncate").toHaveText("Ada · MCP is switched off");
    await click(".o_ai_chat_scope");
    await settle();
    expect(".o_ai_chat_notice").toHaveText("MCP is off.");
});

test("it says whom one talks to when the servers cannot be asked", async () => {
    const conversation = server.conversation();
    server.interrupt("mcp-config", new TypeError("Failed to fetch"));
    await mountChat({ conversationId: conversation.id });
    expect(".o_ai_chat_scope .text-truncate").toHaveText("Ada");
});

test("prompts of the servers are offered before there is a conversation", async () => {
    server.prompts = [
        { server: { id: 1, name: "time" }, name: "greet", title: "Greeting", arguments: [] },
    ];
    await mountChat();
    await type("/time");
    expect(queryAllTexts(".o_ai_chat_commands strong")).toEqual(["/time:greet"]);
    expect(server.requestsTo("/prompts").map(({ line }) => line)).toEqual([
        "GET /api/ai/assistants/1/prompts",
    ]);
    await type("/mcp");
    await press("Enter");
    await settle();
    expect(queryAllTexts(".o_ai_chat_command dt")).toEqual(["time", "files"]);
    expect(server.requestsTo("POST").map(({ line }) => line)).toEqual([
        "POST /api/ai/assistants/1/command",
    ]);
});

test("what was switched off stays off when the servers cannot be asked again", async () => {
    await mountChat();
    await click(".o_ai_chat_scope");
    await settle();
    await click("[data-server=files] [role=switch]");
    await settle();
    server.interrupt("mcp-config", new TypeError("Failed to fetch"));
    setVisibility("visible");
    await settle();
    await type("Hi");
    await press("Enter");
    await settle();
    const [made] = server.requestsTo("POST /api/ai/conversations");
    expect(made.body.enabled_servers).toEqual(["time"]);
});
