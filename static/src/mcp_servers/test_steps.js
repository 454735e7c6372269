import { Component } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { formatDuration } from "../core/format";

/** The steps of a test; it stops at the one that failed, with what to do. */
export class TestSteps extends Component {
    static template = "woow_paas_platform.McpTestSteps";
    static props = {
        /** `[{name, state, message, advice, duration_ms}]`, null while the test runs. */
        steps: { type: [Array, { value: null }], optional: true },
    };

    formatDuration = formatDuration;

    labelOf(step) {
        return (
            {
                name: _t("Host name"),
                address: _t("Address allowed"),
                connection: _t("Connection"),
                tls: _t("Encryption"),
                http: _t("HTTP"),
                authorization: _t("Authorization"),
                protocol: _t("Protocol"),
                tools: _t("Tools"),
                process: _t("Process"),
                key: _t("API key"),
                model: _t("Model"),
                pictures: _t("Pictures"),
                embeddings: _t("Embeddings"),
            }[step.name] || step.name
        );
    }

    stateOf(step) {
        return { ok: _t("passed"), failed: _t("failed"), skipped: _t("not run") }[step.state];
    }

    iconOf(step) {
        return {
            ok: "fa-check-circle text-success",
            failed: "fa-times-circle text-danger",
            skipped: "fa-minus-circle text-muted",
        }[step.state];
    }
}
