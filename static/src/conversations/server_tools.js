import { Component, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { formatCount, formatTools } from "../core/format";
import { RequestError } from "../core/try_again";

/** How many tools a server has and what they cost, as a line that opens to the tools; they are read when it does. */
export class ServerTools extends Component {
    static template = "woow_paas_platform.ServerTools";
    static components = { RequestError };
    static props = {
        /** See ServerChoice. */
        choice: Object,
        server: Object,
    };

    setup() {
        this.state = useState({ tools: null, error: "" });
    }

    get cost() {
        const {
            tool_count: count,
            token_estimate: tokens,
            review_count: reviews,
        } = this.props.server;
        if (!count) {
            return reviews ? _t("Its tools wait for review.") : _t("No tools");
        }
        return _t("%(tools)s, about %(tokens)s tokens per request", {
            tools: formatTools(count),
            tokens: formatCount(tokens),
        });
    }

    async onToggle(ev) {
        if (!ev.target.open) {
            return;
        }
        const { choice, server } = this.props;
        try {
            Object.assign(this.state, { tools: await choice.toolsOf(server), error: "" });
        } catch (error) {
            this.state.error = error;
        }
    }
}
