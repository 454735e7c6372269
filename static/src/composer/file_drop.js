import { Component, useExternalListener, useState } from "@odoo/owl";

/** Takes files that are dropped anywhere on the chat around it; shown only while some are dragged over the page. */
export class FileDrop extends Component {
    static template = "woow_paas_platform.FileDrop";
    static props = { onDrop: Function };

    setup() {
        this.state = useState({ isDragged: false });
        this.isOfPage = false; // a picture of the page counts as a file, too
        useExternalListener(window, "dragstart", () => (this.isOfPage = true));
        useExternalListener(window, "dragend", () => (this.isOfPage = false));
        useExternalListener(window, "pointerdown", () => (this.isOfPage = false));
        useExternalListener(window, "dragover", (ev) => this.onDragOver(ev));
        useExternalListener(window, "dragleave", (ev) => this.onDragLeave(ev));
        useExternalListener(window, "drop", (ev) => this.onDrop(ev));
    }

    hasFiles(ev) {
        return !this.isOfPage && ev.dataTransfer?.types.includes("Files");
    }

    onDragOver(ev) {
        if (this.hasFiles(ev)) {
            ev.preventDefault(); // else the browser leaves the page for the file
            this.state.isDragged = true;
        }
    }

    onDragLeave(ev) {
        if (!ev.relatedTarget) {
            this.end();
        }
    }

    onDrop(ev) {
        this.end();
        if (this.hasFiles(ev)) {
            ev.preventDefault(); // the same
            // in Firefox the target may be a text
            if (ev.target.parentElement?.closest(".o_ai_chat")) {
                this.props.onDrop([...ev.dataTransfer.files]);
            }
        }
    }

    end() {
        this.state.isDragged = false;
    }
}
