import { useEffect } from "@odoo/owl";

/** @returns {string} the key that was pressed; "" while an input method composes text, which has all keys then */
export function pressedKey(ev) {
    // 229 is what Safari reports for the key that ends a composition
    return ev.isComposing || ev.keyCode === 229 ? "" : ev.key;
}

/** @returns {boolean} whether a finger writes: a field with the focus opens a keyboard over the page */
export const isTouch = () => window.matchMedia("(pointer: coarse)").matches;

/**
 * Gives the focus back to what has opened a form, once the form is gone with the focus in it.
 *
 * @param {() => any} getOpen tells which form is open; null or false: none
 * @param {(open: any) => HTMLElement|null|undefined} getOpener
 */
export function useFocusBack(getOpen, getOpener) {
    useEffect(
        (open) => () => {
            const wasOpen = open !== null && open !== false;
            if (wasOpen && document.activeElement === document.body) {
                getOpener(open)?.focus();
            }
        },
        () => [getOpen()]
    );
}
