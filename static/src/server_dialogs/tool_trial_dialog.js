import { Component, onWillStart, useState } from "@odoo/owl";
import { Dialog } from "@web/core/dialog/dialog";
import { _t } from "@web/core/l10n/translation";
import { registry } from "@web/core/registry";
import { useService } from "@web/core/utils/hooks";
import { parseJson } from "../core/format";
import { ToolTrial } from "../tool_trial/tool_trial";

/** Tries a tool from its form. */
export class ToolTrialDialog extends Component {
    static template = "woow_paas_platform.ToolTrialDialog";
    static components = { Dialog, ToolTrial };
    static props = { toolId: Number, close: Function };

    setup() {
        const orm = useService("orm");
        this.state = useState({ tool: null });
        onWillStart(async () => {
            const [tool] = await orm.read(
                "woow_paas_platform.mcp_tool",
                [this.props.toolId],
                ["name", "input_schema"]
            );
            this.state.tool = { ...tool, input_schema: parseJson(tool.input_schema || "{}") };
        });
    }

    get title() {
        return _t("Try “%(tool)s”", { tool: this.state.tool.name });
    }
}

registry.category("lazy_components").add("woow_paas_platform.ToolTrialDialog", ToolTrialDialog);
