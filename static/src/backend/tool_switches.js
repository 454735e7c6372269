import { Component, onWillStart, onWillUpdateProps, useState } from "@odoo/owl";
import { CheckBox } from "@web/core/checkbox/checkbox";
import { _t } from "@web/core/l10n/translation";
import { registry } from "@web/core/registry";
import { groupBy } from "@web/core/utils/arrays";
import { useService } from "@web/core/utils/hooks";
import { formatInteger } from "@web/views/fields/formatters";
import { standardFieldProps } from "@web/views/fields/standard_field_props";

const DISABLED = "mcp_tool_disabled_ids";
const PROBLEMS = { error: _t("Error"), auth_required: _t("Credentials needed") };

function tokens(count) {
    return _t("about %(count)s tokens", { count: formatInteger(count) });
}

/** The servers of an assistant and, below each, a switch for each of its tools. */
export class ToolSwitches extends Component {
    static template = "woow_paas_platform.ToolSwitches";
    static components = { CheckBox };
    static props = { ...standardFieldProps };

    setup() {
        this.orm = useService("orm");
        this.action = useService("action");
        this.state = useState({ servers: [], open: {} });
        onWillStart(() => this.load());
        onWillUpdateProps((props) => {
            if (props.record.resId !== this.props.record.resId) {
                return this.load();
            }
        });
    }

    async load() {
        const context = { active_test: false };
        const [servers, tools] = await Promise.all([
            this.orm.searchRead(
                "woow_paas_platform.mcp_server",
                [["scope", "=", "system"]],
                ["name", "description", "active", "state"],
                { context }
            ),
            this.orm.searchRead(
                "woow_paas_platform.mcp_tool",
                [
                    ["server_id.scope", "=", "system"],
                    ["available", "=", true],
                ],
                [
                    "name",
                    "title",
                    "description",
                    "server_id",
                    "active",
                    "is_usable",
                    "review_state",
                    "token_estimate",
                ],
                { context }
            ),
        ]);
        const toolsOf = groupBy(tools, (tool) => tool.server_id[0]);
        this.state.servers = servers.map((server) => ({
            ...server,
            tools: toolsOf[server.id] || [],
        }));
    }

    get linked() {
        return new Set(this.props.record.data[this.props.name].currentIds);
    }

    get disabled() {
        return new Set(this.props.record.data[DISABLED].currentIds);
    }

    /** Servers in use come first, those that are off everywhere and not in use are left out. */
    get rows() {
        const { linked, disabled } = this;
        return this.state.servers
            .filter((server) => server.active || linked.has(server.id))
            .map((server) => {
                const tools = server.tools.map((tool) => ({
                    tool,
                    tokens: tokens(tool.token_estimate),
                    isOn: server.active && tool.active && !disabled.has(tool.id),
                    isLocked: !server.active || !tool.active,
                    isInReview: ["new", "changed"].includes(tool.review_state),
                }));
                const offered = server.tools.filter(
                    (tool) => tool.is_usable && !disabled.has(tool.id)
                );
                return {
                    server,
                    isLinked: linked.has(server.id),
                    isOpen: linked.has(server.id) && this.state.open[server.id] !== false,
                    count: _t("%(on)s of %(all)s tools", {
                        on: offered.length,
                        all: server.tools.length,
                    }),
                    tokens: tokens(offered.reduce((sum, tool) => sum + tool.token_estimate, 0)),
                    problem: PROBLEMS[server.state],
                    tools,
                    areAllOn: tools.every(({ isOn, isLocked }) => isOn || isLocked),
                };
            });
    }

    isToggleable(row) {
        return !this.props.readonly && row.server.active && row.tools.some((t) => !t.isLocked);
    }

    openLabel(row) {
        return row.isOpen ? _t("Hide tools") : _t("Show tools");
    }

    toggleOpen(row) {
        this.state.open[row.server.id] = !row.isOpen;
    }

    async toggleServer(server, isLinked) {
        this.state.open[server.id] = true;
        await this.change(
            this.props.name,
            isLinked ? { add: [server.id] } : { remove: [server.id] }
        );
    }

    async toggleTool(tool, isOn) {
        await this.change(DISABLED, isOn ? { remove: [tool.id] } : { add: [tool.id] });
    }

    async toggleAll(row) {
        const ids = row.tools.filter((t) => !t.isLocked).map((t) => t.tool.id);
        const { disabled } = this;
        await this.change(
            DISABLED,
            row.areAllOn
                ? { add: ids.filter((id) => !disabled.has(id)) }
                : { remove: ids.filter((id) => disabled.has(id)) }
        );
    }

    change(field, commands) {
        return this.props.record.data[field].addAndRemove(commands);
    }

    openServers() {
        return this.action.doAction("woow_paas_platform.mcp_server_action");
    }
}

export const toolSwitches = {
    component: ToolSwitches,
    displayName: _t("MCP servers and their tools"),
    supportedTypes: ["many2many"],
    fieldDependencies: [{ name: DISABLED, type: "many2many" }],
    isEmpty: () => false,
};

registry.category("fields").add("woow_ai_tool_switches", toolSwitches);
