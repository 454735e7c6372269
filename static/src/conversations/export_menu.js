import { Component } from "@odoo/owl";
import { useMenu } from "./use_menu";
import { exportUrl } from "../core/ai_api";

/** Takes the conversation away: as text on the clipboard, or as a file. */
export class ExportMenu extends Component {
    static template = "woow_paas_platform.ExportMenu";
    static props = {
        conversationId: Number,
        /** Copies the conversation as Markdown, and says what became of it. */
        onCopy: Function,
    };

    setup() {
        this.menu = useMenu("o_ai_chat_export_");
    }

    url(format) {
        return exportUrl(this.props.conversationId, format);
    }

    copy() {
        this.menu.close();
        this.props.onCopy();
    }
}
