import { markRaw } from "@odoo/owl";
import { Reactive } from "@web/core/utils/reactive";

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

    async add(name) {
        const folder = await this.api.addFolder(name);
        this.folders = this.sorted([...this.folders, folder]);
        return folder;
    }

    async rename(id, name) {
        const folder = await this.api.renameFolder(id, name);
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
