import { Component } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";

/** What a folder holds for the chat on the screen, in one quiet line. */
export class FolderLine extends Component {
    static template = "woow_paas_platform.FolderLine";
    static props = {
        folder: Object,
        /** Shows the whole. */
        onOpen: Function,
    };

    get label() {
        const { instructions, files, name } = this.props.folder;
        const count = files.length;
        const held = [
            instructions ? _t("instructions") : "",
            count === 1 ? _t("1 file") : count ? _t("%(count)s files", { count }) : "",
        ].filter(Boolean);
        return held.length
            ? _t("Folder “%(name)s” applies: %(held)s", { name, held: held.join(" · ") })
            : _t("In folder “%(name)s”", { name });
    }
}
