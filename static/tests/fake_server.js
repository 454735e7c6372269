import { expect } from "@odoo/hoot";
import { patchWithCleanup } from "@web/../tests/web_test_helpers";
import { browser } from "@web/core/browser/browser";
import { transport } from "@woow_paas_platform/core/upload";
import { bodyOf, FakeRequest } from "./fake_request";
import { misfitOfAnswer, misfitOfRequest } from "./api_check";
import { FakeConversations } from "./fake_conversations";
import { json, refusal } from "./fake_responses";

/** The API over `FakeConversations`. It refuses what the table of schemas refuses, and its own answers fit that table. */
export class FakeServer extends FakeConversations {
    constructor({ assistants = [{ id: 1, name: "Ada", description: "", tools: 3 }] } = {}) {
        super();
        this.assistants = assistants;
        this.canCreate = false;
        this.cloudServices = [];
        /** Assistants of a cloud service's own, by its id. */
        this.serviceAssistants = {};
        this.requests = [];
        this.preferences = {
            show_tool_calls: true,
            notify: true,
            remembers: false,
            digest: false,
            language: "en_US",
            languages: [],
        };
        /** Whether a search cannot look through all in time. */
        this.isSlowToSearch = false;
        /** What the servers have to read, and what completes their templates. */
        this.resources = { resources: [], templates: [], problems: [] };
        this.completions = [];
        /** As `mcp-config` lists them; each conversation has the same. */
        this.mcpServers = [];
        this.mcpNotice = "";
        this.recordModels = [];
        /** What is read of a file, by its name: {mimetype, pages, pages_read}. */
        this.documents = {};
        this.prompts = [];
        /** Prompts that people keep, and workspaces for which the person writes some. */
        this.savedPrompts = [];
        this.workspaces = [];
        /** Odoo records that the assistants may read: {model, id, name, label, image}. */
        this.records = [];
        /** Answers that come before the regular one: {match, answer}. */
        this.interrupts = [];
        // not `mockFetch`, which belongs to the mock server of the models
        const answer = (url, init) => this.answer(new URL(url, "http://odoo.test"), init);
        patchWithCleanup(transport, {
            newRequest: () => new FakeRequest((...request) => this.answer(...request)),
        });
        patchWithCleanup(browser, {
            fetch(url, init) {
                return String(url).startsWith("/api/") ? answer(url, init) : super.fetch(url, init);
            },
        });
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
        const body = bodyOf(init.body);
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

    assistantsToRetry() {
        return this.assistants.map(({ id, name }) => ({ id, name, image_url: null }));
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
        if (kind === "attachments") {
            return method === "POST" ? this.keep(body) : new Response(null, { status: 204 });
        }
        if (url.pathname.endsWith("/mcp-config")) {
            return this.mcpConfig();
        }
        if (url.pathname.endsWith("/toggle")) {
            return this.toggle(url.pathname, body);
        }
        if (action === "command") {
            const rows =
                body.command === "/mcp tools"
                    ? this.toolsOf(body.server_ids)
                    : this.mcpServers.map(({ name }) => ({ name, about: "Connected" }));
            return json({ title: body.command, rows });
        }
        if (action === "prompts") {
            return json({ prompts: this.prompts, problems: [] });
        }
        if (action === "resources" && method === "GET") {
            return json(this.resources);
        }
        if (action === "default-prompts") {
            return json({ prompts: [] });
        }
        if (action === "records") {
            const words = url.searchParams.get("q").toLowerCase();
            const fits = ({ name }) => name.toLowerCase().includes(words);
            return json({ records: this.records.filter(fits).slice(0, 8) });
        }
        if (kind === "assistants") {
            const bare = { image_url: null, greeting: "", starters: [], records: [] };
            const own = this.serviceAssistants[url.searchParams.get("cloud_service_id")] || [];
            return json({
                assistants: [...own, ...this.assistants].map((one) => ({ ...bare, ...one })),
                can_create: this.canCreate,
            });
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
        if (url.pathname === "/api/ai/conversations/batch") {
            return this.actOn(body);
        }
        if (kind === "saved-prompts") {
            return this.answerPrompts(method, Number(id), action, body);
        }
        if (kind === "folders") {
            return this.answerFolders(method, Number(id), body);
        }
        return this.answerConversations(method, Number(id), action, body, url.searchParams);
    }

    answerPrompts(method, id, action, body) {
        const found = this.savedPrompts.find((prompt) => prompt.id === id);
        if (action === "fill") {
            const fill = (text, [name, words]) => text.replaceAll(`{${name}}`, words);
            return json({ content: Object.entries(body.fields).reduce(fill, found.content) });
        }
        if (method === "POST") {
            const prompt = { id: this.nextId++, fields: [], workspace: null, can_edit: true };
            const { name, content } = body;
            this.savedPrompts.push({ ...prompt, name, content });
            return json(this.savedPrompts.at(-1), 201);
        }
        if (method === "PATCH") {
            return json(Object.assign(found, body));
        }
        if (method === "DELETE") {
            this.savedPrompts = this.savedPrompts.filter((prompt) => prompt !== found);
            return new Response(null, { status: 204 });
        }
        return json({ prompts: this.savedPrompts, workspaces: this.workspaces });
    }

    answerConversations(method, id, action, body, query) {
        const found = this.conversations.find((conversation) => conversation.id === id);
        if (!id && method === "POST") {
            const assistant = this.assistants.find((one) => one.id === body.assistant_id);
            const made = this.conversation({
                name: "",
                assistant: { id: assistant.id, name: assistant.name, image_url: null },
                folder_id: body.folder_id ?? null,
                temporary: body.temporary ?? false,
            });
            return json({ ...this.listed(made), assistants: this.assistantsToRetry() }, 201);
        }
        if (!id) {
            const isArchived = query.has("archived");
            const folderId = query.get("folder_id");
            const assistantId = Number(query.get("assistant_id"));
            const recordId = Number(query.get("res_id"));
            const listed = this.conversations.filter(
                ({ archived, assistant, folder_id: id, record, temporary }) =>
                    !temporary &&
                    archived === isArchived &&
                    (!recordId || record?.id === recordId) &&
                    (!assistantId || assistant.id === assistantId) &&
                    (folderId === null || (id || 0) === Number(folderId))
            );
            listed.sort((a, b) => b.pinned - a.pinned);
            return json({
                conversations: listed.map((one) => this.listed(one)),
                has_more: false,
                incomplete: this.isSlowToSearch && query.has("q"),
            });
        }
        if (!found) {
            return refusal(404, "not_found", "It is gone.");
        }
        if (action === "messages") {
            return this.accept(found, body);
        }
        if (action === "seen") {
            found.unseen = false;
            return new Response(null, { status: 204 });
        }
        if (action === "resources") {
            return json(this.attached(body));
        }
        if (action === "complete") {
            return json({ values: this.completions, has_more: false });
        }
        if (method === "PATCH") {
            found.name = body.name.replaceAll("\u200b", "").slice(0, 120);
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

    /** One of each server. */
    toolsOf(ids) {
        return this.mcpServers
            .filter(({ id, enabled }) => ids?.includes(id) ?? enabled)
            .map(({ name }) => ({ name: `${name}.get`, about: "Gets it." }));
    }

    mcpServer(id) {
        const { enabled, tool_count, ...server } = this.mcpServers.find((one) => one.id === id);
        const counts = { tool_count, active_tool_count: tool_count };
        return json({
            ...server,
            ...counts,
            display_name: server.title,
            active: enabled,
            enabled,
            can_edit: false,
            my_policy: "default",
        });
    }

    mcpConfig() {
        const enabled = this.mcpServers.filter((server) => server.enabled);
        return json({
            enabled_servers: enabled.map(({ name }) => name),
            servers: this.mcpServers.map((one) => ({ state_message: "", review_count: 0, ...one })),
            notice: this.mcpNotice,
            can_reload: true,
            records: this.recordModels,
        });
    }

    /** Of a file that was chosen; `documents` says what is read of which. */
    keep({ file: name }) {
        const id = this.nextId++;
        const read = { mimetype: "text/plain", pages: 0, pages_read: 0, ...this.documents[name] };
        const counted = { size: 2048, characters: 9, token_estimate: 3 };
        const file = { id, name, url: `/api/ai/attachments/${id}`, ...counted, ...read };
        this.unsent.push(file);
        return json(file, 201);
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
}
