import { Component } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";

/** What stands in the place of the messages before the first one: with whom, and about what. */
export class NewChat extends Component {
    static template = "woow_paas_platform.NewChat";
    static props = {
        choices: Object,
        selection: Object,
        error: { type: [Object, { value: null }], optional: true },
        onSelectAssistant: Function,
        onSelectCloudService: Function,
        onReload: Function,
    };

    get assistant() {
        const { choices, selection } = this.props;
        return choices.assistants.find(({ id }) => id === selection.assistantId) || null;
    }

    get hasChoice() {
        return this.props.choices.assistants.length > 1;
    }

    tools({ tools }) {
        if (!tools) {
            return "";
        }
        return tools === 1 ? _t("1 tool") : _t("%(count)s tools", { count: tools });
    }

    serviceLabel({ name, workspace }) {
        return workspace?.name ? `${name} (${workspace.name})` : name;
    }

    onService(ev) {
        this.props.onSelectCloudService(Number(ev.target.value) || null);
    }
}
