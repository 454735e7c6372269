import { Component, onWillStart, useState } from "@odoo/owl";
import { attempt, RequestError } from "../core/try_again";

/** How people have rated the answers of an assistant: numbers, and the reasons of those who share them. */
export class AssistantRatings extends Component {
    static template = "woow_paas_platform.AssistantRatings";
    static components = { RequestError };
    static props = { assistant: Object, api: Object };

    setup() {
        this.state = useState({ good: 0, bad: 0, shared: [], isBusy: false, error: null });
        onWillStart(() =>
            attempt(this.state, async () => {
                const { api, assistant } = this.props;
                Object.assign(this.state, await api.assistantRatings(assistant.id));
            })
        );
    }
}
