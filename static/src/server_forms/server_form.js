import { Component, onMounted, useRef, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { uniqueId } from "@web/core/utils/functions";
import { trustLevels } from "./trust_levels";
import { attempt, RequestError } from "../core/try_again";
import { pressedKey } from "../core/keys";

/** What the form begins with; secrets never come back. */
const valuesOf = (server) => ({
    url: server?.url || "",
    name: server?.name || "",
    description: server?.description || "",
    authorization: server?.authorization || "key",
    api_key: "",
    remove_api_key: false,
    oauth_client_id: server?.oauth_client_id || "",
    oauth_client_secret: "",
    oauth_issuer: server?.oauth_issuer || "",
    oauth_scope: server?.oauth_scope || "",
    headers: "",
    transport: server?.transport || "auto",
    trust_level: server?.trust_level || "none",
    call_timeout: server?.call_timeout || 30,
});

function headersOf(text) {
    try {
        return JSON.parse(text);
    } catch {
        throw new Error(_t('The headers must be a JSON object such as {"X-Team": "blue"}.'));
    }
}

/** Address, key and the rest of one server. A key or header that is left empty stays what it is. */
export class ServerForm extends Component {
    static template = "woow_paas_platform.McpServerForm";
    static components = { RequestError };
    static props = {
        /** Left out: a new one. */
        server: { type: Object, optional: true },
        /** Of one person alone. */
        isPersonal: Boolean,
        /** Resolves when it is saved; rejects with the sentence to show. */
        onSave: Function,
        onCancel: Function,
    };

    setup() {
        this.id = uniqueId("o_woow_server_form_");
        this.first = useRef("first");
        this.values = useState(valuesOf(this.props.server));
        this.state = useState({ isBusy: false, error: "" });
        this.isChanged = false;
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
        return trustLevels();
    }

    /** Whether a person has to sign in once it is saved. */
    get isSignIn() {
        return ["oauth_server", "oauth_user"].includes(this.values.authorization);
    }

    get authorizations() {
        return [
            ["key", _t("API key or none")],
            this.props.isPersonal
                ? ["oauth_user", _t("OAuth, you sign in")]
                : ["oauth_user", _t("OAuth, each user signs in")],
            ...(this.props.isPersonal
                ? []
                : [["oauth_server", _t("OAuth, one sign-in for everyone")]]),
            ["oauth_client", _t("OAuth, client credentials")],
        ];
    }

    /** What the API takes: what differs from what is known. */
    get changes() {
        const known = valuesOf(this.props.server);
        const changes = Object.fromEntries(
            Object.entries(this.values)
                .map(([name, value]) => [name, typeof value === "string" ? value.trim() : value])
                .filter(([name, value]) => value !== known[name])
        );
        if (changes.headers) {
            changes.headers = headersOf(changes.headers);
        }
        return changes;
    }

    save() {
        return attempt(this.state, () => this.props.onSave(this.changes));
    }

    onKeydown(ev) {
        if (pressedKey(ev) === "Escape" && !this.isChanged) {
            this.props.onCancel();
        }
    }
}
