import { after, animationFrame, click, edit, expect, getFixture, press, tick } from "@odoo/hoot";
import { mountWithCleanup, patchWithCleanup } from "@web/../tests/web_test_helpers";
import { browser } from "@web/core/browser/browser";
import { AiChat } from "@woow_paas_platform/ai_chat/ai_chat";
import { misfitOfAnswer, misfitOfRequest } from "./api_check";

const encoder = new TextEncoder();
const OBSERVED = { attributes: true, characterData: true, childList: true, subtree: true };
const MOST_FRAMES = 10; // something may always be moving

/** Lets streams, promises and renderings come to rest: until a frame has changed nothing any more. */
export async function settle() {
    let changed;
    const observer = new MutationObserver(() => (changed = true));
    observer.observe(document.body, OBSERVED);
    for (let frame = 0; frame < MOST_FRAMES; frame++) {
        changed = false;
        for (let turn = 0; turn < 5; turn++) {
            await tick();
        }
        await animationFrame();
        if (!changed) {
            break;
        }
    }
    observer.disconnect();
}

/** An event stream in the test's hands; may be opened before or after events are written. */
export class FakeStream {
    constructor() {
        this.isAborted = false;
        this.body = new ReadableStream({
            start: (controller) => {
                this.controller = controller;
            },
            cancel: () => {
                this.isAborted = true;
            },
        });
    }

    open(signal) {
        signal?.addEventListener("abort", () => {
            this.isAborted = true;
            this.fail();
        });
        return new Response(this.body, { headers: { "Content-Type": "text/event-stream" } });
    }

    write(text) {
        this.controller.enqueue(encoder.encode(text));
    }

    event(seq, data) {
        this.write(`id: ${seq}\ndata: ${JSON.stringify(data)}\n\n`);
    }

    close() {
        this.controller.close();
    }

    fail() {
        try {
            this.controller.error(new TypeError("network error"));
        } catch {
            // ended already
        }
    }
}

export function setVisibility(state) {
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
    after(() => delete document.visibilityState);
    document.dispatchEvent(new Event("visibilitychange"));
}

export function json(data, status = 200) {
    return new Response(JSON.stringify(data), {
        status,
        headers: { "Content-Type": "application/json" },
    });
}

export function refusal(status, code, message) {
    return json({ error: { code, message, details: {} } }, status);
}

/**
 * The server's side of the contract: one turn at a time, its stream in the test's hands. It refuses what the API's
 * table of schemas refuses, and its own answers fit that table.
 */
export class FakeServer {
    constructor({ assistants = [{ id: 1, name: "Ada", description: "", tools: 3 }] } = {}) {
        this.assistants = assistants;
        this.cloudServices = [];
        this.conversations = [];
        this.requests = [];
        this.tokens = new Map();
        this.turnOwners = new Map();
        this.preferences = {
            show_tool_calls: true,
            notify: true,
            language: "en_US",
            languages: [],
        };
        /** What the servers have to read, and what completes their templates. */
        this.resources = { resources: [], templates: [], problems: [] };
        this.completions = [];
        /** As `mcp-config` lists them; each conversation has the same. */
        this.mcpServers = [];
        this.mcpNotice = "";
        this.prompts = [];
        this.nextId = 10;
        /** Answers that come before the regular one: {match, answer}. */
        this.interrupts = [];
        // not `mockFetch`, which belongs to the mock server of the models
        const answer = (url, init) => this.answer(new URL(url, "http://odoo.test"), init);
        patchWithCleanup(browser, {
            fetch(url, init) {
                return String(url).startsWith("/api/") ? answer(url, init) : super.fetch(url, init);
            },
        });
    }

    conversation(values = {}) {
        const conversation = {
            id: this.nextId++,
            name: "A talk",
            assistant: { id: 1, name: "Ada", image_url: null },
            cloud_service: null,
            record: null,
            last_message_at: "2026-01-02T03:04:05Z",
            messages: [],
            turn: null,
            queued: [],
            ...values,
        };
        this.conversations.unshift(conversation);
        return conversation;
    }

    message(conversation, role, text, turn = null) {
        const author = role === "user" ? { id: 2, name: "Joel" } : { id: 3, name: "Ada" };
        const message = {
            id: this.nextId++,
            role,
            text,
            html: text ? `<p>${text}</p>` : "",
            author,
            date: "2026-01-02T03:04:05Z",
            attachments: [],
            turn,
            turn_id: null,
            versions: [],
        };
        conversation.messages.push(message);
        return message;
    }

    newTurn(conversation) {
        const turn = { id: this.nextId++, state: "running", stream: new FakeStream() };
        this.turnOwners.set(turn.id, conversation);
        return turn;
    }

    startTurn(conversation) {
        conversation.turn = this.newTurn(conversation);
        return conversation.turn;
    }

    /** The turn that runs has ended; what was queued first runs now. */
    endTurn(conversation) {
        conversation.turn = conversation.queued.shift() || null;
    }

    /** The stream of the turn that runs, for the test to write to. */
    get stream() {
        return this.conversations.find(({ turn }) => turn).turn.stream;
    }

    /** The next request that matches gets `answer` instead: a Response, or an Error to throw. */
    interrupt(match, answer) {
        this.interrupts.push({ match, answer });
    }

    requestsTo(match) {
        return this.requests.filter(({ line }) => line.includes(match));
    }

    async answer(url, init) {
        const route = `${init.method} ${url.pathname}`;
        const line = route + url.search;
        const body = init.body && JSON.parse(init.body);
        this.requests.push({ line, body });
        const misfit = misfitOfRequest(route, body);
        if (misfit) {
            return refusal(400, "invalid_field", misfit);
        }
        const response = await this.respond(init.method, url, line, body);
        if (response.headers.get("Content-Type") === "application/json") {
            const data = await response.clone().json();
            expect(misfitOfAnswer(route, response.status, data)).toBe("");
        }
        return response;
    }

    respond(method, url, line, body) {
        const index = this.interrupts.findIndex(({ match }) => line.includes(match));
        if (index !== -1) {
            const [{ answer }] = this.interrupts.splice(index, 1);
            if (answer instanceof Error) {
                throw answer;
            }
            return answer;
        }
        const [, , , kind, id, action] = url.pathname.split("/");
        if (url.pathname.endsWith("/mcp-config")) {
            return this.mcpConfig();
        }
        if (url.pathname.endsWith("/toggle")) {
            return this.toggle(url.pathname, body);
        }
        if (action === "command") {
            const rows = this.mcpServers.map(({ name }) => ({ name, about: "Connected" }));
            return json({ title: body.command, rows });
        }
        if (action === "prompts") {
            return json({ prompts: this.prompts, problems: [] });
        }
        if (kind === "assistants") {
            const bare = { image_url: null, greeting: "", starters: [] };
            return json({ assistants: this.assistants.map((one) => ({ ...bare, ...one })) });
        }
        if (kind === "cloud-services") {
            const bare = { starters: [] };
            return json({
                cloud_services: this.cloudServices.map((one) => ({ ...bare, ...one })),
            });
        }
        if (kind === "preferences") {
            Object.assign(this.preferences, body);
            return json(this.preferences);
        }
        if (kind === "turns") {
            const owner = this.turnOwners.get(Number(id));
            const open = [owner?.turn, ...(owner?.queued || [])];
            const turn = open.find((one) => one?.id === Number(id));
            if (action === "retry") {
                return this.retry(owner);
            }
            if (action === "stop") {
                owner.queued = owner.queued.filter((one) => one !== turn);
                return json({ state: "stopped" });
            }
            return turn ? turn.stream.open() : new Response(null, { status: 204 });
        }
        return this.answerConversations(method, Number(id), action, body, url.searchParams);
    }

    answerConversations(method, id, action, body, query) {
        const found = this.conversations.find((conversation) => conversation.id === id);
        if (!id && method === "POST") {
            const assistant = this.assistants.find((one) => one.id === body.assistant_id);
            return json(
                this.listed(
                    this.conversation({
                        name: "",
                        assistant: { id: assistant.id, name: assistant.name, image_url: null },
                    })
                ),
                201
            );
        }
        if (!id) {
            return json({
                conversations: this.conversations.map((one) => this.listed(one)),
                has_more: false,
            });
        }
        if (!found) {
            return refusal(404, "not_found", "It is gone.");
        }
        if (action === "messages") {
            return this.accept(found, body);
        }
        if (action === "resources") {
            return json(method === "GET" ? this.resources : this.attached(body));
        }
        if (action === "complete") {
            return json({ values: this.completions, has_more: false });
        }
        if (method === "PATCH") {
            found.name = body.name;
            return json(this.listed(found));
        }
        if (method === "DELETE") {
            this.conversations = this.conversations.filter((one) => one !== found);
            return new Response(null, { status: 204 });
        }
        return json(this.detailed(found, query));
    }

    toggle(path, { active, conversation_id: conversationId, for_me: forMe }) {
        const id = Number(path.split("/").at(-2));
        const switched = { enabled: active, ...(forMe && { enabled_for_me: active }) };
        this.mcpServers = this.mcpServers.map((server) =>
            server.id === id ? { ...server, ...switched } : server
        );
        return conversationId ? this.mcpConfig() : this.mcpServer(id);
    }

    mcpServer(id) {
        const { enabled, tool_count, ...server } = this.mcpServers.find((one) => one.id === id);
        const counts = { tool_count, active_tool_count: tool_count };
        return json({
            ...server,
            ...counts,
            active: enabled,
            can_edit: false,
            my_policy: "default",
        });
    }

    mcpConfig() {
        const enabled = this.mcpServers.filter((server) => server.enabled);
        return json({
            enabled_servers: enabled.map(({ name }) => name),
            servers: this.mcpServers.map((one) => ({ state_message: "", ...one })),
            notice: this.mcpNotice,
            can_reload: true,
        });
    }

    accept(conversation, { content, client_token: token, when }) {
        if (!this.tokens.has(token)) {
            if (conversation.turn && !when) {
                return refusal(409, "turn_running", "Still busy.");
            }
            const message = this.message(conversation, "user", content);
            const isQueued = Boolean(conversation.turn);
            const turn = isQueued ? this.newTurn(conversation) : this.startTurn(conversation);
            if (isQueued) {
                const steers = when === "steer";
                conversation.queued.push(Object.assign(turn, { messageId: message.id, steers }));
            }
            this.tokens.set(token, {
                turn_id: turn.id,
                stream_url: `/api/ai/turns/${turn.id}/stream`,
                message_id: message.id,
            });
        }
        return json(this.tokens.get(token), 202);
    }

    attached({ name, uri }) {
        const id = this.nextId++;
        const source = { server: "wiki", uri };
        const file = {
            id,
            name,
            mimetype: "text/plain",
            url: `/api/ai/attachments/${id}`,
            source,
        };
        return { attachments: [file], left_out: 0 };
    }

    retry(conversation) {
        const turn = this.startTurn(conversation);
        return json(
            {
                turn_id: turn.id,
                stream_url: `/api/ai/turns/${turn.id}/stream`,
                message_id: conversation.messages.findLast(({ role }) => role === "user").id,
            },
            202
        );
    }

    listed({ id, name, assistant, cloud_service, record, last_message_at, turn }) {
        const running = turn && { id: turn.id, state: turn.state };
        return { id, name, assistant, cloud_service, record, last_message_at, turn: running };
    }

    detailed(conversation, query) {
        const limit = Number(query.get("limit") || 30);
        const before = Number(query.get("before") || Infinity);
        const visible = conversation.messages.filter(({ id }) => id < before);
        const { turn } = conversation;
        return {
            ...this.listed(conversation),
            messages: visible.slice(-limit),
            has_more: visible.length > limit,
            turn: turn && {
                id: turn.id,
                state: turn.state,
                stream_url: `/api/ai/turns/${turn.id}/stream`,
                last_seq: 0,
            },
            queued: conversation.queued.map(({ id, messageId, steers }) => ({
                id,
                steers,
                message_id: messageId,
                stream_url: `/api/ai/turns/${id}/stream`,
            })),
        };
    }
}

/** The whole chat, as the portal page mounts it. */
export async function mountChat(props = {}) {
    getFixture().style.height = "600px";
    await mountWithCleanup(AiChat, { props });
    await settle();
}

export async function ask(text) {
    await click(".o_ai_chat_input");
    await edit(text);
    await press("Enter");
    await settle();
}

/** Events of the turn that runs, as [seq, data]. */
export async function say(server, ...events) {
    for (const [seq, data] of events) {
        server.stream.event(seq, data);
    }
    await settle();
}

export const CALL = {
    type: "tool_call",
    id: "c1",
    tool: "get_time",
    title: "Get Time",
    server: "time",
    args: {},
    round: 1,
    max_rounds: 5,
};
