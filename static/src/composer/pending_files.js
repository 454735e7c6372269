import { _t } from "@web/core/l10n/translation";
import { uuid } from "@web/core/utils/strings";
import { Reactive } from "@web/core/utils/reactive";

/** Bytes of one file, and files of one message; the server has the last word. */
export const MAX_BYTES = 8 * 1024 * 1024;
export const MAX_FILES = 10;

/**
 * @typedef {Object} PendingFile a file that waits for its message
 * @property {string} key
 * @property {string} name
 * @property {File} [file] that the person chose
 * @property {Object} [kept] as the server has it, once it is there: {id, name, mimetype, url, source?}
 */

/** @returns {Promise<string>} base64 */
function contentOf(file) {
    return new Promise((resolve, reject) => {
        const reader = new FileReader();
        reader.onload = () => resolve(reader.result.split(",")[1] || "");
        reader.onerror = () => reject(unreadable(file));
        reader.readAsDataURL(file);
    });
}

function unreadable({ name }) {
    return new Error(_t("“%(name)s” can no longer be read. Select it again.", { name }));
}

/** Brings files to the server, one after the other; those that are there already are not sent again. */
export async function keepFiles(api, conversationId, pending) {
    for (const entry of pending) {
        entry.kept ??= await api.attach(conversationId, {
            name: entry.name,
            data: await contentOf(entry.file),
        });
    }
    return pending.map(({ kept }) => kept);
}

/** Files that were chosen and not sent, per conversation; `null` is the new chat. Lives as long as the page. */
export class PendingFiles extends Reactive {
    constructor() {
        super();
        this.files = {};
        /** Why the last ones were not taken, or "". */
        this.error = "";
    }

    of(id) {
        return this.files[id] || [];
    }

    add(id, files) {
        this.error = "";
        for (const file of files) {
            if (!this.hasRoom(id)) {
                break;
            }
            if (file.size > MAX_BYTES) {
                this.error = _t("“%(name)s” is too large. Attachments can be up to 8 MB.", {
                    name: file.name,
                });
            } else {
                this.files[id] = [...this.of(id), { key: uuid(), name: file.name, file }];
            }
        }
    }

    /** Files that the server has already. */
    addKept(id, files) {
        for (const file of files) {
            if (this.hasRoom(id)) {
                this.files[id] = [...this.of(id), { key: uuid(), name: file.name, kept: file }];
            }
        }
    }

    /** @returns {boolean} whether one more file fits; if not, the person is told */
    hasRoom(id) {
        const hasRoom = this.of(id).length < MAX_FILES;
        if (!hasRoom) {
            this.error = _t("You can attach up to %(limit)s files to a message.", {
                limit: MAX_FILES,
            });
        }
        return hasRoom;
    }

    /** Puts files back that were taken. */
    restore(id, pending) {
        this.files[id] = [...pending, ...this.of(id)];
    }

    remove(id, key) {
        this.error = "";
        this.files[id] = this.of(id).filter((file) => file.key !== key);
    }

    /** Gives the files away: a message takes them along. */
    take(id) {
        const taken = this.of(id);
        delete this.files[id];
        this.error = "";
        return taken;
    }
}
