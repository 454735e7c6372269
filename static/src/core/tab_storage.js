import { browser } from "@web/core/browser/browser";
import { user } from "@web/core/user";

/** The next person in this tab sees nothing of it. */
const own = (key) => `${key}.${user.userId}`;

/** @returns {Object} what this tab keeps under the key, {} if nothing can be read */
export function readFromTab(key) {
    try {
        return JSON.parse(browser.sessionStorage.getItem(own(key))) || {};
    } catch {
        return {};
    }
}

/** Without room, or without a storage in a private window, what is kept lives as long as the page. */
export function keepInTab(key, values) {
    try {
        browser.sessionStorage.setItem(own(key), JSON.stringify(values));
    } catch {
        // the caller has it
    }
}
