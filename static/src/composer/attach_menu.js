import { Component, useRef } from "@odoo/owl";
import { isTouch } from "../core/keys";
import { useMenu } from "../menu/use_menu";

/** What the server takes; it decides by the content, so this only helps to choose. */
export const ACCEPTED = [
    "image/png,image/jpeg,image/gif,image/webp",
    "application/pdf,.pdf,.docx,.pptx,.xlsx",
    "text/*,.txt,.md,.csv,.json,.xml,.yaml,.yml,.sql,.log",
].join();

/** The paper clip: files of the person, or something that a server has. */
export class AttachMenu extends Component {
    static template = "woow_paas_platform.AttachMenu";
    static props = {
        isDisabled: { type: Boolean, optional: true },
        onFiles: Function,
        onServer: Function,
    };

    setup() {
        this.menu = useMenu("o_ai_chat_attach_");
        this.file = useRef("file");
        this.picture = useRef("picture");
        this.accepted = ACCEPTED;
        /** A phone offers its camera for pictures only. */
        this.isTouch = isTouch();
    }

    chooseFiles() {
        this.menu.state.isOpen = false;
        this.file.el.click();
    }

    choosePicture() {
        this.menu.state.isOpen = false;
        this.picture.el.click();
    }

    chooseServer() {
        this.menu.state.isOpen = false;
        this.props.onServer();
    }

    onChange(ev) {
        this.props.onFiles([...ev.target.files]);
        ev.target.value = ""; // so that the same file can be chosen again
    }
}
