import { Component, useEffect, useRef, useState } from "@odoo/owl";
import { useDebounced } from "@web/core/utils/timing";

/** Milliseconds without a key after which a server is asked how an argument may go on. */
const COMPLETE_DELAY = 200;

let lastId = 0;

/** The arguments of a prompt, with what its server offers to complete them. */
export class PromptForm extends Component {
    static template = "woow_paas_platform.PromptForm";
    static props = {
        /** See CommandCenter. */
        center: Object,
    };

    setup() {
        this.id = `o_ai_chat_prompt_${++lastId}`;
        this.form = useRef("form");
        this.state = useState({ values: {}, offers: {} });
        this.complete = useDebounced((name) => this.loadOffers(name), COMPLETE_DELAY);
        useEffect(
            () => this.form.el.querySelector("input")?.focus(),
            () => []
        );
    }

    get prompt() {
        return this.props.center.prompt;
    }

    onInput(name, ev) {
        this.state.values[name] = ev.target.value;
        this.complete(name);
    }

    async loadOffers(name) {
        const { values } = this.state;
        const given = Object.fromEntries(Object.entries(values).filter(([key]) => key !== name));
        const value = values[name] || "";
        this.state.offers[name] = await this.props.center.complete(this.prompt, name, value, given);
    }

    submit() {
        const given = Object.entries(this.state.values).filter(([, value]) => value);
        this.props.center.fill(this.prompt, Object.fromEntries(given));
    }
}

/** What a slash command shows, above the place where it was typed. */
export class CommandPanel extends Component {
    static template = "woow_paas_platform.CommandPanel";
    static components = { PromptForm };
    static props = {
        /** See CommandCenter. */
        center: Object,
    };

    onKeydown(ev) {
        if (ev.key === "Escape") {
            ev.stopPropagation();
            this.props.center.dismiss();
        }
    }
}
