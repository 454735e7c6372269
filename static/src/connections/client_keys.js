import { Component, onWillStart, useRef, useState } from "@odoo/owl";
import { ConfirmationDialog } from "@web/core/confirmation_dialog/confirmation_dialog";
import { _t } from "@web/core/l10n/translation";
import { useAutofocus, useService } from "@web/core/utils/hooks";
import { copyText } from "../core/clipboard";
import { formatMomentFull } from "../core/format";
import { McpApi } from "../core/mcp_api";
import { RequestError, attempt } from "../core/try_again";
import { ConnectClient } from "./connect_client";
import { pressedKey, useFocusBack } from "../core/keys";

const USUAL_DAYS = 90;

/** MCP clients, such as an editor or a desktop chat, that use a person's tools in Odoo: connected ones, and keys. */
export class ClientKeys extends Component {
    static template = "woow_paas_platform.ClientKeys";
    static components = { ConnectClient, RequestError };
    static props = {};

    setup() {
        this.api = new McpApi();
        this.dialog = useService("dialog");
        useAutofocus({ refName: "name" });
        this.newButton = useRef("new");
        this.usualDays = USUAL_DAYS;
        /** `made`: the key that was just made, which nobody can show again. */
        this.state = useState({
            clients: [],
            keys: [],
            days: [],
            url: "",
            gateways: [],
            chosen: "",
            isMaking: false,
            isBusy: false,
            made: "",
            copied: "",
            error: null,
        });
        useFocusBack(
            () => this.state.isMaking,
            () => this.newButton.el
        );
        onWillStart(() => this.attempt(() => this.load()));
    }

    attempt(action) {
        return attempt(this.state, action);
    }

    async load() {
        Object.assign(this.state, await this.api.clientKeys());
    }

    make(ev) {
        const { name, days, password } = ev.target.elements;
        const values = { name: name.value, days: Number(days.value), password: password.value };
        return this.attempt(async () => {
            this.state.made = await this.api.makeClientKey(values);
            Object.assign(this.state, { isMaking: false, copied: "" });
            await this.load();
        });
    }

    async copy(text) {
        this.state.copied = (await copyText(text)) ? text : "";
    }

    confirmDisconnect(client) {
        this.dialog.add(ConfirmationDialog, {
            title: _t("Disconnect this client?"),
            body: _t("“%(name)s” can no longer reach your tools until you sign in to it again.", {
                name: client.name,
            }),
            confirmLabel: _t("Disconnect"),
            confirmClass: "btn-danger",
            confirm: () => this.disconnect(client),
            cancel: () => {},
        });
    }

    disconnect(client) {
        return this.attempt(async () => {
            await this.api.disconnectClient(client.id);
            await this.load();
        });
    }

    confirmRevoke(key) {
        this.dialog.add(ConfirmationDialog, {
            title: _t("Revoke this key?"),
            body: _t("Programs that use “%(name)s” can no longer reach your tools.", {
                name: key.name,
            }),
            confirmLabel: _t("Revoke"),
            confirmClass: "btn-danger",
            confirm: () => this.revoke(key),
            cancel: () => {},
        });
    }

    revoke(key) {
        return this.attempt(async () => {
            await this.api.revokeClientKey(key.id);
            this.state.made = "";
            await this.load();
        });
    }

    disconnectLabel({ name }) {
        return _t("Disconnect %(name)s", { name });
    }

    useOf(client) {
        const use = this.kindOfUse(client);
        return client.can_change ? _t("%(use)s, may ask to change records", { use }) : use;
    }

    kindOfUse({ gateway, place, can_call, can_ask, last_used_at }) {
        const values = {
            place: gateway ? `${gateway} · ${place}` : place,
            moment: formatMomentFull(last_used_at),
        };
        if (can_ask) {
            return can_call
                ? _t(
                      "%(place)s, calls your tools and asks your assistants, last used %(moment)s",
                      values
                  )
                : _t("%(place)s, asks your assistants, last used %(moment)s", values);
        }
        return can_call
            ? _t("%(place)s, lists and calls your tools, last used %(moment)s", values)
            : _t("%(place)s, lists your tools, last used %(moment)s", values);
    }

    /** Address of the chosen gateway, or of the one with all tools. */
    get url() {
        return this.state.chosen || this.state.url;
    }

    revokeLabel({ name }) {
        return _t("Revoke the key %(name)s", { name });
    }

    daysLabel(days) {
        return _t("%(days)s days", { days });
    }

    termOf({ created_at, expires_at }) {
        const created = formatMomentFull(created_at);
        return expires_at
            ? _t("Created %(created)s, valid until %(expires)s", {
                  created,
                  expires: formatMomentFull(expires_at),
              })
            : _t("Created %(created)s", { created });
    }

    onKeydown(ev) {
        if (pressedKey(ev) === "Escape") {
            this.state.isMaking = false;
        }
    }
}
