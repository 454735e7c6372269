import { browser } from "@web/core/browser/browser";
import { localization } from "@web/core/l10n/localization";
import { _t } from "@web/core/l10n/translation";
import { chatUrl } from "./chat_ref";

/** Milliseconds that a JSON request may take before it counts as a network failure. */
export const REQUEST_TIMEOUT = 30000;
/** Milliseconds that a request may take which waits for an MCP server; its own limits are shorter. */
export const SERVER_TIMEOUT = 60000;
/** Codes of what no person does, but a program or a page of another version: their sentences are for programmers. */
const FOR_PROGRAMS = [
    "unauthenticated",
    "unknown_field",
    "bad_json",
    "not_json",
    "not_form",
    "invalid_parameter",
    "invalid_header",
    "invalid_last_event_id",
    "http_error",
];
/** Milliseconds that a file may take on its way. */
export const UPLOAD_TIMEOUT = 180000;

/**
 * What every failed request becomes. `message` is a sentence that can be shown to the person.
 *
 * `code` is the server's own error code, or one of ours: `network` (no answer), `aborted` (the
 * caller gave up), `bad_response` (an answer that is not of this API).
 */
export class AiApiError extends Error {
    constructor({ code, message, status = 0, details = {}, retryAfter = null }) {
        super(String(message));
        this.name = "AiApiError";
        this.code = code;
        this.status = status;
        this.details = details;
        /** Milliseconds that the server asked to wait, or null. */
        this.retryAfter = retryAfter;
    }

    get isAborted() {
        return this.code === "aborted";
    }

    /**
     * The same request may succeed later: no answer, too many requests, a server in trouble.
     * A 404 that is not of this API is Odoo's while it has no database.
     */
    get isTemporary() {
        return (
            [0, 408, 425, 429].includes(this.status) ||
            this.status >= 500 ||
            this.code === "http_404"
        );
    }

    get isSignedOut() {
        return this.status === 401;
    }
}

function statusSentence(status) {
    if (status === 401) {
        return _t("Your session has expired. Sign in again to continue.");
    }
    if (status === 403) {
        return _t("You are not allowed to do this. Ask the owner for access.");
    }
    if (status === 404) {
        return _t("This no longer exists, or you do not have access to it.");
    }
    if (status === 413) {
        return _t("This message is too long. Shorten it and send it again.");
    }
    if (status === 429) {
        return _t("Too many requests at once. Wait a moment and try again.");
    }
    if (status >= 500) {
        return _t("The server has a problem right now. Try again in a moment.");
    }
    return _t("The server rejected this request. Reload the page and try again.");
}

/** What the server says is part of this page, whatever language its person prefers elsewhere. */
function pageLanguage() {
    try {
        return localization.code;
    } catch {
        return ""; // not known yet: the person's own
    }
}

function parseRetryAfter(response) {
    const seconds = parseFloat(response.headers.get("Retry-After"));
    return Number.isFinite(seconds) ? seconds * 1000 : null;
}

async function errorFromResponse(response) {
    let error = null;
    try {
        error = (await response.json()).error;
    } catch {
        // a proxy's HTML page, or nothing at all: the status has to do
    }
    const sentence = FOR_PROGRAMS.includes(error?.code) ? "" : error?.message;
    return new AiApiError({
        code: error?.code || `http_${response.status}`,
        message: sentence || statusSentence(response.status),
        status: response.status,
        details: error?.details,
        retryAfter: parseRetryAfter(response),
    });
}

function errorFromFailure(failure, signal) {
    if (signal?.aborted) {
        return new AiApiError({ code: "aborted", message: _t("The request was cancelled.") });
    }
    return new AiApiError({
        code: "network",
        message: _t("The server cannot be reached. Check your connection and try again."),
    });
}

/** @returns {Promise<Object>} what an XMLHttpRequest that is over has brought */
async function answerOf(request) {
    const wait = request.getResponseHeader("Retry-After");
    const response = new Response(request.responseText, {
        status: request.status,
        headers: wait ? { "Retry-After": wait } : {},
    });
    if (!response.ok) {
        throw await errorFromResponse(response);
    }
    try {
        return await response.json();
    } catch {
        throw new AiApiError({ code: "bad_response", message: statusSentence(500) });
    }
}

function withQuery(url, params) {
    const query = new URLSearchParams();
    for (const [key, value] of Object.entries(params)) {
        if (value !== undefined && value !== null) {
            query.set(key, value);
        }
    }
    const text = query.toString();
    return text ? url + (url.includes("?") ? "&" : "?") + text : url;
}

/** Tests put another one in its place; Odoo's own requests use the same class of the browser. */
export const transport = {
    newRequest: () => new browser.XMLHttpRequest(),
};

/**
 * The HTTP contract of the chat, and the only module that talks to it.
 *
 * Every method resolves to the parsed JSON body and rejects with an {@link AiApiError}.
 */
export class AiApi {
    async fetch(method, url, { body, headers = {}, signal } = {}) {
        let response;
        try {
            response = await browser.fetch(url, {
                method,
                headers: {
                    Accept: "application/json",
                    "X-Woow-Language": pageLanguage(),
                    ...(body === undefined ? {} : { "Content-Type": "application/json" }),
                    ...headers,
                },
                body: body === undefined ? undefined : JSON.stringify(body),
                credentials: "same-origin",
                cache: "no-store",
                signal,
            });
        } catch (failure) {
            throw errorFromFailure(failure, signal);
        }
        if (!response.ok) {
            throw await errorFromResponse(response);
        }
        return response;
    }

    async request(method, url, body, timeout = REQUEST_TIMEOUT) {
        const controller = new AbortController();
        const timer = browser.setTimeout(() => controller.abort(), timeout);
        try {
            const response = await this.fetch(method, url, { body, signal: controller.signal });
            return response.status === 204 ? null : await response.json();
        } catch (error) {
            if (error instanceof AiApiError && !error.isAborted) {
                throw error;
            }
            if (error instanceof SyntaxError) {
                throw new AiApiError({ code: "bad_response", message: statusSentence(500) });
            }
            throw errorFromFailure(error);
        } finally {
            browser.clearTimeout(timer);
        }
    }

    async assistants() {
        return (await this.request("GET", "/api/ai/assistants")).assistants;
    }

    /** @returns {Promise<{model, id, name, label, image}[]>} those with these letters in their names */
    async records(assistantId, words) {
        const url = withQuery(`/api/ai/assistants/${assistantId}/records`, { q: words });
        return (await this.request("GET", url)).records;
    }

    async cloudServices() {
        return (await this.request("GET", "/api/ai/cloud-services")).cloud_services;
    }

    conversations({ limit, before, words, cloudServiceId } = {}) {
        const query = { limit, before, q: words || undefined, cloud_service_id: cloudServiceId };
        return this.request("GET", withQuery("/api/ai/conversations", query));
    }

    conversation(id, { limit, before } = {}) {
        return this.request("GET", withQuery(`/api/ai/conversations/${id}`, { limit, before }));
    }

    /** @param {{enabledServers?: string[]|null}} choice null: whatever is offered */
    createConversation({ assistantId, cloudServiceId, record, name, enabledServers }) {
        return this.request("POST", "/api/ai/conversations", {
            assistant_id: assistantId,
            ...(cloudServiceId ? { cloud_service_id: cloudServiceId } : {}),
            ...(record ? { res_model: record.model, res_id: record.id } : {}),
            ...(name ? { name } : {}),
            ...(enabledServers ? { enabled_servers: enabledServers } : {}),
        });
    }

    renameConversation(id, name) {
        return this.request("PATCH", `/api/ai/conversations/${id}`, { name });
    }

    deleteConversation(id) {
        return this.request("DELETE", `/api/ai/conversations/${id}`);
    }

    /** The same `clientToken` again never starts a second turn: a retry after a failure is safe. */
    sendMessage(
        conversationId,
        { content, clientToken, editOf, when, isCompact, attachmentIds = [], records = [] }
    ) {
        return this.request("POST", `/api/ai/conversations/${conversationId}/messages`, {
            content,
            client_token: clientToken,
            ...(editOf ? { edit_of: editOf } : {}),
            ...(when ? { when } : {}),
            ...(isCompact ? { compact: true } : {}),
            ...(attachmentIds.length ? { attachment_ids: attachmentIds } : {}),
            ...(records.length ? { records } : {}),
        });
    }

    /**
     * Sends a file for a message that is about to be written; the server reads it at once, and may refuse it.
     *
     * @param {File} file
     * @param {{onProgress?: (sent: number) => void, signal?: AbortSignal}} [options] `sent`: from 0 to 1
     * @returns {Promise<Object>} {id, name, mimetype, url, size, pages, pages_read, characters, token_estimate}
     */
    upload(file, { onProgress, signal } = {}) {
        const form = new FormData();
        form.append("file", file, file.name);
        return new Promise((resolve, reject) => {
            // `fetch` does not tell how much of a body has been sent
            const request = transport.newRequest();
            const fail = () => reject(errorFromFailure(null, signal));
            request.open("POST", "/api/ai/attachments");
            request.timeout = UPLOAD_TIMEOUT;
            request.setRequestHeader("Accept", "application/json");
            request.setRequestHeader("X-Woow-Language", pageLanguage());
            request.upload.addEventListener("progress", ({ loaded, total }) =>
                onProgress?.(total ? loaded / total : 0)
            );
            for (const type of ["error", "timeout", "abort"]) {
                request.addEventListener(type, fail);
            }
            request.addEventListener("load", () => answerOf(request).then(resolve, reject));
            signal?.addEventListener("abort", () => request.abort());
            request.send(form);
        });
    }

    /** Takes back a file that was not sent. */
    discard(id) {
        return this.request("DELETE", `/api/ai/attachments/${id}`);
    }

    /** What became of a turn: `{id, state, tool_calls, usage, error}`. */
    turn(id) {
        return this.request("GET", `/api/ai/turns/${id}`);
    }

    /** Shows another wording of a question. */
    showVersion(turnId) {
        return this.request("POST", `/api/ai/turns/${turnId}/show`, {});
    }

    /** A new turn on the same question; it takes over the calls that were made. */
    retryTurn(id) {
        return this.request("POST", `/api/ai/turns/${id}/retry`, {});
    }

    /**
     * Which servers a chat may use: `{servers: [{id, name, enabled, tool_count, …}]}`.
     *
     * @param {import("./chat_ref").ChatRef} chatRef
     */
    mcpConfig(chatRef) {
        const { conversationId } = chatRef;
        const url = conversationId
            ? `/api/sessions/${conversationId}/mcp-config`
            : chatUrl(chatRef, "mcp-config");
        return this.request("GET", url);
    }

    /**
     * @param {boolean} [forMe] in all other conversations of the person, too
     * @returns {Promise<Object>} like `mcpConfig`
     */
    switchServer(conversationId, id, active, forMe = false) {
        return this.request("PATCH", `/api/mcp/servers/${id}/toggle`, {
            active,
            conversation_id: conversationId,
            for_me: forMe || undefined,
        });
    }

    /** In all conversations of the person; @returns {Promise<Object>} the server */
    switchServerForMe(id, active) {
        return this.request("PATCH", `/api/mcp/servers/${id}/toggle`, { active, for_me: true });
    }

    /**
     * A slash command about the chat's servers.
     *
     * @param {number[]|null} serverIds of the servers that the chat is offered; null: of those that are on
     * @returns {Promise<{title: string, rows: {name, about}[]}>}
     */
    command(chatRef, command, serverIds) {
        const body = { command, ...(serverIds ? { server_ids: serverIds } : {}) };
        return this.request("POST", chatUrl(chatRef, "command"), body, SERVER_TIMEOUT);
    }

    /** Prompts of the chat's servers: `{prompts, problems}`. */
    prompts(chatRef) {
        return this.request("GET", chatUrl(chatRef, "prompts"));
    }

    getPrompt(chatRef, { server, name }, args) {
        return this.request("POST", chatUrl(chatRef, "prompts/get"), {
            server_id: server.id,
            name,
            arguments: args,
        });
    }

    /** Its answers are in view: nobody is told of them any more. */
    see(conversationId) {
        return this.request("POST", `/api/ai/conversations/${conversationId}/seen`, {});
    }

    /** Resources of the chat's servers: `{resources, templates, problems}`. */
    resources(chatRef) {
        return this.request("GET", chatUrl(chatRef, "resources"), undefined, SERVER_TIMEOUT);
    }

    /**
     * Keeps a resource for a message that is about to be sent; `args` fill in a template.
     *
     * @returns {Promise<{attachments: Object[], left_out: number}>}
     */
    attachResource(conversationId, { server, uri, name }, args) {
        const url = `/api/ai/conversations/${conversationId}/resources/attach`;
        const body = { server_id: server.id, uri, name, ...(args ? { arguments: args } : {}) };
        return this.request("POST", url, body, SERVER_TIMEOUT);
    }

    /**
     * @param {{server: Object, prompt?: string, uri?: string}} ref a prompt's name or a template
     * @returns {Promise<string[]>} what the beginning of an argument may become
     */
    async complete(chatRef, { server, ...ref }, { argument, value, args }) {
        const body = { server_id: server.id, ...ref, argument, value, arguments: args };
        return (await this.request("POST", chatUrl(chatRef, "complete"), body)).values;
    }

    preferences() {
        return this.request("GET", "/api/ai/preferences");
    }

    setPreferences(values) {
        return this.request("PATCH", "/api/ai/preferences", values);
    }

    stopTurn(id) {
        return this.request("POST", `/api/ai/turns/${id}/stop`, {});
    }

    /** Answers a question: `approval_required`, `confirm_required` or, with `content`, `input_required`. */
    decide(turnId, { id, decision, args, content, reason }) {
        return this.request("POST", `/api/ai/turns/${turnId}/decision`, {
            id,
            decision,
            ...(args ? { arguments: args } : {}),
            ...(content ? { content } : {}),
            ...(reason ? { reason } : {}),
        });
    }

    /**
     * Opens the event stream of a turn after event `after`.
     *
     * @returns {Promise<Response>} status 200 with a body to read, or 204: nothing is left
     */
    openStream(url, { after = 0, signal } = {}) {
        return this.fetch("GET", withQuery(url, { after: after || undefined }), {
            headers: { Accept: "text/event-stream" },
            signal,
        });
    }
}
