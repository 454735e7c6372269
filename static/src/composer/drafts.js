import { toRaw } from "@odoo/owl";
import { Reactive } from "@web/core/utils/reactive";
import { keepInTab, readFromTab } from "../core/tab_storage";

const STORAGE_KEY = "woow_paas_platform.ai_chat.drafts";
const NEW = "new";

/** What was written and not sent, per conversation; `null` is the new chat. Lives as long as the tab. */
export class Drafts extends Reactive {
    constructor() {
        super();
        this.texts = readFromTab(STORAGE_KEY);
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
        keepInTab(STORAGE_KEY, toRaw(this.texts));
    }
}
