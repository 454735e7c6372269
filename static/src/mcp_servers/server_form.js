import { Component, onMounted, useRef, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";

let lastId = 0;

/** Address, key and the rest of one server. A key or header that is left empty stays what it is. */
export class ServerForm extends Component {
    static template = "woow_paas_platform.McpServerForm";
    static props = {
        /** Left out: a new one. */
        server: { type: Object, optional: true },
        /** Resolves when it is saved; rejects with the sentence to show. */
        onSave: Function,
        onCancel: Function,
    };

    setup() {
        const { server } = this.props;
        this.id = `o_woow_server_form_${++lastId}`;
        this.first = useRef("first");
        this.values = useState({
            url: server?.url || "",
            name: server?.name || "",
            description: server?.description || "",
            api_key: "",
            headers: "",
            transport: server?.transport || "auto",
            trust_level: server?.trust_level || "none",
            call_timeout: server?.call_timeout || 30,
            remove_api_key: false,
        });
        this.state = useState({ isSaving: false, error: "" });
        onMounted(() => this.first.el.focus());
    }

    get transports() {
        return [
            ["auto", _t("Automatic")],
            ["streamable_http", _t("Streamable HTTP")],
            ["sse", _t("SSE (legacy)")],
        ];
    }

    get trustLevels() {
        return [
            ["none", _t("Not trusted: ask before its tools run")],
            ["annotations", _t("Trust what it says of its tools: ask unless they only read")],
            ["full", _t("Fully trusted: ask only before what destroys")],
        ];
    }

    /** What the API takes; what is empty and optional is left out. */
    get changes() {
        const { url, name, description, api_key, headers, transport } = this.values;
        return {
            url: url.trim(),
            description,
            transport,
            trust_level: this.values.trust_level,
            call_timeout: Number(this.values.call_timeout),
            ...(name.trim() ? { name } : {}),
            ...(api_key ? { api_key } : {}),
            ...(headers.trim() ? { headers: JSON.parse(headers) } : {}),
            ...(this.props.server && this.values.remove_api_key ? { remove_api_key: true } : {}),
        };
    }

    async save() {
        this.state.isSaving = true;
        this.state.error = "";
        try {
            await this.props.onSave(this.changes);
        } catch (error) {
            this.state.error =
                error instanceof SyntaxError
                    ? _t('The headers must be a JSON object such as {"X-Team": "blue"}.')
                    : error.message;
        }
        this.state.isSaving = false;
    }

    onKeydown(ev) {
        if (ev.key === "Escape") {
            this.props.onCancel();
        }
    }
}
