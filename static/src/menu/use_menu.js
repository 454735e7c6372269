import { useEffect, useRef, useState } from "@odoo/owl";
import { uniqueId } from "@web/core/utils/functions";

/**
 * A menu that a button opens: arrows move in it, Escape leads back to the button, a click elsewhere closes it.
 *
 * The template has the refs `root` and `button`, and items with the role menuitem.
 *
 * @param {string} prefix of the menu's id
 * @returns {{id: string, state: {isOpen: boolean}, toggle: Function, close: Function, onKeydown: Function}}
 */
export function useMenu(prefix) {
    const root = useRef("root");
    const button = useRef("button");
    const state = useState({ isOpen: false });
    const items = () => [...root.el.querySelectorAll("[role=menuitem]")];
    const close = () => {
        state.isOpen = false;
        button.el.focus();
    };
    useEffect(
        (isOpen) => {
            if (!isOpen) {
                return;
            }
            items()[0].focus();
            const leave = (ev) => {
                if (!root.el.contains(ev.target)) {
                    state.isOpen = false;
                }
            };
            window.addEventListener("click", leave);
            return () => window.removeEventListener("click", leave);
        },
        () => [state.isOpen]
    );
    return {
        id: uniqueId(prefix),
        state,
        close,
        toggle() {
            state.isOpen = !state.isOpen;
        },
        onKeydown(ev) {
            const step = { ArrowDown: 1, ArrowUp: -1 }[ev.key];
            if (!state.isOpen) {
                return;
            }
            if (step) {
                ev.preventDefault();
                const all = items();
                all.at((all.indexOf(document.activeElement) + step) % all.length).focus();
            } else if (ev.key === "Escape") {
                ev.stopPropagation();
                close();
            } else if (ev.key === "Tab") {
                state.isOpen = false;
            }
        },
    };
}
