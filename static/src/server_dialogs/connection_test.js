import { Component, onWillStart, useState } from "@odoo/owl";
import { Dialog } from "@web/core/dialog/dialog";
import { _t } from "@web/core/l10n/translation";
import { registry } from "@web/core/registry";
import { McpApi } from "../core/mcp_api";
import { TestSteps } from "../mcp_servers/test_steps";

const TEST_TIMEOUT = 120000; // ms; a model on a slow machine needs long for its first word

/** The test of a server or provider, step by step, as owners of servers see it in the portal. */
export class ConnectionTest extends Component {
    static template = "woow_paas_platform.ConnectionTest";
    static components = { Dialog, TestSteps };
    static props = {
        /** Where the test is asked for; it answers `{steps}`. */
        path: String,
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
            this.state.steps = (
                await this.api.request("POST", this.props.path, {}, TEST_TIMEOUT)
            ).steps;
        } catch (error) {
            this.state.error = error.message;
        }
        this.state.isBusy = false;
    }
}

registry.category("lazy_components").add("woow_paas_platform.ConnectionTest", ConnectionTest);
