import { Component, onWillStart, onWillUnmount, useEffect, useRef, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { registry } from "@web/core/registry";
import { useService } from "@web/core/utils/hooks";
import { ImportForm } from "../server_forms/import_form";
import { ServerCard } from "./server_card";
import { ServerForm } from "../server_forms/server_form";
import { ServerList } from "./server_list";
import { stateClass, stateLabel } from "./server_state";
import { TemplateForm } from "../server_forms/template_form";
import { attempt, RequestError, TryAgain } from "../core/try_again";
import { useFocusBack } from "../core/keys";

/** The MCP servers of a cloud service, or a person's own: to add, change, test and switch. */
export class McpServers extends Component {
    static template = "woow_paas_platform.McpServers";
    static components = {
        ImportForm,
        RequestError,
        ServerCard,
        ServerForm,
        TemplateForm,
        TryAgain,
    };
    static props = {
        /** Left out: the person's own servers. */
        cloudServiceId: { type: Number, optional: true },
    };

    stateClass = stateClass;
    stateLabel = stateLabel;

    setup() {
        const bus = useService("bus_service");
        this.buttons = useRef("buttons");
        this.list = useState(new ServerList(this.props.cloudServiceId || null));
        /**
         * adding: "" | "address" | "template" | "json"; isChanged: something was written there; openId: the card that
         * was just added
         */
        this.ui = useState({ adding: "", isChanged: false, openId: 0, isBusy: false, error: "" });
        useFocusBack(
            () => this.ui.adding || null,
            (adding) => this.buttons.el?.querySelector(`[data-adding=${adding}]`)
        );
        const load = () => this.list.load();
        bus.subscribe("woow_ai/mcp_server", load);
        bus.start();
        onWillStart(load);
        useEffect(
            (count, isLoaded) => isLoaded && this.showAttention(count),
            () => [this.list.attention, this.list.isLoaded]
        );
        onWillUnmount(() => {
            bus.unsubscribe("woow_ai/mcp_server", load);
            this.list.leave();
        });
    }

    /** The tab is the page's own; its number is what the list knows by now. */
    showAttention(count) {
        const badge = document.getElementById("o_woow_tab_number");
        if (badge) {
            badge.classList.toggle("d-none", !count);
            badge.classList.toggle("o_woow_attention", Boolean(count));
            badge.firstElementChild.textContent = count;
        }
    }

    show(adding) {
        this.ui.adding = this.ui.adding === adding ? "" : adding;
        this.ui.isChanged = false;
    }

    /** What is written would be lost with the form: only its own buttons close it. */
    get isHeld() {
        return ["address", "template"].includes(this.ui.adding) && this.ui.isChanged;
    }

    async add(values) {
        const server = await this.list.add(values);
        this.ui.adding = "";
        this.ui.openId = server.id;
    }

    labelForMe({ name }) {
        return _t("Use “%(name)s” in my conversations", { name });
    }

    labelOfPolicy({ name }) {
        return _t("Tool calls of “%(name)s” in my conversations", { name });
    }

    get policies() {
        return [
            ["default", _t("As configured")],
            ["ask", _t("Always ask me")],
            ["never", _t("Never run")],
        ];
    }

    switchForMe(server, isOn) {
        return attempt(this.ui, () => this.list.toggleForMe(server, isOn));
    }

    restrict(server, policy) {
        return attempt(this.ui, () => this.list.restrict(server, policy));
    }

    close() {
        this.ui.adding = "";
    }

    /** A card that had the focus is gone. */
    onRemoved() {
        this.buttons.el.querySelector("button").focus();
    }
}

registry.category("public_components").add("woow_paas_platform.McpServers", McpServers);
