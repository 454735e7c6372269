import { Component, useEffect, useRef } from "@odoo/owl";
import { useMenu } from "./use_menu";

const GAP = 4; // px between the button and its menu, and to the edge of the window
const MOVING = ["scroll", "resize"];

/** A button with a menu of actions, which lies above everything else on the page. */
export class ActionMenu extends Component {
    static template = "woow_paas_platform.ActionMenu";
    static props = {
        label: String,
        /** Of Font Awesome. */
        icon: String,
        /** {label, icon, act?, page?}: `act` is called, `page` opens in a new tab. */
        items: Array,
    };

    setup() {
        this.button = useRef("button");
        this.list = useRef("list");
        useEffect(
            (list) => list && this.show(list),
            () => [this.list.el]
        );
        this.menu = useMenu("o_ai_chat_menu_");
    }

    /** @returns {() => void} stops watching for what would part it from its button */
    show(list) {
        list.showPopover();
        this.place(list);
        const close = (ev) => {
            if (ev.type === "resize" || ev.target.contains(this.button.el)) {
                this.menu.state.isOpen = false;
            }
        };
        MOVING.forEach((name) => window.addEventListener(name, close, true));
        return () => MOVING.forEach((name) => window.removeEventListener(name, close, true));
    }

    /** Below the button, or above it where there is no room, and within the window. */
    place(list) {
        const button = this.button.el.getBoundingClientRect();
        const { width, height } = list.getBoundingClientRect();
        const { innerWidth, innerHeight } = window;
        const below = button.bottom + GAP;
        const top = below + height > innerHeight ? button.top - GAP - height : below;
        const left = Math.min(button.right - width, innerWidth - width - GAP);
        list.style.top = `${Math.max(GAP, top)}px`;
        list.style.left = `${Math.max(GAP, left)}px`;
    }

    choose(item) {
        this.menu.close();
        item.act();
    }
}
