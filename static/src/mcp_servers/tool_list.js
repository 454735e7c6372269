import { Component, markup, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { writeJson } from "../core/format";
import { ToolTrial } from "../tool_trial/tool_trial";
import { lockLabel } from "./lock_label";

/** The tools of a server, each with its switch, description and arguments. */
export class ToolList extends Component {
    static template = "woow_paas_platform.McpToolList";
    static components = { ToolTrial };
    static props = {
        tools: Array,
        isReadonly: Boolean,
        /** (tool, isOn) */
        onSwitch: Function,
        /** (tool, "accept" | "refuse") */
        onReview: Function,
        /** (tool, policy): what is asked before its calls. */
        onPolicy: Function,
        /** The server is asked for them. */
        isSyncing: { type: Boolean, optional: true },
    };

    lockLabel = lockLabel;

    setup() {
        this.state = useState({ tried: null });
    }

    canTry(tool) {
        return tool.active && tool.available && tool.review_state === "approved";
    }

    get policies() {
        return [
            ["default", _t("By annotations and trust level")],
            ["auto", _t("Always run")],
            ["ask", _t("Ask first")],
            ["never", _t("Never run")],
        ];
    }

    policyLabel(tool) {
        return _t("When “%(tool)s” is called", { tool: tool.name });
    }

    toggleTrial(tool) {
        this.state.tried = this.state.tried === tool.id ? null : tool.id;
    }

    isInReview(tool) {
        return ["new", "changed"].includes(tool.review_state);
    }

    /** In use, although nobody has looked at the definition. */
    isUnreviewed(tool) {
        return tool.review_state === "approved" && Boolean(tool.review_hash);
    }

    /** What was refused can be decided again, as long as the server has not sent another. */
    canReview(tool) {
        return this.isInReview(tool) || this.isUnreviewed(tool) || tool.review_state === "refused";
    }

    warningsOf(tool) {
        return tool.warnings ? tool.warnings.split("\n") : [];
    }

    /** Where something was found, the careful answer is the one at hand. */
    reviewsOf(tool) {
        const accept = ["accept", _t("Accept")];
        if (tool.review_state === "refused") {
            return [accept];
        }
        const refuse = ["refuse", _t("Refuse")];
        return tool.warnings ? [refuse, accept] : [accept, refuse];
    }

    isFirstChoice(tool, index) {
        return index === 0 && tool.review_state !== "refused";
    }

    /** All of it, since each of its words is shown to the model. */
    schemaOf(tool) {
        return writeJson(tool.input_schema, 2);
    }

    /** Made and escaped by the server. */
    diffOf(tool) {
        return markup(tool.definition_diff);
    }

    /** `[{name, type, isRequired, description}]` of a tool's schema, whatever form it has. */
    argumentsOf(tool) {
        const properties = tool.input_schema.properties;
        if (!properties || typeof properties !== "object") {
            return [];
        }
        const required = Array.isArray(tool.input_schema.required)
            ? tool.input_schema.required
            : [];
        return Object.entries(properties).map(([name, schema]) => ({
            name,
            type: [schema?.type || ""].flat().join(" | "),
            isRequired: required.includes(name),
            description: typeof schema?.description === "string" ? schema.description : "",
        }));
    }
}
