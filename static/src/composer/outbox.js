import { keepInTab, readFromTab } from "../core/tab_storage";

const STORAGE_KEY = "woow_paas_platform.ai_chat.outbox";

/**
 * Messages that were sent and that the server has not answered yet, per conversation. The tab keeps them: when the
 * page is left or reloaded at that moment, the next one sends them again, and their token lets none arrive twice.
 *
 * @typedef {{token: string, text: string, editOf: number|null, steers: boolean, note: string|null, records: Object[], files: Object[]}} Unsent
 */
export class Outbox {
    constructor() {
        /** @type {Object<string, Unsent[]>} */
        this.kept = readFromTab(STORAGE_KEY);
    }

    /** @returns {number[]} the conversations that have some */
    get conversationIds() {
        return Object.keys(this.kept).map(Number);
    }

    /** @returns {Unsent[]} */
    of(id) {
        return this.kept[id] || [];
    }

    /** @param {import("../thread/chat_message").ChatMessage} message files that the server does not have are left out */
    add(id, { pending, ...message }) {
        const files = pending.map(({ kept }) => kept).filter(Boolean);
        this.replace(id, message.token, [{ ...message, files }]);
    }

    remove(id, { token }) {
        this.replace(id, token, []);
    }

    replace(id, token, entries) {
        const unsent = [...this.of(id).filter((entry) => entry.token !== token), ...entries];
        if (unsent.length) {
            this.kept[id] = unsent;
        } else {
            delete this.kept[id];
        }
        keepInTab(STORAGE_KEY, this.kept);
    }
}
