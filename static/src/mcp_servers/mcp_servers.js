import { Component, onWillStart, onWillUnmount, useState } from "@odoo/owl";
import { cookie } from "@web/core/browser/cookie";
import { registry } from "@web/core/registry";
import { useService } from "@web/core/utils/hooks";
import { ImportForm } from "./import_form";
import { ServerCard } from "./server_card";
import { ServerForm } from "./server_form";
import { ServerList } from "./server_list";
import { TemplateForm } from "./template_form";

/** The MCP servers of a cloud service, or a person's own: to add, change, test and switch. */
export class McpServers extends Component {
    static template = "woow_paas_platform.McpServers";
    static components = { ImportForm, ServerCard, ServerForm, TemplateForm };
    static props = {
        /** Left out: the person's own servers. */
        cloudServiceId: { type: Number, optional: true },
    };

    setup() {
        this.bus = useService("bus_service");
        this.list = useState(new ServerList(this.props.cloudServiceId || null));
        /** adding: "" | "address" | "template" | "json"; openId: the card that was just added */
        this.ui = useState({ adding: "", openId: 0 });
        this.bus.subscribe("woow_ai/mcp_server", () => this.list.load());
        this.bus.start();
        onWillStart(() => this.list.load());
        onWillUnmount(() => this.list.leave());
    }

    /** The portal itself is light; who chose dark in Odoo gets this dark, too. */
    get theme() {
        return cookie.get("color_scheme") === "dark" ? "dark" : undefined;
    }

    show(adding) {
        this.ui.adding = this.ui.adding === adding ? "" : adding;
    }

    async add(values) {
        const server = await this.list.add(values);
        this.ui.adding = "";
        this.ui.openId = server.id;
    }

    close() {
        this.ui.adding = "";
    }
}

registry.category("public_components").add("woow_paas_platform.McpServers", McpServers);
