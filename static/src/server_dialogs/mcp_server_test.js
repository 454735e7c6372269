import { Component, onWillStart, useState } from "@odoo/owl";
import { Dialog } from "@web/core/dialog/dialog";
import { _t } from "@web/core/l10n/translation";
import { registry } from "@web/core/registry";
import { McpApi } from "../core/mcp_api";
import { TestSteps } from "../mcp_servers/test_steps";

/** The test of a server, step by step, as its owner sees it in the portal. */
export class McpServerTest extends Component {
    static template = "woow_paas_platform.McpServerTest";
    static components = { Dialog, TestSteps };
    static props = {
        serverId: Number,
        close: Function,
        api: { type: Object, optional: true },
    };

    setup() {
        this.api = this.props.api || new McpApi();
        this.state = useState({ isBusy: false, steps: null, error: "" });
        onWillStart(() => {
            this.test(); // the dialog is there at once, the steps follow
        });
    }

    get title() {
        return _t("Connection test");
    }

    async test() {
        Object.assign(this.state, { isBusy: true, steps: null, error: "" });
        try {
            this.state.steps = (await this.api.test(this.props.serverId)).steps;
        } catch (error) {
            this.state.error = error.message;
        }
        this.state.isBusy = false;
    }
}

registry.category("lazy_components").add("woow_paas_platform.McpServerTest", McpServerTest);
