import { Component, useEffect, useRef, useState } from "@odoo/owl";
import { uniqueId } from "@web/core/utils/functions";
import { attempt, RequestError } from "../core/try_again";

/** A prompt that is written or changed. */
export class PromptForm extends Component {
    static template = "woow_paas_platform.PromptForm";
    static components = { RequestError };
    static props = {
        /** Left out: a new one. */
        prompt: { type: Object, optional: true },
        /** Text that a new one begins with. */
        content: { type: String, optional: true },
        /** {id, name} of those that a new one may belong to. */
        workspaces: { type: Array, optional: true },
        /** (values of AiApi.addPrompt) → Promise; a rejection is shown. */
        onSave: Function,
        onCancel: Function,
    };
    static defaultProps = { workspaces: [] };

    setup() {
        this.id = uniqueId("o_woow_prompt_");
        this.name = useRef("name");
        const { name = "", content = this.props.content || "" } = this.props.prompt || {};
        this.state = useState({ name, content, workspaceId: "", isBusy: false, error: null });
        useEffect(
            () => this.name.el.focus(),
            () => []
        );
    }

    save() {
        const { name, content, workspaceId } = this.state;
        const values = { name, content, workspaceId: Number(workspaceId) || null };
        return attempt(this.state, () => this.props.onSave(values));
    }
}
