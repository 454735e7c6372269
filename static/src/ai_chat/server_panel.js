import { Component, useExternalListener, useRef, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { McpApi } from "../core/mcp_api";

let lastId = 0;

/** Which MCP servers this conversation uses: switches that count from the next answer on. */
export class ServerPanel extends Component {
    static template = "woow_paas_platform.ServerPanel";
    static props = { conversationId: Number };

    setup() {
        this.api = new McpApi();
        this.id = `o_ai_chat_servers_${++lastId}`;
        this.root = useRef("root");
        this.state = useState({ isOpen: false, servers: null, error: "", isBusy: false });
        useExternalListener(window, "click", (ev) => {
            if (!this.root.el?.contains(ev.target)) {
                this.state.isOpen = false;
            }
        });
        // on the window: a switch that is being saved is disabled and has no focus
        useExternalListener(window, "keydown", (ev) => this.onKeydown(ev));
    }

    get label() {
        return _t("Choose the MCP servers of this chat");
    }

    costOf(server) {
        return _t("%(tools)s tools, about %(tokens)s tokens in each request", {
            tools: server.tool_count,
            tokens: server.token_estimate,
        });
    }

    isWell(server) {
        return ["connected", "draft"].includes(server.state);
    }

    toggleOpen() {
        this.state.isOpen = !this.state.isOpen;
        return (
            this.state.isOpen && this.attempt(() => this.api.mcpConfig(this.props.conversationId))
        );
    }

    switchServer(server, active) {
        return this.attempt(() =>
            this.api.toggle(server.id, { active, conversation_id: this.props.conversationId })
        );
    }

    async attempt(ask) {
        Object.assign(this.state, { isBusy: true, error: "" });
        try {
            this.state.servers = (await ask()).servers;
        } catch (error) {
            this.state.error = error.message;
        }
        this.state.isBusy = false;
    }

    onKeydown(ev) {
        if (ev.key === "Escape" && this.state.isOpen) {
            this.state.isOpen = false;
            this.root.el.querySelector("button").focus();
        }
    }
}
