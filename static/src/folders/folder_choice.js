import { Component, useState } from "@odoo/owl";
import { Dialog } from "@web/core/dialog/dialog";

/** Asks into which folder conversations are moved; a new one can be named. */
export class FolderChoice extends Component {
    static template = "woow_paas_platform.FolderChoice";
    static components = { Dialog };
    static props = {
        /** What is moved. */
        what: String,
        /** See FolderIndex; one that is being added is listed once it is there. */
        folders: Object,
        /** (name); resolves to the new folder, or to nothing: the person was told why. */
        onAdd: Function,
        /** (id), null for none */
        onChoose: Function,
        close: Function,
    };

    setup() {
        this.index = useState(this.props.folders);
        this.state = useState({ name: "" });
    }

    choose(id) {
        this.props.onChoose(id);
        this.props.close();
    }

    async add() {
        const folder = this.state.name.trim() && (await this.props.onAdd(this.state.name.trim()));
        if (folder) {
            this.choose(folder.id);
        }
    }
}
