import { Component } from "@odoo/owl";
import { formatTools } from "../core/format";

/** What stands in the place of the messages before the first one: with whom, and about what. */
export class NewChat extends Component {
    static template = "woow_paas_platform.NewChat";
    static props = {
        /** See NewChatState. */
        state: Object,
        language: String,
        /** [{code, name}]: those to choose from; none where nobody is asked. */
        languages: Array,
        /** Called with the code of a language. */
        onLanguage: Function,
    };

    get hasChoice() {
        return this.props.state.assistants.length > 1;
    }

    /** Name of what the chat is about, when that is not chosen here. */
    get about() {
        return (this.props.state.record || this.props.state.fixedService)?.name;
    }

    tools({ tools }) {
        return tools ? formatTools(tools) : "";
    }

    serviceLabel({ name, workspace }) {
        return workspace?.name ? `${name} (${workspace.name})` : name;
    }

    onService(ev) {
        this.props.state.cloudServiceId = Number(ev.target.value) || null;
    }
}
