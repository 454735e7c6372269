import { browser } from "@web/core/browser/browser";

/** Where the page has no secure connection, browsers offer only the old way. */
function copyBySelection(text) {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "visually-hidden";
    document.body.append(area);
    const before = document.activeElement;
    area.select();
    try {
        return document.execCommand("copy");
    } finally {
        area.remove();
        before?.focus?.({ preventScroll: true });
    }
}

/** @returns {Promise<boolean>} whether the text is on the clipboard now */
export async function copyText(text) {
    try {
        await browser.navigator.clipboard.writeText(text);
        return true;
    } catch {
        return copyBySelection(text);
    }
}
