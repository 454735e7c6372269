import { Component } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { ActionMenu } from "../menu/action_menu";

/** Takes the conversation away: as text on the clipboard, as a file, or by a link for others. */
export class ExportMenu extends Component {
    static template = "woow_paas_platform.ExportMenu";
    static components = { ActionMenu };
    static props = {
        conversationId: Number,
        /** Copies the conversation as Markdown, and says what became of it. */
        onCopy: Function,
        /** (format): keeps it as a file, or says why that cannot be. */
        onDownload: Function,
    };

    get items() {
        const file = (format) => () => this.props.onDownload(format);
        return [
            { label: _t("Copy as Markdown"), icon: "fa-clone", act: this.props.onCopy },
            { label: _t("Markdown"), icon: "fa-file-text-o", act: file("markdown") },
            { label: _t("PDF"), icon: "fa-file-pdf-o", act: file("pdf") },
            { label: _t("JSON"), icon: "fa-file-code-o", act: file("json") },
            {
                label: _t("Share"),
                icon: "fa-share-alt",
                page: `/my/ai/${this.props.conversationId}/share`,
            },
        ];
    }
}
