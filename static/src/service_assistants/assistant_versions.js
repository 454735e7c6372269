import { Component, onWillStart, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { formatMomentFull } from "../core/format";
import { attempt, RequestError } from "../core/try_again";

/** The published versions of an assistant, each with what it has changed, to restore. */
export class AssistantVersions extends Component {
    static template = "woow_paas_platform.AssistantVersions";
    static components = { RequestError };
    static props = {
        assistant: Object,
        api: Object,
        /** (assistant): as it is now */
        onRestored: Function,
    };

    formatMomentFull = formatMomentFull;

    setup() {
        /** told: what came of a restore */
        this.state = useState({
            versions: [],
            hasMore: false,
            isBusy: false,
            error: null,
            told: "",
        });
        onWillStart(() => this.load());
    }

    load() {
        return attempt(this.state, async () => {
            const { versions, has_more: hasMore } = await this.read();
            Object.assign(this.state, { versions, hasMore });
        });
    }

    loadMore() {
        return attempt(this.state, async () => {
            const { versions, has_more: hasMore } = await this.read(
                this.state.versions.at(-1).number
            );
            this.state.versions.push(...versions);
            this.state.hasMore = hasMore;
        });
    }

    read(before) {
        return this.props.api.assistantVersions(this.props.assistant.id, before);
    }

    titleOf({ number }) {
        return _t("Version %(number)s", { number });
    }

    restoreLabel({ number }) {
        return _t("Restore version %(number)s", { number });
    }

    changesLabel({ number }) {
        return _t("Changes of version %(number)s", { number });
    }

    labelOf(field) {
        return (
            {
                name: _t("Name"),
                description: _t("Description"),
                greeting: _t("Greeting"),
                starters: _t("Suggested questions"),
                instructions: _t("Instructions"),
                provider: _t("Provider"),
                servers: _t("MCP servers"),
            }[field] || field
        );
    }

    /** With a sign for those who see no colours, too. */
    classOf({ sign }) {
        return { "+": "border-success", "-": "border-danger" }[sign] || "";
    }

    tagOf({ sign }) {
        return { "+": "ins", "-": "del" }[sign] || "span";
    }

    restore(version) {
        this.state.told = "";
        return attempt(this.state, async () => {
            const { api, assistant } = this.props;
            const restored = await api.restoreAssistantVersion(assistant.id, version.id);
            const { versions, has_more: hasMore } = await this.read();
            Object.assign(this.state, { versions, hasMore });
            this.state.told = restored.left_out.length
                ? _t("Restored without what is no longer offered: %(names)s", {
                      names: restored.left_out.join(", "),
                  })
                : _t("Version %(number)s restored", { number: version.number });
            this.props.onRestored(restored.assistant);
        });
    }
}
