import { Component, useEffect, useRef, useState } from "@odoo/owl";
import { uniqueId } from "@web/core/utils/functions";
import { useDebounced } from "@web/core/utils/timing";

/** Milliseconds without a key after which a server is asked how an argument may go on. */
const COMPLETE_DELAY = 200;

/** Arguments that are texts, with what their server offers to complete them. */
export class CompletedForm extends Component {
    static template = "woow_paas_platform.CompletedForm";
    static props = {
        /** {name, title?, description?, required}[] */
        fields: Array,
        submitLabel: { type: [String, Object] },
        isBusy: { type: Boolean, optional: true },
        /** (name, value, values of the others) → Promise of what the value may become. */
        complete: Function,
        /** Told the values that are not empty. */
        onSubmit: Function,
    };

    setup() {
        this.id = uniqueId("o_ai_chat_completed_");
        this.form = useRef("form");
        this.state = useState({ values: {}, offers: {} });
        this.complete = useDebounced((name) => this.loadOffers(name), COMPLETE_DELAY);
        useEffect(
            () => this.form.el.querySelector("input")?.focus(),
            () => []
        );
    }

    onInput(name, ev) {
        this.state.values[name] = ev.target.value;
        this.complete(name);
    }

    async loadOffers(name) {
        const { [name]: value = "", ...others } = this.state.values;
        this.state.offers[name] = await this.props.complete(name, value, others);
    }

    submit() {
        const given = Object.entries(this.state.values).filter(([, value]) => value);
        this.props.onSubmit(Object.fromEntries(given));
    }
}
