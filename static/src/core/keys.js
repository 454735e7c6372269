/** @returns {string} the key that was pressed; "" while an input method composes text, which has all keys then */
export function pressedKey(ev) {
    // 229 is what Safari reports for the key that ends a composition
    return ev.isComposing || ev.keyCode === 229 ? "" : ev.key;
}
