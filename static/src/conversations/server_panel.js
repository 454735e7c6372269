import { Component, useExternalListener, useRef, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { uniqueId } from "@web/core/utils/functions";
import { formatRecords, formatTools } from "../core/format";
import { RequestError } from "../core/try_again";
import { ServerTools } from "./server_tools";
import { pressedKey } from "../core/keys";

/** What the chat may use, as a line that opens to a switch for each MCP server. */
export class ServerPanel extends Component {
    static template = "woow_paas_platform.ServerPanel";
    static components = { RequestError, ServerTools };
    static props = {
        /** See ServerChoice. */
        choice: Object,
        /** Names: the assistant's, and the cloud service's if there is one. */
        partners: Array,
    };

    setup() {
        this.id = uniqueId("o_ai_chat_servers_");
        this.root = useRef("root");
        this.state = useState({ isOpen: false });
        useExternalListener(window, "click", (ev) => {
            if (!this.root.el?.contains(ev.target)) {
                this.state.isOpen = false;
            }
        });
        // a switch that is being saved is disabled and has no focus; before the window, where the panel around closes
        useExternalListener(document, "keydown", (ev) => this.onKeydown(ev));
    }

    get title() {
        return _t("Choose the MCP servers of this chat");
    }

    get label() {
        return _t("Choose the MCP servers of this chat: %(summary)s", { summary: this.summary });
    }

    get summary() {
        return [...this.props.partners, this.recordsLabel, this.counts].filter(Boolean).join(" · ");
    }

    /** Of Odoo's records. */
    get recordsLabel() {
        const { servers, records } = this.props.choice;
        return servers ? formatRecords(records) : "";
    }

    get counts() {
        const { servers, records, enabled, notice } = this.props.choice;
        if (!servers || (records.length && !servers.length)) {
            return "";
        }
        if (notice) {
            return _t("MCP is switched off");
        }
        const well = enabled.filter((server) => this.isWell(server));
        if (!enabled.length) {
            return _t("no MCP servers");
        }
        const tools = well.reduce((sum, { tool_count: count }) => sum + count, 0);
        const count = enabled.length;
        const all = count === 1 ? _t("1 server") : _t("%(count)s servers", { count });
        return [
            well.length < count
                ? _t("%(well)s of %(servers)s working", { well: well.length, servers: all })
                : all,
            formatTools(tools),
        ].join(" · ");
    }

    reasonOf(server) {
        return server.state_message || _t("This server is not responding properly right now.");
    }

    labelForMe(server) {
        return server.enabled_for_me
            ? _t("Turn off in all my conversations")
            : _t("Turn on in all my conversations");
    }

    isWell(server) {
        return ["connected", "draft", "degraded"].includes(server.state);
    }

    toggleOpen() {
        this.state.isOpen = !this.state.isOpen;
        if (this.state.isOpen) {
            this.props.choice.load();
        }
    }

    onKeydown(ev) {
        if (pressedKey(ev) === "Escape" && this.state.isOpen) {
            // with Shift it is a shortcut, too
            if (!ev.shiftKey) {
                ev.preventDefault();
            }
            this.state.isOpen = false;
            this.root.el.querySelector("button").focus();
        }
    }
}
