import { toRaw } from "@odoo/owl";
import { browser } from "@web/core/browser/browser";
import { Reactive } from "@web/core/utils/reactive";

const STORAGE_KEY = "woow_paas_platform.ai_chat.drafts";
const NEW = "new";

function readDrafts() {
    try {
        return JSON.parse(browser.sessionStorage.getItem(STORAGE_KEY)) || {};
    } catch {
        return {};
    }
}

/** What was written and not sent, per conversation; `null` is the new chat. Lives as long as the tab. */
export class Drafts extends Reactive {
    constructor() {
        super();
        this.texts = readDrafts();
    }

    get(id) {
        return this.texts[id ?? NEW] || "";
    }

    /** The new chat's draft becomes that of the conversation that it has become. */
    adopt(id) {
        this.set(id, this.get(null));
        this.set(null, "");
    }

    set(id, text) {
        const key = id ?? NEW;
        if (text) {
            this.texts[key] = text;
        } else {
            delete this.texts[key];
        }
        try {
            browser.sessionStorage.setItem(STORAGE_KEY, JSON.stringify(toRaw(this.texts)));
        } catch {
            // no room, or no storage in a private window: the draft lives as long as the page
        }
    }
}
