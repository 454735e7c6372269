import { json, refusal } from "./fake_responses";
import { FakeStream } from "./fake_stream";

/** What the server knows of conversations: one turn at a time, its stream in the test's hands. */
export class FakeConversations {
    constructor() {
        this.conversations = [];
        this.folders = [];
        /** Files that wait for their message. */
        this.unsent = [];
        this.tokens = new Map();
        this.turnOwners = new Map();
        this.nextId = 10;
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
            unseen: false,
            pinned: false,
            archived: false,
            folder_id: null,
            temporary: false,
            closed: "",
            can_post: false,
            context: null,
            ...values,
        };
        this.conversations.unshift(conversation);
        return conversation;
    }

    message(conversation, role, text, turn = null) {
        const person = { id: 2, name: "Joel", image_url: null };
        const author = role === "user" ? person : { ...conversation.assistant, id: 3 };
        const message = {
            id: this.nextId++,
            role,
            text,
            html: text ? `<p>${text}</p>` : "",
            author,
            date: "2026-01-02T03:04:05Z",
            attachments: [],
            turn: turn && { assistant_id: conversation.assistant.id, ...turn },
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

    folder(name) {
        const empty = { instructions: "", files: [], record: null, unseen: false };
        const folder = { id: this.nextId++, name, ...empty };
        this.folders.push(folder);
        return folder;
    }

    changeFolder(
        folder,
        { name, instructions, attachment_ids: ids, res_model: model, res_id: id }
    ) {
        const own = folder.files;
        const record = id ? { model, id, name: "Azure" } : null;
        return Object.assign(folder, {
            name: name ?? folder.name,
            instructions: instructions ?? folder.instructions,
            files: ids
                ? ids.map((one) => [...own, ...this.unsent].find((file) => file.id === one))
                : own,
            record: id === undefined ? folder.record : record,
        });
    }

    answerFolders(method, id, body) {
        const found = this.folders.find((folder) => folder.id === id);
        if (method === "GET") {
            return json({ folders: this.folders });
        }
        if (method === "POST") {
            return json(this.changeFolder(this.folder(body.name), body), 201);
        }
        if (method === "PATCH") {
            return json(this.changeFolder(found, body));
        }
        this.folders = this.folders.filter((folder) => folder !== found);
        const inside = this.conversations.filter((one) => one.folder_id === id);
        inside.forEach((one) => Object.assign(one, { folder_id: null }));
        return new Response(null, { status: 204 });
    }

    /** Does the same to several; one that is answering is not deleted. */
    actOn({ action, conversation_ids: ids, folder_id: folderId = null }) {
        const results = ids.map((id) => {
            const found = this.conversations.find((one) => one.id === id);
            if (!found || (action === "delete" && found.turn && !found.temporary)) {
                return { id, ok: false, error: { code: "refused", message: "Not now." } };
            }
            if (action === "delete" || (action === "end" && found.temporary)) {
                this.conversations = this.conversations.filter((one) => one !== found);
            } else if (action === "move") {
                found.folder_id = folderId;
            } else if (action === "keep") {
                found.temporary = false;
            } else if (action.endsWith("pin")) {
                found.pinned = action === "pin";
            } else {
                found.archived = action === "archive";
            }
            return { id, ok: true, error: null };
        });
        return json({ results });
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

    listed({ id, name, assistant, cloud_service, record, last_message_at, turn, ...more }) {
        const running = turn && { id: turn.id, state: turn.state };
        const listed = { id, name, assistant, cloud_service, record, last_message_at };
        const { excerpt, unseen, pinned, archived, folder_id, temporary } = more;
        return {
            ...listed,
            turn: running,
            unseen,
            pinned,
            archived,
            folder_id,
            temporary,
            ...(excerpt && { excerpt }),
        };
    }

    detailed(conversation, query) {
        const limit = Number(query.get("limit") || 30);
        const before = Number(query.get("before") || Infinity);
        const visible = conversation.messages.filter(({ id }) => id < before);
        const { turn } = conversation;
        return {
            ...this.listed({ ...conversation, excerpt: null }), // of the list alone
            messages: visible.slice(-limit),
            has_more: visible.length > limit,
            unseen: conversation.unseen,
            closed: conversation.closed,
            assistants: this.assistantsToRetry(),
            can_post: conversation.can_post,
            context: conversation.context,
            turn: turn && {
                id: turn.id,
                state: turn.state,
                assistant: conversation.assistant,
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
