import { Component, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { uniqueId } from "@web/core/utils/functions";
import { useService } from "@web/core/utils/hooks";
import { formatMomentFull } from "../core/format";
import { RequestError, attempt } from "../core/try_again";

/** *Why?*: the checks that a call met, each with its answer, read when they are asked for. */
export class CallExplanation extends Component {
    static template = "woow_paas_platform.CallExplanation";
    static components = { RequestError };
    static props = { callId: String };

    setup() {
        this.id = uniqueId("o_ai_chat_why_");
        this.chat = useService("ai_chat");
        this.state = useState({ isOpen: false, isBusy: false, found: null, error: null });
    }

    /** A full-width sign has its blank within. */
    blankAfter(title) {
        return title.endsWith("？") ? "" : " ";
    }

    changeLabel(step) {
        return _t("Change: %s", step.title);
    }

    lastChange(setting) {
        return _t("Last changed by %(name)s, %(date)s", {
            name: setting.changed_by,
            date: formatMomentFull(setting.changed_at),
        });
    }

    /** Read anew each time: a call that waits goes on. */
    async toggle() {
        this.state.isOpen = !this.state.isOpen;
        if (!this.state.isOpen) {
            return;
        }
        await attempt(this.state, async () => {
            this.state.found = await this.chat.api.explanation(this.props.callId);
        });
    }
}
