import { Component, onWillStart, useExternalListener, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { formatMomentFull } from "../core/format";
import { McpApi } from "../core/mcp_api";
import { RequestError, attempt } from "../core/try_again";
import { visible } from "../questions/visible_text";

const LABELS = {
    approve_once: _t("Allow once"),
    approve_always: _t("Allow always"),
    deny: _t("Deny"),
};

/** Calls of a person's MCP clients that wait for a decision: the client makes them again once they are allowed. */
export class WaitingCalls extends Component {
    static template = "woow_paas_platform.WaitingCalls";
    static components = { RequestError };
    static props = { onDecided: { type: Function, optional: true } };

    setup() {
        this.api = new McpApi();
        this.state = useState({ calls: [], decided: "", isBusy: false, error: null });
        onWillStart(() => this.attempt(() => this.load()));
        useExternalListener(document, "visibilitychange", () => this.onVisible());
    }

    attempt(action) {
        return attempt(this.state, action);
    }

    async load() {
        this.state.calls = await this.api.waitingCalls();
    }

    /** Back from the client, which may have asked for more. */
    onVisible() {
        if (document.visibilityState === "visible" && !this.state.isBusy) {
            this.attempt(() => this.load());
        }
    }

    decide(call, decision) {
        return this.attempt(async () => {
            try {
                await this.api.decideCall(call.id, { decision });
                this.state.decided = this.outcomeOf(call, decision);
                this.props.onDecided?.();
            } finally {
                await this.load();
            }
        });
    }

    outcomeOf({ tool }, decision) {
        return decision === "deny"
            ? _t("“%(tool)s” is denied. The program hears of it when it asks again.", { tool })
            : _t("“%(tool)s” is allowed. Let the program make the call again.", { tool });
    }

    title({ client, tool, server }) {
        return client
            ? _t("“%(client)s” wants to call “%(tool)s” of “%(server)s”.", { client, tool, server })
            : _t("A program with your key wants to call “%(tool)s” of “%(server)s”.", {
                  tool,
                  server,
              });
    }

    argumentsOf({ args }) {
        return Object.entries(args).map(([name, value]) => ({
            name: visible(name),
            value: visible(typeof value === "string" ? value : JSON.stringify(value)),
        }));
    }

    expiry({ expires_at }) {
        return _t("If you do not decide by %(moment)s, the call is denied.", {
            moment: formatMomentFull(expires_at),
        });
    }

    allowing({ choices }) {
        return choices.filter((choice) => choice !== "deny");
    }

    label(choice) {
        return LABELS[choice];
    }
}
