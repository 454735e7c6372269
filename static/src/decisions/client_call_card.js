import { Component } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { formatMomentFull, writeJson } from "../core/format";
import { visible } from "../questions/visible_text";

const LABELS = {
    approve_once: _t("Allow once"),
    approve_always: _t("Allow always"),
    deny: _t("Deny"),
};

/** Asks whether a call of an MCP client may be made: the client makes it again once it is allowed. */
export class ClientCallCard extends Component {
    static template = "woow_paas_platform.ClientCallCard";
    static props = {
        /** See docs/api.md, `GET /api/mcp/calls/waiting`. */
        call: Object,
        isBusy: { type: Boolean, optional: true },
        onDecide: Function,
    };

    get title() {
        const { client, tool, server } = this.props.call;
        return client
            ? _t("“%(client)s” wants to call “%(tool)s” of “%(server)s”.", { client, tool, server })
            : _t("A program with your key wants to call “%(tool)s” of “%(server)s”.", {
                  tool,
                  server,
              });
    }

    get arguments() {
        return Object.entries(this.props.call.args).map(([name, value]) => ({
            name: visible(name),
            value: visible(typeof value === "string" ? value : writeJson(value)),
        }));
    }

    get expiry() {
        return _t("If you do not decide by %(moment)s, the call is denied.", {
            moment: formatMomentFull(this.props.call.expires_at),
        });
    }

    get allowing() {
        return this.props.call.choices.filter((choice) => choice !== "deny");
    }

    label(choice) {
        return LABELS[choice];
    }
}
