import { Component, useEffect, useExternalListener, useRef, useState } from "@odoo/owl";
import { uniqueId } from "@web/core/utils/functions";
import { exportUrl } from "../core/ai_api";

/** Takes the conversation away: as text on the clipboard, or as a file. */
export class ExportMenu extends Component {
    static template = "woow_paas_platform.ExportMenu";
    static props = {
        conversationId: Number,
        /** Copies the conversation as Markdown, and says what became of it. */
        onCopy: Function,
    };

    setup() {
        this.id = uniqueId("o_ai_chat_export_");
        this.root = useRef("root");
        this.button = useRef("button");
        this.state = useState({ isOpen: false });
        useExternalListener(window, "click", (ev) => {
            if (!this.root.el.contains(ev.target)) {
                this.state.isOpen = false;
            }
        });
        useEffect(
            (isOpen) => isOpen && this.items[0].focus(),
            () => [this.state.isOpen]
        );
    }

    get items() {
        return [...this.root.el.querySelectorAll("[role=menuitem]")];
    }

    url(format) {
        return exportUrl(this.props.conversationId, format);
    }

    toggle() {
        this.state.isOpen = !this.state.isOpen;
    }

    close() {
        this.state.isOpen = false;
        this.button.el.focus();
    }

    copy() {
        this.close();
        this.props.onCopy();
    }

    onKeydown(ev) {
        const step = { ArrowDown: 1, ArrowUp: -1 }[ev.key];
        if (!this.state.isOpen) {
            return;
        }
        if (step) {
            ev.preventDefault();
            const { items } = this;
            const index = items.indexOf(document.activeElement) + step;
            items.at(index % items.length).focus();
        } else if (ev.key === "Escape") {
            ev.stopPropagation();
            this.close();
        } else if (ev.key === "Tab") {
            this.state.isOpen = false;
        }
    }
}
