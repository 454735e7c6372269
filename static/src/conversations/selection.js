import { Reactive } from "@web/core/utils/reactive";

/** The conversations of the list that something is done to at once. */
export class Selection extends Reactive {
    constructor() {
        super();
        this.isOn = false;
        this.ids = [];
    }

    start(...ids) {
        this.isOn = true;
        this.ids = ids;
    }

    stop() {
        this.isOn = false;
        this.ids = [];
    }

    has(id) {
        return this.ids.includes(id);
    }

    toggle(id) {
        this.ids = this.has(id) ? this.ids.filter((one) => one !== id) : [...this.ids, id];
    }

    /** Those of the chosen ones that the list still shows. */
    of(conversations) {
        return conversations.filter(({ id }) => this.has(id));
    }
}
