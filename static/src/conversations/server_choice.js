import { markRaw } from "@odoo/owl";
import { Reactive } from "@web/core/utils/reactive";
import { chatKey } from "../core/chat_ref";

/** The MCP servers that the chat on the screen may use, and which of them are switched on. */
export class ServerChoice extends Reactive {
    /** @param {import("../core/ai_api").AiApi} api */
    constructor(api) {
        super();
        this.api = markRaw(api);
        /** @type {import("../core/chat_ref").ChatRef|null} */
        this.chatRef = null;
        /** {id, name, title, state, tool_count, token_estimate, enabled}, or null while unknown. */
        this.servers = null;
        /** {model, name}: of Odoo's records that the assistant works with. */
        this.records = [];
        /** Whether this person may have the tools of one of them read again. */
        this.canReload = false;
        /** What was switched in a chat that has not begun: name -> whether it is on. */
        this.switched = new Map();
        /** What is said where MCP is switched off. */
        this.notice = "";
        this.isBusy = false;
        this.error = null;
        /** `chatKey` of the chat whose servers are known. */
        this.known = null;
    }

    get enabled() {
        return (this.servers || []).filter(({ enabled }) => enabled);
    }

    /** For a conversation that is about to be made; null: what the person leaves on in general, also later. */
    get chosenNames() {
        return this.switched.size ? this.enabled.map(({ name }) => name) : null;
    }

    /** As `chosenNames`, by id. */
    get chosenIds() {
        return this.switched.size ? this.enabled.map(({ id }) => id) : null;
    }

    /** Another chat is shown; what was known stays until the truth is there, so that nothing flickers. */
    async show(chatRef) {
        if (chatKey(chatRef) !== chatKey(this.chatRef)) {
            this.switched.clear();
        }
        this.chatRef = chatRef;
        await this.load();
    }

    async load() {
        if (this.chatRef) {
            await this.attempt(() => this.api.mcpConfig(this.chatRef));
        } else {
            this.servers = null;
        }
    }

    async toggle({ id, name }, isOn) {
        const { conversationId } = this.chatRef;
        if (conversationId) {
            await this.attempt(() => this.api.switchServer(conversationId, id, isOn));
        } else {
            this.switched.set(name, isOn);
            this.servers = this.asSwitched(this.servers);
        }
    }

    /** In this conversation, and in all others of the person that have no choice of their own. */
    async toggleForMe({ id, name }, isOn) {
        const { conversationId } = this.chatRef;
        if (conversationId) {
            await this.attempt(() => this.api.switchServer(conversationId, id, isOn, true));
        } else {
            this.switched.delete(name);
            await this.attempt(async () => {
                await this.api.switchServerForMe(id, isOn);
                return this.api.mcpConfig(this.chatRef);
            });
        }
    }

    /** @returns {Promise<{name: string, about: string}[]>} the tools of one server, whether that is on or not */
    async toolsOf({ id, name }) {
        const { rows } = await this.api.command(this.chatRef, "/mcp tools", [id]);
        const prefix = `${name}.`;
        return rows.map((row) =>
            row.name.startsWith(prefix) ? { ...row, name: row.name.slice(prefix.length) } : row
        );
    }

    asSwitched(servers) {
        return this.chatRef.conversationId
            ? servers
            : servers.map((server) => ({
                  ...server,
                  enabled: this.switched.get(server.name) ?? server.enabled,
              }));
    }

    async attempt(ask) {
        const key = chatKey(this.chatRef);
        Object.assign(this, { isBusy: true, error: null });
        try {
            const { servers, records, notice, can_reload: canReload } = await ask();
            if (key === chatKey(this.chatRef)) {
                const switched = this.asSwitched(servers);
                Object.assign(this, { servers: switched, records, notice, canReload, known: key });
            }
        } catch (error) {
            if (key === chatKey(this.chatRef)) {
                // what was switched in a chat that has not begun is in them
                Object.assign(this, { error, servers: this.known === key ? this.servers : null });
            }
        }
        this.isBusy = false;
    }
}
