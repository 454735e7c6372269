import { useExternalListener } from "@odoo/owl";
import { isMacOS } from "@web/core/browser/feature_detection";
import { _t } from "@web/core/l10n/translation";
import { registry } from "@web/core/registry";
import { pressedKey } from "../core/keys";

const SHORTCUTS = [
    { action: "search", key: "k", isMod: true, about: _t("Search conversations") },
    { action: "startNew", key: "o", isMod: true, isShift: true, about: _t("New chat") },
    { action: "write", key: "escape", isShift: true, about: _t("Go to the message input") },
];

/** In the backend these keys open Odoo's own palette. */
function hasPalette() {
    return registry.category("services").contains("command");
}

/** @returns {string} what the keys that are pressed mean here, else empty */
export function actionOf(ev, { isMac = isMacOS(), isOurs = !hasPalette() } = {}) {
    const isMod = isMac ? ev.metaKey : ev.ctrlKey;
    const isOther = ev.altKey || (isMac ? ev.ctrlKey : ev.metaKey);
    const found = SHORTCUTS.find(
        (one) =>
            one.key === ev.key.toLowerCase() &&
            Boolean(one.isMod) === isMod &&
            Boolean(one.isShift) === ev.shiftKey
    );
    return !found || isOther || (found.action === "search" && !isOurs) ? "" : found.action;
}

/** @returns {{name: string, about: string}[]} for a list of them */
export function shortcutRows({ isMac = isMacOS(), isOurs = !hasPalette() } = {}) {
    const rows = SHORTCUTS.filter(({ action }) => isOurs || action !== "search").map(
        ({ key, isMod, isShift, about }) => ({
            name: [
                isMod && (isMac ? "⌘" : "Ctrl"),
                isShift && "Shift",
                key === "escape" ? "Esc" : key.toUpperCase(),
            ]
                .filter(Boolean)
                .join("+"),
            about,
        })
    );
    return [...rows, { name: "Esc", about: _t("Stop generating") }];
}

/**
 * @param {{el: HTMLElement|null}} root where the keys count; on a page of its own also where nothing has the focus
 * @param {() => boolean} isPage
 * @param {Object<string, () => void>} actions what each does, by name
 */
export function useShortcuts(root, isPage, actions) {
    useExternalListener(window, "keydown", (ev) => {
        const action = pressedKey(ev) && actionOf(ev);
        const isHere = root.el?.contains(ev.target) || (isPage() && ev.target === document.body);
        if (action && isHere && !ev.defaultPrevented && !ev.repeat) {
            ev.preventDefault();
            actions[action]();
        }
    });
}
