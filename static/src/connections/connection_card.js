import { Component, useRef, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { useAutofocus } from "@web/core/utils/hooks";
import { formatMomentFull } from "../core/format";

/** One shared server, and the person's key for it. */
export class ConnectionCard extends Component {
    static template = "woow_paas_platform.ConnectionCard";
    static props = {
        /** `{server, has_key, key_since}` */
        connection: Object,
        /** (server, apiKey); rejects with the sentence to show. */
        onKeep: Function,
        /** (server) */
        onForget: Function,
    };

    setup() {
        this.key = useRef("key");
        useAutofocus({ refName: "key" });
        this.state = useState({ isEditing: false, isBusy: false, error: "" });
    }

    get since() {
        return _t("Your key, added on %(date)s", {
            date: formatMomentFull(this.props.connection.key_since),
        });
    }

    async attempt(action) {
        Object.assign(this.state, { isBusy: true, error: "" });
        try {
            await action();
            this.state.isEditing = false;
        } catch (error) {
            this.state.error = error.message;
        }
        this.state.isBusy = false;
    }

    keep() {
        return this.attempt(() =>
            this.props.onKeep(this.props.connection.server, this.key.el.value)
        );
    }

    forget() {
        return this.attempt(() => this.props.onForget(this.props.connection.server));
    }

    onKeydown(ev) {
        if (ev.key === "Escape") {
            this.state.isEditing = false;
        }
    }
}
