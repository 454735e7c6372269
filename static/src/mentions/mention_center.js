import { toRaw } from "@odoo/owl";
import { browser } from "@web/core/browser/browser";
import { Reactive } from "@web/core/utils/reactive";
import { keepInTab, readFromTab } from "../core/tab_storage";
import { isNamed, isSame, withoutMention } from "./mention_text";

/** Records of one message; the server has the last word. */
export const MAX_RECORDS = 8;
/** Milliseconds of rest before somebody who types is offered something else. */
export const SEARCH_DELAY = 150;
const STORAGE_KEY = "woow_paas_platform.ai_chat.mentions";
const NEW = "new";

/**
 * @typedef {Object} MentionedRecord
 * @property {string} model
 * @property {number} id
 * @property {string} name
 * @property {string} [label] of the model
 * @property {string|null} [image]
 */

/**
 * Records that the person attaches by `@` and their names: what is offered, and what is attached to what is being
 * written, per conversation. It stays attached as long as the text names it, and as long as the tab.
 */
export class MentionCenter extends Reactive {
    /** @param {import("../ai_chat/ai_chat_service").AiChatStore} chat */
    constructor(chat) {
        super();
        this.chat = chat;
        /** @type {Object<string, MentionedRecord[]>} */
        this.records = readFromTab(STORAGE_KEY);
        /** What is being looked for; empty: nothing. */
        this.query = "";
        /** The assistant that `query` is looked for with. */
        this.searcherId = undefined;
        /** @type {MentionedRecord[]} */
        this.found = [];
        /** The last search that found nothing: {assistantId, query}. */
        this.hopeless = null;
    }

    of(id) {
        return this.records[id ?? NEW] || [];
    }

    /** To what is being written now. */
    get attached() {
        return this.of(this.chat.currentId);
    }

    get assistantId() {
        const { thread, newChat } = this.chat;
        return thread ? thread.assistant?.id : newChat.assistantId;
    }

    // What is offered --------------------------------------------------------

    /** Until the answer is there, what was found before is offered as far as its name fits. */
    async search(query) {
        const { assistantId } = this;
        if (this.isCurrent(assistantId, query)) {
            return;
        }
        const words = query.toLowerCase();
        const isSameAssistant = assistantId === this.searcherId;
        this.found =
            query && isSameAssistant
                ? this.found.filter((one) => one.name.toLowerCase().includes(words))
                : [];
        Object.assign(this, { query, searcherId: assistantId });
        if (!query || !assistantId || this.isHopeless(assistantId, words)) {
            return;
        }
        await new Promise((resolve) => browser.setTimeout(resolve, SEARCH_DELAY));
        if (this.isCurrent(assistantId, query)) {
            await this.read(assistantId, query);
        }
    }

    /** For an assistant that is known or chosen only now. */
    searchAgain() {
        return this.search(this.query);
    }

    isCurrent(assistantId, query) {
        return query === this.query && assistantId === this.searcherId;
    }

    async read(assistantId, query) {
        let found = [];
        try {
            found = await this.chat.api.records(assistantId, query);
            if (!found.length) {
                this.hopeless = { assistantId, words: query.toLowerCase() };
            }
        } catch {
            // nothing is offered, and the next letter asks again
        }
        if (this.isCurrent(assistantId, query)) {
            const isFull = this.attached.length >= MAX_RECORDS;
            this.found = isFull ? [] : found;
        }
    }

    /** Where nothing has these letters in its name, nothing has them and more. */
    isHopeless(assistantId, words) {
        const { hopeless } = this;
        return hopeless?.assistantId === assistantId && words.startsWith(hopeless.words);
    }

    // What is attached -------------------------------------------------------

    attach(record) {
        this.search("");
        const { currentId } = this.chat;
        const others = this.of(currentId).filter((one) => !isSame(one, record));
        this.replace(currentId, [...others, toRaw(record)].slice(-MAX_RECORDS));
    }

    /** @returns {string} the text without the sign that attached it */
    remove(record, text) {
        const { currentId } = this.chat;
        this.replace(
            currentId,
            this.of(currentId).filter((one) => !isSame(one, record))
        );
        return withoutMention(text, record);
    }

    /** What the text no longer names goes. */
    keepNamed(id, text) {
        const kept = this.of(id).filter((record) => isNamed(text, record));
        if (kept.length < this.of(id).length) {
            this.replace(id, kept);
        }
    }

    /** Gives the records away: a message takes them along. */
    take(id) {
        const taken = this.of(id);
        this.replace(id, []);
        return taken;
    }

    /** Puts records back that were taken. */
    restore(id, records) {
        const others = this.of(id).filter((one) => !records.some((other) => isSame(one, other)));
        this.replace(id, [...records, ...others].slice(0, MAX_RECORDS));
    }

    replace(id, records) {
        if (records.length) {
            this.records[id ?? NEW] = records;
        } else {
            delete this.records[id ?? NEW];
        }
        keepInTab(STORAGE_KEY, toRaw(this.records));
    }
}
