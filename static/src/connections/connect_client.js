import { Component, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { copyText } from "../core/clipboard";

/** Name of this server in the client: one that has several gateways tells them apart by it. */
function nameOf(url) {
    const last = url.split("/").at(-1);
    return last === "mcp" ? "odoo" : `odoo-${last}`;
}

/** Clients by their id: `text` is pasted there, `link` opens the client, `isRemote` ones call from the internet. */
const CLIENTS = {
    claude: {
        label: "Claude",
        steps: _t(
            "In Claude, open “Settings”, then “Connectors”, add a custom connector, paste this address and sign in."
        ),
        text: (url) => url,
        isRemote: true,
    },
    claude_code: {
        label: "Claude Code",
        steps: _t("Run this in a terminal. Then enter “/mcp” in Claude Code and sign in."),
        text: (url) => `claude mcp add --transport http ${nameOf(url)} ${url}`,
    },
    chatgpt: {
        label: "ChatGPT",
        steps: _t(
            "In ChatGPT, open “Settings”, turn on the developer mode under “Connectors”, create a connector, paste this address and sign in."
        ),
        text: (url) => url,
        isRemote: true,
    },
    vscode: {
        label: "VS Code",
        steps: _t(
            "Open VS Code with this button and sign in, or paste this into the file “.vscode/mcp.json”."
        ),
        text: (url) =>
            JSON.stringify({ servers: { [nameOf(url)]: { type: "http", url } } }, null, 2),
        link: (url) => {
            const server = JSON.stringify({ name: nameOf(url), type: "http", url });
            return `vscode:mcp/install?${encodeURIComponent(server)}`;
        },
    },
    cursor: {
        label: "Cursor",
        steps: _t(
            "Open Cursor with this button and sign in, or paste this into the file “~/.cursor/mcp.json”."
        ),
        text: (url) => JSON.stringify({ mcpServers: { [nameOf(url)]: { url } } }, null, 2),
        link: (url) => {
            const config = encodeURIComponent(btoa(JSON.stringify({ url })));
            return `cursor://anysphere.cursor-deeplink/mcp/install?name=${nameOf(url)}&config=${config}`;
        },
    },
    n8n: {
        label: "n8n",
        steps: _t(
            "In an MCP Client Tool node, choose the transport “HTTP Streamable”, paste this address as the endpoint and use a key as bearer token."
        ),
        text: (url) => url,
    },
};

/** True for an address that nobody outside this computer or network reaches. */
function isLocal(url) {
    const { protocol, hostname } = new URL(url);
    return protocol !== "https:" || hostname === "localhost" || /^[\d.]+$|:/.test(hostname);
}

/** How to connect one of the usual MCP clients to this Odoo. */
export class ConnectClient extends Component {
    static template = "woow_paas_platform.ConnectClient";
    static props = { url: String };

    setup() {
        this.clients = Object.entries(CLIENTS).map(([id, { label }]) => ({ id, label }));
        this.state = useState({ id: "", isCopied: false });
    }

    /** Shows what to do for a client; the same button hides it again. */
    choose(id) {
        Object.assign(this.state, { id: this.state.id === id ? "" : id, isCopied: false });
    }

    get chosen() {
        const client = CLIENTS[this.state.id];
        const { url } = this.props;
        return (
            client && {
                label: client.label,
                steps: client.steps,
                text: client.text(url),
                link: client.link?.(url),
                warning: client.isRemote && isLocal(url) ? this.warning(client.label) : "",
            }
        );
    }

    warning(name) {
        return _t(
            "%(name)s calls Odoo over the internet, and this address cannot be reached from there: Odoo needs a public https address.",
            { name }
        );
    }

    async copy() {
        this.state.isCopied = await copyText(this.chosen.text);
    }

    openLabel(name) {
        return _t("Open %(name)s", { name });
    }
}
