import { markRaw } from "@odoo/owl";
import { Reactive } from "@web/core/utils/reactive";

/** @param {Object} [one] {model, id} of a record, as the other */
export const isSameRecord = (one, other) => one?.model === other?.model && one?.id === other?.id;

/** The person's folders, by name. */
export class FolderIndex extends Reactive {
    /** @param {import("../core/ai_api").AiApi} api */
    constructor(api) {
        super();
        this.api = markRaw(api);
        this.folders = [];
    }

    find(id) {
        return this.folders.find((folder) => folder.id === id);
    }

    /** Without an answer the conversations can still be read, in no order but their own. */
    async load() {
        try {
            this.folders = await this.api.folders();
        } catch {
            // what is known stays
        }
    }

    /** The one about a record. */
    about(record) {
        return this.folders.find((folder) => isSameRecord(folder.record, record));
    }

    /** @param {{record?: Object}} [values] what holds for its conversations */
    async add(name, values) {
        const folder = await this.api.addFolder(name, values);
        this.folders = this.sorted([...this.folders, folder]);
        return folder;
    }

    /** @param {Object} values see `AiApi.changeFolder` */
    async change(id, values) {
        const folder = await this.api.changeFolder(id, values);
        this.folders = this.sorted(this.folders.map((one) => (one.id === id ? folder : one)));
    }

    async remove(id) {
        await this.api.deleteFolder(id);
        this.folders = this.folders.filter((one) => one.id !== id);
    }

    sorted(folders) {
        return folders.sort((a, b) => a.name.localeCompare(b.name));
    }
}
