import { Component, onWillUnmount, xml } from "@odoo/owl";
import { registry } from "@web/core/registry";
import { useService } from "@web/core/utils/hooks";
import { standardWidgetProps } from "@web/views/widgets/standard_widget_props";

const EVENT = "woow_ai/mcp_server";

/** Reads the form again when the server was synced in the background; never over unsaved changes. */
export class McpServerWatch extends Component {
    static template = xml`<t/>`;
    static props = { ...standardWidgetProps };

    setup() {
        const bus = useService("bus_service");
        const onSync = ({ id }) => this.onSync(id);
        bus.subscribe(EVENT, onSync);
        onWillUnmount(() => bus.unsubscribe(EVENT, onSync));
    }

    async onSync(id) {
        const { record } = this.props;
        if (record.resId === id && !(await record.isDirty())) {
            await record.load();
        }
    }
}

registry.category("view_widgets").add("woow_mcp_server_watch", { component: McpServerWatch });
