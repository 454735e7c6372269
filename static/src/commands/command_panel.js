import { Component } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { RequestError } from "../core/try_again";
import { CompletedForm } from "./completed_form";
import { isTouch, pressedKey } from "../core/keys";

/** What a slash command shows, above the place where it was typed. */
export class CommandPanel extends Component {
    static template = "woow_paas_platform.CommandPanel";
    static components = { CompletedForm, RequestError };
    static props = {
        /** See CommandCenter. */
        center: Object,
        /** The form is about to go. */
        onDone: Function,
    };

    get submitLabel() {
        return _t("Use this prompt");
    }

    complete(name, value, others) {
        const { center } = this.props;
        return center.complete(center.prompt, name, value, others);
    }

    async fill(values) {
        const { center, onDone } = this.props;
        await center.fill(center.prompt, values);
        if (!center.prompt) {
            onDone();
        }
    }

    close() {
        this.props.center.dismiss();
        if (!isTouch()) {
            this.props.onDone();
        }
    }

    onKeydown(ev) {
        if (pressedKey(ev) === "Escape") {
            ev.stopPropagation();
            this.close();
        }
    }
}
