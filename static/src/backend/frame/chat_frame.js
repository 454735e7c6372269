import { Component, useState } from "@odoo/owl";
import { LazyComponent, loadBundle } from "@web/core/assets";
import { CHAT_BUNDLE } from "./chat_bundle";
import { useAnswerPoster } from "./post_answer";

/** The chat, and its outline until its script is there; where it cannot be had, a way to ask for it again. */
export class ChatFrame extends Component {
    static template = "woow_paas_platform.ChatFrame";
    static components = { LazyComponent };
    static props = {
        /** Of `AiChat`. */
        chat: Object,
    };

    setup() {
        this.bundle = CHAT_BUNDLE;
        this.onPost = useAnswerPoster();
        this.state = useState({ isReady: false, hasFailed: false });
        this.load();
    }

    get chatProps() {
        return { ...this.props.chat, onPost: this.onPost };
    }

    async load() {
        this.state.hasFailed = false;
        try {
            await loadBundle(CHAT_BUNDLE);
            this.state.isReady = true;
        } catch (error) {
            console.warn(error); // names the address
            this.state.hasFailed = true;
        }
    }
}
