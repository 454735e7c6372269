import { Component, onMounted, useState } from "@odoo/owl";
import { lazyComponent, loadComponent } from "./lazy_component";
import { TryAgain } from "../core/try_again";

const BUNDLE = "woow_paas_platform.assets_questions";

/** A card that asks the person; the code of such cards comes with the first one that is shown. */
export class LazyQuestion extends Component {
    static template = "woow_paas_platform.LazyQuestion";
    static components = { TryAgain };
    static props = {
        /** Of the card. */
        name: String,
        props: Object,
    };

    setup() {
        this.state = useState({ card: lazyComponent(this.props.name), error: null });
        onMounted(() => this.state.card || this.load());
    }

    async load() {
        this.state.error = null;
        try {
            this.state.card = await loadComponent(BUNDLE, this.props.name);
        } catch (error) {
            this.state.error = error;
        }
    }
}
