import { Component, onWillUnmount, useState } from "@odoo/owl";
import { browser } from "@web/core/browser/browser";
import { _t } from "@web/core/l10n/translation";
import { copyText } from "../core/clipboard";

/** Milliseconds for which the button says what became of it. */
const ECHO = 2000;

/** Copies a text and says so where it was clicked. */
export class CopyButton extends Component {
    static template = "woow_paas_platform.CopyButton";
    static props = {
        /** Gives the text when it is asked for. */
        getText: Function,
        label: [String, Object],
    };

    setup() {
        this.state = useState({ result: "" });
        onWillUnmount(() => browser.clearTimeout(this.timer));
    }

    get title() {
        return { copied: _t("Copied"), failed: _t("Your browser does not allow copying") }[
            this.state.result
        ];
    }

    get icon() {
        return { copied: "fa-check", failed: "fa-times" }[this.state.result] || "fa-clone";
    }

    async copy() {
        browser.clearTimeout(this.timer);
        this.state.result = (await copyText(this.props.getText())) ? "copied" : "failed";
        this.timer = browser.setTimeout(() => (this.state.result = ""), ECHO);
    }
}
