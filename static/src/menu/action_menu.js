import { Component, useEffect, useRef, useState } from "@odoo/owl";
import { uniqueId } from "@web/core/utils/functions";

const GAP = 4; // px between the button and its menu, and to the edge of the window
const DISMISSING = ["scroll", "resize"];

/** A button with a menu of actions, which lies above everything else on the page. */
export class ActionMenu extends Component {
    static template = "woow_paas_platform.ActionMenu";
    static props = {
        label: String,
        /** Of Font Awesome. */
        icon: String,
        /** {label, icon, act?, url?, isDangerous?}: `act` is called, a file at `url` is downloaded. */
        items: Array,
        className: { type: String, optional: true },
    };
    static defaultProps = { className: "btn-link text-muted" };

    setup() {
        this.id = uniqueId("o_ai_chat_menu_");
        this.button = useRef("button");
        this.menu = useRef("menu");
        this.state = useState({ isOpen: false });
        useEffect(
            (menu) => menu && this.show(menu),
            () => [this.menu.el]
        );
    }

    get elements() {
        return [...this.menu.el.querySelectorAll("[role=menuitem]")];
    }

    /** @returns {() => void} stops watching what closes it */
    show(menu) {
        menu.showPopover();
        this.place(menu);
        this.elements[0].focus({ preventScroll: true });
        const leave = (ev) => {
            if (!menu.contains(ev.target) && !this.button.el?.contains(ev.target)) {
                this.state.isOpen = false;
            }
        };
        const dismiss = (ev) => {
            if (!menu.contains(ev.target)) {
                this.state.isOpen = false;
            }
        };
        window.addEventListener("click", leave, true);
        DISMISSING.forEach((name) => window.addEventListener(name, dismiss, true));
        return () => {
            window.removeEventListener("click", leave, true);
            DISMISSING.forEach((name) => window.removeEventListener(name, dismiss, true));
        };
    }

    /** Below the button, or above it where there is no room, and within the window. */
    place(menu) {
        const button = this.button.el.getBoundingClientRect();
        const { width, height } = menu.getBoundingClientRect();
        const { innerWidth, innerHeight } = window;
        const below = button.bottom + GAP;
        const top = below + height > innerHeight ? button.top - GAP - height : below;
        const left = Math.min(button.right - width, innerWidth - width - GAP);
        menu.style.top = `${Math.max(GAP, top)}px`;
        menu.style.left = `${Math.max(GAP, left)}px`;
    }

    toggle() {
        this.state.isOpen = !this.state.isOpen;
    }

    close() {
        this.state.isOpen = false;
        this.button.el.focus();
    }

    choose(item) {
        this.close();
        item.act?.();
    }

    onKeydown(ev) {
        if (!this.state.isOpen) {
            return;
        }
        const { elements } = this;
        const here = elements.indexOf(document.activeElement);
        const next = {
            ArrowDown: (here + 1) % elements.length,
            ArrowUp: here - 1,
            Home: 0,
            End: -1,
        }[ev.key];
        if (next !== undefined) {
            ev.preventDefault();
            elements.at(next).focus();
        } else if (ev.key === "Escape") {
            ev.stopPropagation();
            this.close();
        } else if (ev.key === "Tab") {
            this.state.isOpen = false;
        }
    }
}
