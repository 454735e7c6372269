import { Component } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { exportUrl } from "../core/ai_api";
import { ActionMenu } from "../menu/action_menu";

/** Takes the conversation away: as text on the clipboard, or as a file. */
export class ExportMenu extends Component {
    static template = "woow_paas_platform.ExportMenu";
    static components = { ActionMenu };
    static props = {
        conversationId: Number,
        /** Copies the conversation as Markdown, and says what became of it. */
        onCopy: Function,
    };

    get items() {
        const file = (format) => exportUrl(this.props.conversationId, format);
        return [
            { label: _t("Copy as Markdown"), icon: "fa-clone", act: this.props.onCopy },
            { label: _t("Markdown"), icon: "fa-file-text-o", url: file("markdown") },
            { label: _t("JSON"), icon: "fa-file-code-o", url: file("json") },
        ];
    }
}
