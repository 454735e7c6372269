import { markRaw, toRaw } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { uuid } from "@web/core/utils/strings";
import { Reactive } from "@web/core/utils/reactive";
import { formatSize } from "../core/format";
import { keepInTab, readFromTab } from "../core/tab_storage";

const STORAGE_KEY = "woow_paas_platform.ai_chat.files";
/** Bytes of one file, and files of one message; the server has the last word. */
export const MAX_BYTES = 8 * 1024 * 1024;
export const MAX_FILES = 10;
/** Characters of a message that somebody types, and of what is pasted into it; the server takes no more. */
export const MAX_TEXT = 32_000;
const MAX_PASTED = 10_000;

/** Whether a text that is pasted is better read as a file. */
export const isLong = (text) => text.length > MAX_PASTED;

/** A text as a file. */
export function fileOf(text) {
    return new File([text], `${_t("Pasted text")}.txt`, { type: "text/plain" });
}

/**
 * @typedef {Object} PendingFile a file that waits for its message
 * @property {string} key
 * @property {string} name
 * @property {number} [size] bytes
 * @property {File} [file] that the person chose, until the server has it
 * @property {number} [progress] how much of it was sent, from 0 to 1
 * @property {string} [failure] why it did not arrive; it may be tried again
 * @property {Object} [kept] as the server has it, once it is there: {id, name, mimetype, url, pages?, source?}
 */

/**
 * Files that were chosen and not sent, per conversation; `null` is the new chat. Each goes to the server at once, one
 * after the other. What has arrived lives as long as the tab, the rest as long as the page.
 */
export class PendingFiles extends Reactive {
    /** @param {import("../core/ai_api").AiApi} api */
    constructor(api) {
        super();
        this.api = markRaw(api);
        this.files = readFromTab(STORAGE_KEY);
        /** Why the last ones were not taken, one line each, and of which conversation. */
        this.refusal = { id: null, sentences: [] };
        /** What happened last, for who hears the page. */
        this.status = "";
        this.uploads = markRaw(new Map());
        this.line = Promise.resolve();
    }

    of(id) {
        return this.files[id] || [];
    }

    /** Why the last ones of this conversation were not taken, or "". */
    errorOf(id) {
        return this.refusal.id === id ? this.refusal.sentences.join("\n") : "";
    }

    refuse(id, sentence) {
        const others = this.refusal.id === id ? this.refusal.sentences : [];
        this.refusal = { id, sentences: [...others, sentence] };
    }

    /** Takes back why the last ones were not taken. */
    clearRefusal(id) {
        this.refusal = { id, sentences: [] };
    }

    /** Whether all of them can be sent. */
    isReady(id) {
        return this.of(id).every(({ kept }) => kept);
    }

    isSending(id) {
        return this.of(id).some((entry) => entry.file && !entry.failure);
    }

    /** Waits until each has arrived or failed. */
    async settle(id) {
        while (this.isSending(id)) {
            await this.line;
        }
    }

    set(id, entries) {
        if (entries.length) {
            this.files[id] = entries;
        } else {
            delete this.files[id];
        }
        this.save();
    }

    save() {
        const kept = Object.entries(toRaw(this.files)).map(([id, entries]) => [
            id,
            entries.filter((entry) => entry.kept),
        ]);
        keepInTab(STORAGE_KEY, Object.fromEntries(kept.filter(([, entries]) => entries.length)));
    }

    /** @returns {string[]} keys of those that are on their way */
    add(id, files) {
        this.clearRefusal(id);
        const keys = [];
        for (const file of files) {
            if (!this.hasRoom(id)) {
                break;
            }
            if (file.size > MAX_BYTES) {
                const values = { name: file.name, limit: formatSize(MAX_BYTES) };
                this.refuse(
                    id,
                    _t("“%(name)s” is too large. Attachments can be up to %(limit)s.", values)
                );
            } else {
                const { name, size } = file;
                const entry = { key: uuid(), name, size, file, progress: 0, failure: "" };
                this.set(id, [...this.of(id), entry]);
                this.send(entry.key);
                keys.push(entry.key);
            }
        }
        return keys;
    }

    /** @returns {Promise<boolean>} whether the server has the text as a file; if not, the person is told why */
    async addText(id, text) {
        const [key] = this.add(id, [fileOf(text)]);
        await this.line;
        const hasArrived = Boolean(key && this.find(key)?.kept);
        if (key && !hasArrived) {
            this.drop(key); // the text is where it was
        }
        return hasArrived;
    }

    /** Files that the server has already. */
    addKept(id, files) {
        for (const file of files) {
            if (this.hasRoom(id)) {
                this.set(id, [...this.of(id), { key: uuid(), name: file.name, kept: file }]);
            }
        }
    }

    /**
     * Files that a server sent, as far as they can be attached.
     *
     * @param {string} name of what they belong to
     * @param {{attachments: Object[], left_out: number}} sent `left_out`: how many cannot
     */
    addSent(id, name, { attachments, left_out: count }) {
        this.clearRefusal(id);
        this.addKept(id, attachments);
        if (count) {
            this.refuse(
                id,
                _t(
                    "Some parts of “%(name)s” were not attached (%(count)s). Only text and images can be attached, up to ten.",
                    { count, name }
                )
            );
        }
    }

    // On the way ---------------------------------------------------------------

    /** Sends a file when those before it are through. */
    send(key) {
        this.line = this.line.then(() => this.upload(key));
    }

    retry(key) {
        this.clearRefusal(this.placeOf(key));
        Object.assign(this.find(key), { progress: 0, failure: "" });
        this.send(key);
    }

    /** A new chat may become a conversation meanwhile, so it is looked for wherever it is now. */
    find(key) {
        return Object.values(this.files)
            .flat()
            .find((entry) => entry.key === key);
    }

    /** @returns {number|null|undefined} the conversation that the file waits in */
    placeOf(key) {
        const has = ([, entries]) => entries.some((entry) => entry.key === key);
        const place = Object.entries(this.files).find(has)?.[0];
        return place && (Number(place) || null);
    }

    async upload(key) {
        const entry = this.find(key);
        if (!entry) {
            return; // taken away before its turn came
        }
        const controller = new AbortController();
        this.uploads.set(key, controller);
        try {
            const kept = await this.api.upload(entry.file, {
                signal: controller.signal,
                onProgress: (sent) => (entry.progress = sent),
            });
            this.arrived(key, kept);
        } catch (error) {
            this.failed(key, error);
        } finally {
            this.uploads.delete(key);
        }
    }

    arrived(key, kept) {
        const entry = this.find(key);
        if (!entry) {
            this.discard(kept);
            return;
        }
        Object.assign(entry, { kept, file: null });
        this.status = _t("“%(name)s” is attached.", { name: entry.name });
        this.save();
    }

    /** What may succeed later stays to be tried again; what the server refuses goes, with the reason. */
    failed(key, error) {
        const entry = this.find(key);
        if (!entry || error.isAborted) {
            return;
        }
        const values = { name: entry.name, reason: error.message };
        this.refuse(this.placeOf(key), _t("“%(name)s” was not attached. %(reason)s", values));
        if (error.isTemporary || error.isSignedOut) {
            Object.assign(entry, { failure: error.message, isSignedOut: error.isSignedOut });
        } else {
            this.drop(key);
        }
    }

    /** @returns {PendingFile|undefined} what was taken out */
    drop(key) {
        for (const [id, entries] of Object.entries(this.files)) {
            const dropped = entries.find((entry) => entry.key === key);
            if (dropped) {
                this.set(
                    id,
                    entries.filter((entry) => entry.key !== key)
                );
                return dropped;
            }
        }
    }

    /** A file of a server belongs to its conversation; one of the person is of no use to anybody else. */
    discard(kept) {
        if (!kept.source) {
            this.api.discard(kept.id).catch(() => {}); // else it goes within a day
        }
    }

    // For a message -------------------------------------------------------------

    /** @returns {boolean} whether one more file fits; if not, the person is told */
    hasRoom(id) {
        const hasRoom = this.of(id).length < MAX_FILES;
        if (!hasRoom) {
            const values = { limit: MAX_FILES };
            this.refuse(id, _t("You can attach up to %(limit)s files at once.", values));
        }
        return hasRoom;
    }

    /** Puts files back that were taken. */
    restore(id, pending) {
        this.set(id, [...pending, ...this.of(id)]);
    }

    remove(id, key) {
        this.clearRefusal(id);
        const removed = this.drop(key);
        this.uploads.get(key)?.abort();
        if (removed?.kept) {
            this.discard(removed.kept);
        }
    }

    /** Gives the files away: a message takes them along. */
    take(id) {
        const taken = this.of(id);
        this.set(id, []);
        this.clearRefusal(id);
        this.status = "";
        return taken;
    }
}
