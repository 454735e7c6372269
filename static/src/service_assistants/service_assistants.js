import { Component, onWillStart, useRef, useState } from "@odoo/owl";
import { registry } from "@web/core/registry";
import { AiApi } from "../core/ai_api";
import { TryAgain } from "../core/try_again";
import { AssistantCard } from "./assistant_card";
import { AssistantForm } from "./assistant_form";
import { useFocusBack } from "../core/keys";

/** The assistants of a cloud service: to add, change, switch and compare. */
export class ServiceAssistants extends Component {
    static template = "woow_paas_platform.ServiceAssistants";
    static components = { AssistantCard, AssistantForm, TryAgain };
    static props = { cloudServiceId: Number };

    setup() {
        this.api = new AiApi();
        this.addButton = useRef("add");
        /**
         * assistants: as the API has them; isChanged: something was written about a new one; openId: the card that was
         * just added
         */
        this.state = useState({
            assistants: [],
            providers: [],
            servers: [],
            isLoaded: false,
            isAdding: false,
            isChanged: false,
            openId: 0,
            error: null,
        });
        onWillStart(() => this.load());
        useFocusBack(
            () => this.state.isAdding,
            () => this.addButton.el
        );
    }

    async load() {
        try {
            const listed = await this.api.serviceAssistants(this.props.cloudServiceId);
            Object.assign(this.state, listed, { isLoaded: true, error: null });
        } catch (error) {
            this.state.error = error;
        }
    }

    /** What is written would be lost with the form: only its own buttons close it. */
    get isHeld() {
        return this.state.isAdding && this.state.isChanged;
    }

    toggleAdding() {
        Object.assign(this.state, { isAdding: !this.state.isAdding, isChanged: false });
    }

    async add(values) {
        const assistant = await this.api.addServiceAssistant(this.props.cloudServiceId, values);
        this.state.assistants.push(assistant);
        Object.assign(this.state, { isAdding: false, openId: assistant.id });
    }

    put(assistant) {
        const index = this.state.assistants.findIndex(({ id }) => id === assistant.id);
        this.state.assistants[index] = assistant;
    }

    async change(id, values) {
        this.put(await this.api.changeServiceAssistant(id, values));
    }

    async remove(id) {
        await this.api.deleteServiceAssistant(id);
        this.state.assistants = this.state.assistants.filter((one) => one.id !== id);
        this.addButton.el?.focus();
    }
}

registry
    .category("public_components")
    .add("woow_paas_platform.ServiceAssistants", ServiceAssistants);
