import { Component, xml } from "@odoo/owl";
import { LazyComponent } from "@web/core/assets";
import { registry } from "@web/core/registry";
import { standardActionServiceProps } from "@web/webclient/actions/action_service";

/** What an administrator sees first; its code comes when it is shown. */
export class OverviewAction extends Component {
    static template = xml`
        <div class="o_action flex-grow-1 overflow-auto">
            <LazyComponent bundle="'woow_paas_platform.assets_overview'" Component="'woow_paas_platform.Overview'"/>
        </div>`;
    static components = { LazyComponent };
    static props = { ...standardActionServiceProps };
}

registry.category("actions").add("woow_paas_platform.overview", OverviewAction);
