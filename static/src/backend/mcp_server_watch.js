import { Component, onMounted, onWillUnmount, xml } from "@odoo/owl";
import { registry } from "@web/core/registry";
import { useService } from "@web/core/utils/hooks";
import { standardWidgetProps } from "@web/views/widgets/standard_widget_props";

/** What the bus says when the record of a form was read again in the background, by its model. */
const EVENTS = {
    "woow_paas_platform.mcp_server": "woow_ai/mcp_server",
    "woow_paas_platform.toolbox": "woow_ai/toolbox",
    "woow_paas_platform.assistant_test_run": "woow_ai/test_run",
};

/** Reads the form again when its server or toolbox was read in the background; never over unsaved changes. */
export class McpServerWatch extends Component {
    static template = xml`<t/>`;
    static props = { ...standardWidgetProps };

    setup() {
        const bus = useService("bus_service");
        const event = EVENTS[this.props.record.resModel];
        const onSync = ({ id }) => this.onSync(id);
        bus.subscribe(event, onSync);
        // A run may have ended after the form read it, and before this listened.
        onMounted(
            () =>
                this.props.record.data.state === "running" &&
                onSync({ id: this.props.record.resId })
        );
        onWillUnmount(() => bus.unsubscribe(event, onSync));
    }

    async onSync(id) {
        const { record } = this.props;
        if (record.resId === id && !(await record.isDirty())) {
            await record.load();
        }
    }
}

registry.category("view_widgets").add("woow_mcp_server_watch", { component: McpServerWatch });
