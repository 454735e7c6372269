import { Component, useEffect, useRef } from "@odoo/owl";

/** Where the person writes. The text belongs to the owner, so that a draft outlives the view. */
export class Composer extends Component {
    static template = "woow_paas_platform.Composer";
    static props = {
        text: String,
        /** Changes when another conversation is shown: the focus goes to the input then. */
        focusKey: { type: [String, Number], optional: true },
        placeholder: { type: [String, Object], optional: true },
        isDisabled: { type: Boolean, optional: true },
        /** The message is on its way. */
        isBusy: { type: Boolean, optional: true },
        /** A turn runs: it can be stopped, and the next message has to wait. */
        isRunning: { type: Boolean, optional: true },
        isStopping: { type: Boolean, optional: true },
        onInput: Function,
        onSend: Function,
        onStop: { type: Function, optional: true },
    };

    setup() {
        this.input = useRef("input");
        useEffect(
            () => this.fit(),
            () => [this.props.text]
        );
        useEffect(
            () => this.focus(),
            () => [this.props.focusKey, this.props.isDisabled]
        );
    }

    /** As high as its text; the style sheet sets the limit. */
    fit() {
        const { el } = this.input;
        el.style.height = "auto";
        el.style.height = `${el.scrollHeight}px`;
    }

    /** Not on touch screens, where the keyboard would cover half of what there is to read. */
    focus() {
        if (!window.matchMedia("(pointer: coarse)").matches) {
            this.input.el.focus({ preventScroll: true });
        }
    }

    get canSend() {
        const { text, isDisabled, isBusy, isRunning } = this.props;
        return Boolean(text.trim()) && !isDisabled && !isBusy && !isRunning;
    }

    send() {
        if (this.canSend) {
            this.props.onSend(this.props.text);
            this.input.el.focus({ preventScroll: true });
        }
    }

    onKeydown(ev) {
        // 229 is what Safari reports for the Enter that ends a composition
        const isComposing = ev.isComposing || ev.keyCode === 229;
        if (ev.key === "Enter" && !ev.shiftKey && !isComposing) {
            ev.preventDefault();
            this.send();
        }
    }
}
