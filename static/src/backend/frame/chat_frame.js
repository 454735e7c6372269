import { Component, useState } from "@odoo/owl";
import { LazyComponent, loadBundle } from "@web/core/assets";
import { CHAT_BUNDLE } from "./chat_bundle";

/** The chat, and its outline until its script is there. */
export class ChatFrame extends Component {
    static template = "woow_paas_platform.ChatFrame";
    static components = { LazyComponent };
    static props = {
        /** Of `AiChat`. */
        chat: Object,
        /** Called when the script cannot be had. */
        onFailed: { type: Function, optional: true },
    };

    setup() {
        this.bundle = CHAT_BUNDLE;
        this.state = useState({ isReady: false });
        this.load();
    }

    async load() {
        try {
            await loadBundle(CHAT_BUNDLE);
            this.state.isReady = true;
        } catch (error) {
            this.props.onFailed?.();
            throw error;
        }
    }
}
