import { Component, useExternalListener, useRef, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { uniqueId } from "@web/core/utils/functions";
import { formatAbout, percentOf } from "./context_numbers";
import { pressedKey } from "../core/keys";

/** From here on the next messages are about to be summed up. */
const NEARLY_FULL = 70;

/** How much of what the model reads at once a conversation takes; what it is made of can be opened. */
export class ContextGauge extends Component {
    static template = "woow_paas_platform.ContextGauge";
    static props = {
        /** See ContextUse. */
        use: Object,
    };

    setup() {
        this.id = uniqueId("o_ai_chat_gauge_");
        this.root = useRef("root");
        this.state = useState({ isOpen: false });
        useExternalListener(window, "click", (ev) => {
            if (!this.root.el?.contains(ev.target)) {
                this.state.isOpen = false;
            }
        });
    }

    get percent() {
        return percentOf(this.props.use);
    }

    get isNearlyFull() {
        return this.percent >= NEARLY_FULL;
    }

    get shownPercent() {
        return `${this.percent} %`;
    }

    get label() {
        return _t("About %(percent)s of the context used", { percent: this.shownPercent });
    }

    get rows() {
        const { definitions, summary, messages, limit } = this.props.use;
        return [
            { name: _t("Instructions and tools"), tokens: formatAbout(definitions) },
            ...(summary ? [{ name: _t("Summary"), tokens: formatAbout(summary) }] : []),
            { name: _t("Messages"), tokens: formatAbout(messages) },
            { name: _t("The model takes"), tokens: formatAbout(limit) },
        ];
    }

    toggle() {
        this.state.isOpen = !this.state.isOpen;
    }

    onKeydown(ev) {
        if (pressedKey(ev) === "Escape" && this.state.isOpen) {
            ev.stopPropagation();
            this.state.isOpen = false;
            this.root.el.querySelector("button").focus();
        }
    }
}
