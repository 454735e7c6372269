import { describe, expect, mockFetch, test } from "@odoo/hoot";
import { AiApi } from "@woow_paas_platform/core/ai_api";
import { transport } from "@woow_paas_platform/core/upload";
import { McpApi } from "@woow_paas_platform/core/mcp_api";
import { patchWithCleanup } from "@web/../tests/web_test_helpers";
import { bodyOf, FakeRequest } from "../fake_request";
import { json } from "../fake_responses";
import { FakeServer } from "../fake_server";
import { misfit, misfitOfAnswer, misfitOfRequest } from "../api_check";

describe.current.tags("headless");

const failureOf = (promise) =>
    promise.then(
        () => null,
        (error) => error
    );

test("the fake server refuses what the API refuses", async () => {
    const server = new FakeServer();
    const { id } = server.conversation();
    for (const name of [7, null, undefined]) {
        const { status, code } = await failureOf(new AiApi().renameConversation(id, name));
        expect([status, code]).toEqual([400, "invalid_field"]);
    }
    expect((await failureOf(new AiApi().setPreferences({ nonsense: true }))).status).toBe(400);
    expect("nonsense" in server.preferences).toBe(false);
    expect((await new AiApi().renameConversation(id, "Weather")).name).toBe("Weather");
});

test("the table is read as the API reads it", () => {
    const rename = "PATCH /api/ai/conversations/5";
    const complete = { server_id: 1, argument: "city", value: "Ta" };
    expect(misfitOfRequest(rename, { name: "x" })).toBe("");
    expect(misfitOfRequest(rename)).toBe("the request.name is not of the type string");
    expect(misfitOfRequest(rename, { name: "x", id: 1 })).toBe("the request has “id”");
    expect(misfitOfRequest("GET /api/ai/nowhere")).toBe("there is no GET /api/ai/nowhere");
    expect(misfitOfRequest("POST /api/ai/turns/7/stop", { any: "thing" })).toBe("");
    expect(misfitOfRequest("POST /api/ai/assistants/1/complete", { ...complete, uri: null })).toBe(
        ""
    );
    expect(
        misfitOfRequest("POST /api/ai/assistants/1/complete", {
            ...complete,
            arguments: { city: 1 },
        })
    ).toBe("the request.arguments.city is not of the type string");
    expect(misfitOfAnswer(rename, 204, null)).toBe(`${rename} does not answer 204`);
    expect(misfit([1, 2.5], { type: "array", items: { type: "integer" } })).toBe(
        "it[1] is not of the type integer"
    );
    expect(misfit("x".repeat(201), { type: "string", maxLength: 200 })).toBe(
        "it is longer than 200"
    );
});

test("each request of the client is one that the API takes", async () => {
    const answer = (url, { method, body }) => {
        const line = `${method} ${new URL(url, "http://odoo.test").pathname}`;
        expect(misfitOfRequest(line, bodyOf(body))).toBe("");
        return json({});
    };
    mockFetch(answer);
    patchWithCleanup(transport, { newRequest: () => new FakeRequest(answer) });
    const chat = { conversationId: 5 };
    const newChat = { assistantId: 1, cloudServiceId: 2 };
    const server = { id: 3, name: "wiki" };
    const record = { model: "res.partner", id: 4 };
    const args = { page: "home" };
    const content = "Hi";
    const requests = {
        assistants: [[], [2]],
        serviceAssistants: [[2]],
        addServiceAssistant: [[2, { name: "x", starters: ["y"], provider_id: 1, server_ids: [3] }]],
        changeServiceAssistant: [[1, { active: false, note: "x" }]],
        deleteServiceAssistant: [[1]],
        assistantVersions: [[1], [1, 4]],
        restoreAssistantVersion: [[1, 4]],
        assistantRatings: [[1]],
        records: [[1, "azure"]],
        defaultPrompts: [[1, "res.partner"]],
        fillDefaultPrompt: [[3, record]],
        savedPrompts: [[]],
        addPrompt: [[{ name: "x", content: "y" }], [{ name: "x", content: "y", workspaceId: 4 }]],
        changePrompt: [[3, { name: "x", content: "y" }]],
        deletePrompt: [[3]],
        fillPrompt: [[3, { sea: "Baltic" }]],
        cloudServices: [[]],
        conversations: [
            [{ limit: 5, before: 7, words: "a", cloudServiceId: 2 }],
            [{ isArchived: true, folderId: 0 }],
            [{ assistantId: 1, since: "2026-01-02", hasFiles: true }],
            [{ record }],
        ],
        conversation: [[5, { limit: 5 }]],
        createConversation: [
            [{ assistantId: 1 }],
            [{ ...newChat, record, name: "x", enabledServers: ["wiki"], folderId: 7 }],
            [{ ...newChat, isTemporary: true }],
        ],
        exportConversation: [[5, "markdown"]],
        folders: [[]],
        addFolder: [["x"], ["x", { record }]],
        changeFolder: [
            [7, { name: "x" }],
            [7, { instructions: "", files: [1], record: null }],
            [7, { record }],
        ],
        deleteFolder: [[7]],
        renameConversation: [[5, "x"]],
        actOnConversations: [
            ["pin", [5]],
            ["delete", [5, 6]],
            ["move", [5], 7],
            ["move", [5], null],
        ],
        see: [[5]],
        sendMessage: [
            [5, { content, clientToken: "t" }],
            [5, { content, clientToken: "t", when: "queue" }],
            [5, { content, clientToken: "t", when: "steer" }],
            [5, { content, clientToken: "t", editOf: 6, attachmentIds: [8] }],
            [5, { content, clientToken: "t", records: [record] }],
        ],
        upload: [[new File(["a"], "a.txt")]],
        discard: [[8]],
        turn: [[9]],
        showVersion: [[9]],
        retryTurn: [[9], [9, 2]],
        continueFrom: [[9]],
        rate: [
            [9, { value: "good" }],
            [9, { value: "bad", reason: "slow", text: "x", share: true }],
            [9, null],
        ],
        mcpConfig: [[chat], [newChat]],
        switchServer: [
            [5, 3, false],
            [5, 3, true, true],
        ],
        switchServerForMe: [[3, false]],
        command: [
            [chat, "/mcp"],
            [newChat, "/mcp tools", [3]],
        ],
        prompts: [[chat], [newChat]],
        getPrompt: [[chat, { server, name: "greet" }, args]],
        resources: [[chat], [newChat]],
        attachResource: [
            [5, { server, uri: "wiki://a", name: "a" }],
            [5, { server, uri: "wiki://{page}", name: "a" }, args],
        ],
        complete: [
            [chat, { server, prompt: "greet" }, { argument: "page", value: "h", args }],
            [chat, { server, uri: "wiki://{page}" }, { argument: "page", value: "h", args }],
        ],
        preferences: [[]],
        setPreferences: [[{ show_tool_calls: false }]],
        stopTurn: [[9]],
        rehearsal: [[9, "c1", 0]],
        explanation: [["c1"]],
        decisions: [[], [{ limit: 0 }]],
        decision: [["c1"], ["turn-9"]],
        decide: [
            [9, { id: "c1", decision: "approve_once", shown: { c1: "ab12" } }],
            [9, { id: "c1", decision: "accept", args, content: args, reason: "so" }],
        ],
        openStream: [["/api/ai/turns/9/stream", { after: 3 }]],
        servers: [[], [2]],
        server: [[3]],
        templates: [["user"]],
        create: [[{ url: "https://a.example.com", cloud_service_id: 2 }]],
        update: [[3, { description: "x" }]],
        remove: [[3]],
        test: [[3]],
        sync: [[3]],
        toggle: [[3, { active: true }]],
        restrict: [[3, "never"]],
        changeTool: [[4, { active: false }]],
        tryTool: [[4, args]],
        importServers: [[{ mcpServers: {}, scope: "system" }]],
        exportServers: [[2]],
        connections: [[]],
        connect: [[3, "sk"]],
        disconnect: [[3]],
        clientKeys: [[]],
        makeClientKey: [[{ name: "Laptop", days: 90, password: "p" }]],
        revokeClientKey: [[6]],
        disconnectClient: [[6]],
        decideCall: [["direct_6", { decision: "deny" }]],
        signOut: [[6]],
        grants: [[]],
        revokeGrant: [[6]],
    };
    const apis = [AiApi, McpApi];
    const methodsOf = ({ prototype }) => Object.getOwnPropertyNames(prototype).slice(1);
    expect(Object.keys(requests).sort()).toEqual(apis.flatMap(methodsOf).sort());
    for (const Api of apis) {
        const api = new Api();
        for (const method of methodsOf(Api)) {
            for (const given of requests[method]) {
                await api[method](...given);
            }
        }
    }
});
