import { Component, onWillStart, useState } from "@odoo/owl";
import { ConfirmationDialog } from "@web/core/confirmation_dialog/confirmation_dialog";
import { _t } from "@web/core/l10n/translation";
import { registry } from "@web/core/registry";
import { useService } from "@web/core/utils/hooks";
import { formatMomentFull } from "../core/format";
import { McpApi } from "../core/mcp_api";
import { TryAgain } from "../core/try_again";
import { ClientKeys } from "./client_keys";
import { ConnectionCard } from "./connection_card";

/** A person's own keys for shared servers and for MCP clients, and the tools that the person has allowed for good. */
export class AiConnections extends Component {
    static template = "woow_paas_platform.AiConnections";
    static components = { ClientKeys, ConnectionCard, TryAgain };
    static props = {};

    setup() {
        this.api = new McpApi();
        this.dialog = useService("dialog");
        this.state = useState({ connections: [], grants: [], isLoaded: false, error: null });
        onWillStart(() => this.load());
    }

    async attempt(action) {
        this.state.error = null;
        try {
            await action();
        } catch (error) {
            this.state.error = error;
        }
    }

    load() {
        return this.attempt(async () => {
            const [connections, grants] = await Promise.all([
                this.api.connections(),
                this.api.grants(),
            ]);
            Object.assign(this.state, { connections, grants, isLoaded: true });
        });
    }

    async keep(server, apiKey) {
        const connected = await this.api.connect(server.id, apiKey);
        Object.assign(
            this.state.connections.find((known) => known.server.id === server.id),
            connected
        );
    }

    async forget(server) {
        await this.api.disconnect(server.id);
        await this.load();
    }

    confirmRevoke(grant) {
        this.dialog.add(ConfirmationDialog, {
            title: _t("Revoke this permission?"),
            body: _t("You will be asked again before “%(tool)s” is called.", { tool: grant.tool }),
            confirmLabel: _t("Revoke"),
            confirm: () => this.revoke(grant),
            cancel: () => {},
        });
    }

    revoke(grant) {
        return this.attempt(async () => {
            await this.api.revokeGrant(grant.id);
            this.state.grants = this.state.grants.filter((known) => known.id !== grant.id);
        });
    }

    scopeOf({ conversation }) {
        return conversation
            ? _t("In the conversation “%(name)s”", { name: conversation.name })
            : _t("Always");
    }

    revokeLabel({ tool }) {
        return _t("Revoke the permission for %(tool)s", { tool });
    }

    momentOf(grant) {
        return formatMomentFull(grant.granted_at);
    }
}

registry.category("public_components").add("woow_paas_platform.AiConnections", AiConnections);
