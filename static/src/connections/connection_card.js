import { Component, useRef, useState } from "@odoo/owl";
import { ConfirmationDialog } from "@web/core/confirmation_dialog/confirmation_dialog";
import { _t } from "@web/core/l10n/translation";
import { useAutofocus, useService } from "@web/core/utils/hooks";
import { formatMomentFull } from "../core/format";
import { attempt, RequestError } from "../core/try_again";
import { pressedKey, useFocusBack } from "../core/keys";

/** One shared server, and the person's key for it. */
export class ConnectionCard extends Component {
    static template = "woow_paas_platform.ConnectionCard";
    static components = { RequestError };
    static props = {
        /** `{server, has_key, key_since}` */
        connection: Object,
        /** (server, apiKey); rejects with the sentence to show. */
        onKeep: Function,
        /** (server) */
        onForget: Function,
    };

    setup() {
        this.dialog = useService("dialog");
        this.key = useRef("key");
        this.editButton = useRef("edit");
        useAutofocus({ refName: "key" });
        this.state = useState({ isEditing: false, isBusy: false, error: "" });
        useFocusBack(
            () => this.state.isEditing,
            () => this.editButton.el
        );
    }

    get since() {
        return _t("Your key, added on %(date)s", {
            date: formatMomentFull(this.props.connection.key_since),
        });
    }

    change(action) {
        return attempt(this.state, async () => {
            await action();
            this.state.isEditing = false;
        });
    }

    keep() {
        return this.change(() =>
            this.props.onKeep(this.props.connection.server, this.key.el.value)
        );
    }

    forget() {
        const { server } = this.props.connection;
        this.dialog.add(ConfirmationDialog, {
            title: _t("Remove your key?"),
            body: _t("“%(name)s” cannot be used in your chats until you add a key again.", {
                name: server.title || server.name,
            }),
            confirmLabel: _t("Remove"),
            confirmClass: "btn-danger",
            confirm: () => this.change(() => this.props.onForget(server)),
            cancel: () => {},
        });
    }

    onKeydown(ev) {
        if (pressedKey(ev) === "Escape") {
            this.state.isEditing = false;
        }
    }
}
