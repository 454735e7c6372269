import { Component, useEffect, useExternalListener, useRef, useState } from "@odoo/owl";
import { uniqueId } from "@web/core/utils/functions";

/** What the server takes; it decides by the content, so this only helps to choose. */
export const ACCEPTED = [
    "image/png,image/jpeg,image/gif,image/webp",
    "application/pdf,.pdf,.docx,.pptx,.xlsx",
    "text/*,.txt,.md,.csv,.json,.xml,.yaml,.yml,.sql,.log",
].join();

/** The paper clip: files of the person, or something that a server has. */
export class AttachMenu extends Component {
    static template = "woow_paas_platform.AttachMenu";
    static props = {
        isDisabled: { type: Boolean, optional: true },
        onFiles: Function,
        onServer: Function,
    };

    setup() {
        this.id = uniqueId("o_ai_chat_attach_");
        this.root = useRef("root");
        this.button = useRef("button");
        this.file = useRef("file");
        this.picture = useRef("picture");
        this.accepted = ACCEPTED;
        /** A phone offers its camera for pictures only. */
        this.isTouch = window.matchMedia("(pointer: coarse)").matches;
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

    toggle() {
        this.state.isOpen = !this.state.isOpen;
    }

    chooseFiles() {
        this.state.isOpen = false;
        this.file.el.click();
    }

    choosePicture() {
        this.state.isOpen = false;
        this.picture.el.click();
    }

    chooseServer() {
        this.state.isOpen = false;
        this.props.onServer();
    }

    onChange(ev) {
        this.props.onFiles([...ev.target.files]);
        ev.target.value = ""; // so that the same file can be chosen again
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
        } else if (ev.key === "Escape" || ev.key === "Tab") {
            this.state.isOpen = false;
            if (ev.key === "Escape") {
                ev.stopPropagation();
                this.button.el.focus();
            }
        }
    }
}
