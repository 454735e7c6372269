import { ApiClient, SERVER_TIMEOUT, withQuery } from "./api_client";
import { errorFromFailure } from "./api_error";
import { chatUrl } from "./chat_ref";
import { upload } from "./upload";

/** Conversations that one request acts on. */
const MOST_AT_ONCE = 100;

/** @returns {string} the name that the server gives a file */
function fileName(response) {
    const said = response.headers.get("Content-Disposition") || "";
    return decodeURIComponent(said.match(/filename\*=UTF-8''([^;]+)/)?.[1] || "");
}

function folderBody({ instructions, files, record }) {
    return {
        ...(instructions === undefined ? {} : { instructions }),
        ...(files ? { attachment_ids: files } : {}),
        ...(record ? { res_model: record.model, res_id: record.id } : {}),
        ...(record === null ? { res_id: 0 } : {}),
    };
}

/** The HTTP contract of the chat, and the only module that talks to it. */
export class AiApi extends ApiClient {
    /**
     * @param {number|null} [cloudServiceId] whose own assistants are offered, too
     * @returns {Promise<{assistants: Object[], can_create: boolean}>}
     */
    assistants(cloudServiceId) {
        const query = { cloud_service_id: cloudServiceId };
        return this.request("GET", withQuery("/api/ai/assistants", query));
    }

    /** @returns {Promise<{assistants: Object[], providers: Object[], servers: Object[]}>} for who manages the service */
    serviceAssistants(serviceId) {
        return this.request("GET", `/api/ai/cloud-services/${serviceId}/assistants`);
    }

    addServiceAssistant(serviceId, values) {
        return this.request("POST", `/api/ai/cloud-services/${serviceId}/assistants`, values);
    }

    changeServiceAssistant(id, values) {
        return this.request("PUT", `/api/ai/assistants/${id}`, values);
    }

    deleteServiceAssistant(id) {
        return this.request("DELETE", `/api/ai/assistants/${id}`);
    }

    /** @returns {Promise<{versions: Object[], has_more: boolean}>} the latest first; `before` is a number of one */
    assistantVersions(id, before) {
        return this.request("GET", withQuery(`/api/ai/assistants/${id}/versions`, { before }));
    }

    /** @returns {Promise<{assistant: Object, left_out: string[]}>} */
    restoreAssistantVersion(id, versionId) {
        return this.request("POST", `/api/ai/assistants/${id}/versions/${versionId}/restore`, {});
    }

    /** @returns {Promise<{good: number, bad: number, shared: {value, reason, text}[]}>} */
    assistantRatings(id) {
        return this.request("GET", `/api/ai/assistants/${id}/ratings`);
    }

    /** @returns {Promise<{model, id, name, label, image}[]>} those with these letters in their names */
    async records(assistantId, words) {
        const url = withQuery(`/api/ai/assistants/${assistantId}/records`, { q: words });
        return (await this.request("GET", url)).records;
    }

    /** @returns {Promise<{id, name}[]>} of administrators, for a new chat about a record of the model */
    async defaultPrompts(assistantId, model) {
        const url = withQuery(`/api/ai/assistants/${assistantId}/default-prompts`, { model });
        return (await this.request("GET", url)).prompts;
    }

    /** @returns {Promise<string>} one of them with the values of the record */
    async fillDefaultPrompt(id, { id: resId }) {
        const url = `/api/ai/default-prompts/${id}/fill`;
        return (await this.request("POST", url, { res_id: resId })).content;
    }

    /** @returns {Promise<{prompts: Object[], workspaces: {id: number, name: string}[]}>} those that people keep */
    savedPrompts() {
        return this.request("GET", "/api/ai/saved-prompts");
    }

    addPrompt({ name, content, workspaceId }) {
        const workspace = workspaceId ? { workspace_id: workspaceId } : {};
        return this.request("POST", "/api/ai/saved-prompts", { name, content, ...workspace });
    }

    changePrompt(id, { name, content }) {
        return this.request("PATCH", `/api/ai/saved-prompts/${id}`, { name, content });
    }

    deletePrompt(id) {
        return this.request("DELETE", `/api/ai/saved-prompts/${id}`);
    }

    /** @returns {Promise<string>} with words in place of its fields */
    async fillPrompt(id, fields) {
        return (await this.request("POST", `/api/ai/saved-prompts/${id}/fill`, { fields })).content;
    }

    async cloudServices() {
        return (await this.request("GET", "/api/ai/cloud-services")).cloud_services;
    }

    /**
     * @param {{assistantId?: number, since?: string, hasFiles?: boolean, record?: {model: string, id: number}}} params
     *  `since`: a day, as 2026-11-30
     */
    conversations({ limit, before, words, cloudServiceId, isArchived, folderId, ...more } = {}) {
        const query = {
            limit,
            before,
            q: words || undefined,
            cloud_service_id: cloudServiceId,
            archived: isArchived ? 1 : undefined,
            folder_id: folderId,
            assistant_id: more.assistantId || undefined,
            since: more.since || undefined,
            has_files: more.hasFiles ? 1 : undefined,
            res_model: more.record?.model,
            res_id: more.record?.id,
        };
        return this.request("GET", withQuery("/api/ai/conversations", query));
    }

    conversation(id, { limit, before } = {}) {
        return this.request("GET", withQuery(`/api/ai/conversations/${id}`, { limit, before }));
    }

    /** @param {{enabledServers?: string[]|null, isTemporary?: boolean}} choice null: whatever is offered */
    createConversation({ assistantId, cloudServiceId, record, name, enabledServers, ...rest }) {
        const { folderId, isTemporary } = rest;
        return this.request("POST", "/api/ai/conversations", {
            assistant_id: assistantId,
            ...(cloudServiceId ? { cloud_service_id: cloudServiceId } : {}),
            ...(record ? { res_model: record.model, res_id: record.id } : {}),
            ...(name ? { name } : {}),
            ...(folderId ? { folder_id: folderId } : {}),
            ...(enabledServers ? { enabled_servers: enabledServers } : {}),
            ...(isTemporary ? { temporary: true } : {}),
        });
    }

    renameConversation(id, name) {
        return this.request("PATCH", `/api/ai/conversations/${id}`, { name });
    }

    /**
     * @param {"markdown"|"pdf"|"json"} format
     * @returns {Promise<{name: string, blob: Blob}>} the whole conversation as a file
     */
    async exportConversation(id, format) {
        const url = withQuery(`/api/ai/conversations/${id}/export`, { format });
        const response = await this.fetch("GET", url);
        try {
            return { name: fileName(response), blob: await response.blob() };
        } catch (failure) {
            throw errorFromFailure(failure);
        }
    }

    /**
     * @param {"pin"|"unpin"|"archive"|"restore"|"move"|"keep"|"end"|"delete"} action
     * @param {number[]} ids
     * @param {number|null} [folderId] where "move" puts them, null: in none
     * @returns {Promise<{id: number, ok: boolean, error: {code, message}|null}[]>}
     */
    async actOnConversations(action, ids, folderId) {
        let results = [];
        for (let start = 0; start < ids.length; start += MOST_AT_ONCE) {
            const some = ids.slice(start, start + MOST_AT_ONCE);
            const folder = folderId ? { folder_id: folderId } : {};
            const body = { action, conversation_ids: some, ...folder };
            const answer = await this.request("POST", "/api/ai/conversations/batch", body);
            results = results.concat(answer.results);
        }
        return results;
    }

    /** @returns {Promise<{id, name, instructions, files, record, unseen}[]>} of the person, by name */
    async folders() {
        return (await this.request("GET", "/api/ai/folders")).folders;
    }

    /** @param {Object} [values] as for `changeFolder` */
    addFolder(name, values = {}) {
        return this.request("POST", "/api/ai/folders", { name, ...folderBody(values) });
    }

    /**
     * @param {{name?: string, instructions?: string, files?: number[], record?: Object|null}} values what is left out
     *  stays
     */
    changeFolder(id, { name, ...values }) {
        const body = { ...(name ? { name } : {}), ...folderBody(values) };
        return this.request("PATCH", `/api/ai/folders/${id}`, body);
    }

    deleteFolder(id) {
        return this.request("DELETE", `/api/ai/folders/${id}`);
    }

    /** The same `clientToken` again never starts a second turn: a retry after a failure is safe. */
    sendMessage(
        conversationId,
        { content, clientToken, editOf, when, isCompact, attachmentIds = [], records }
    ) {
        return this.request("POST", `/api/ai/conversations/${conversationId}/messages`, {
            content,
            client_token: clientToken,
            ...(editOf ? { edit_of: editOf } : {}),
            ...(when ? { when } : {}),
            ...(isCompact ? { compact: true } : {}),
            ...(attachmentIds.length ? { attachment_ids: attachmentIds } : {}),
            ...(records ? { records } : {}),
        });
    }

    /**
     * Sends a file for a message that is about to be written; the server reads it at once, and may refuse it.
     *
     * @param {File} file
     * @param {{onProgress?: (sent: number) => void, signal?: AbortSignal}} [options] `sent`: from 0 to 1
     * @returns {Promise<Object>} {id, name, mimetype, url, size, pages, pages_read, characters, token_estimate}
     */
    upload(file, options) {
        return upload("/api/ai/attachments", file, options);
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

    /**
     * A new turn on the same question; it takes over the calls that were made.
     *
     * @param {number} [assistantId] another assistant, who answers this time
     */
    retryTurn(id, assistantId) {
        const values = assistantId ? { assistant_id: assistantId } : {};
        return this.request("POST", `/api/ai/turns/${id}/retry`, values);
    }

    /** A conversation of the caller's own that begins with the text until this answer. */
    continueFrom(turnId) {
        return this.request("POST", `/api/ai/turns/${turnId}/continue`, {});
    }

    /**
     * Rates or reports an answer, changes the rating or takes it back.
     *
     * @param {{value: "good"|"bad", reason?: string|null, text?: string, share?: boolean, report?: boolean}|null} values
     * @returns {Promise<{value, reason, text, share, reported, seen_at, reply}|null>}
     */
    rate(turnId, values) {
        const url = `/api/ai/turns/${turnId}/rating`;
        return values ? this.request("PUT", url, values) : this.request("DELETE", url);
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

    /**
     * Records of a change for which its question has no room.
     *
     * @param {number} after how many of them are there
     * @returns {Promise<{records: Object[], total: number}>}
     */
    rehearsal(turnId, callId, after) {
        const query = { call: callId, after: after || undefined };
        return this.request("GET", withQuery(`/api/ai/turns/${turnId}/rehearsal`, query));
    }

    /** @returns {Promise<{steps: {check: string, answer: string, title: string, text: string}[], summary: string}>} */
    explanation(callId) {
        return this.request("GET", `/api/ai/calls/${encodeURIComponent(callId)}/explanation`);
    }

    /**
     * What waits for the person's decision, the newest first; `limit` 0 only counts.
     *
     * @returns {Promise<{decisions: Object[], total: number}>}
     */
    decisions({ limit } = {}) {
        return this.request("GET", withQuery("/api/ai/decisions", { limit }));
    }

    /** One of them with its `question`. */
    decision(id) {
        return this.request("GET", `/api/ai/decisions/${encodeURIComponent(id)}`);
    }

    /**
     * Answers a question: `approval_required`, `confirm_required` or, with `content`, `input_required`.
     *
     * @param {{args?: Object, unchanged?: string[], shown?: Object<string, string>}} body `args`: all arguments, or those
     *  that are not named in `unchanged`; `shown`: the `review_hash` of each call that was seen, by its id
     */
    decide(turnId, { id, decision, args, unchanged, content, reason, shown }) {
        return this.request("POST", `/api/ai/turns/${turnId}/decision`, {
            id,
            decision,
            ...(args ? { arguments: args } : {}),
            ...(unchanged ? { unchanged } : {}),
            ...(content ? { content } : {}),
            ...(reason ? { reason } : {}),
            ...(shown ? { shown } : {}),
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
