import { Component, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { uniqueId } from "@web/core/utils/functions";
import { formatDuration } from "../core/format";
import { McpApi } from "../core/mcp_api";
import { fieldText, formFields, isLongText, readForm } from "../questions/argument_form";
import { SchemaField } from "../questions/schema_field";
import { useProblems } from "../questions/use_problems";
import { ToolResult } from "../tool_call/tool_result";
import { attempt, RequestError } from "../core/try_again";

/** Calls a tool once, with a form made from its schema; the result is shown as in a chat. */
export class ToolTrial extends Component {
    static template = "woow_paas_platform.ToolTrial";
    static components = { RequestError, SchemaField, ToolResult };
    static props = {
        /** `{id, name, input_schema}` as the API tells of it. */
        tool: Object,
        api: { type: Object, optional: true },
    };

    setup() {
        this.api = this.props.api || new McpApi();
        this.id = uniqueId("o_woow_trial_");
        this.fields = formFields(this.props.tool.input_schema, this.defaults);
        const texts = {};
        for (const field of this.fields) {
            texts[field.name] = fieldText(field, this.defaults[field.name]);
        }
        this.longFields = new Set(
            this.fields
                .filter((field) => isLongText(field, texts[field.name]))
                .map(({ name }) => name)
        );
        this.state = useState({ texts, problems: {}, isBusy: false, error: "", call: null });
        this.problems = useProblems(() => [this.state.problems]);
    }

    /** What the tool takes where nothing is given. */
    get defaults() {
        const properties = this.props.tool.input_schema?.properties || {};
        return Object.fromEntries(
            Object.entries(properties)
                .filter(([, schema]) => schema?.default !== undefined && schema.default !== null)
                .map(([name, schema]) => [name, schema.default])
        );
    }

    get outcome() {
        const { call } = this.state;
        const duration = formatDuration(call.duration);
        return call.isError
            ? _t("Failed after %(duration)s", { duration })
            : _t("Done in %(duration)s", { duration });
    }

    fieldId(field) {
        return `${this.id}_${this.fields.indexOf(field)}`;
    }

    source({ mimetype, data }) {
        return `data:${mimetype};base64,${data}`;
    }

    onInput(field, text) {
        this.state.texts[field.name] = text;
        delete this.state.problems[field.name];
    }

    async onSubmit() {
        const { args, problems } = readForm(this.fields, this.state.texts, this.defaults);
        this.state.problems = problems;
        if (Object.keys(problems).length || this.state.isBusy) {
            return;
        }
        this.state.call = null;
        await attempt(this.state, async () => {
            const outcome = await this.api.tryTool(this.props.tool.id, args);
            this.state.call = {
                result: outcome.result,
                isError: outcome.is_error,
                truncated: outcome.truncated,
                duration: outcome.duration_ms,
                pictures: outcome.pictures,
            };
        });
    }
}
