import { Component, useState } from "@odoo/owl";

/** An assistant's image, or the first letter of its name. */
export class Face extends Component {
    static template = "woow_paas_platform.Face";
    static props = {
        assistant: Object,
        isLarge: { type: Boolean, optional: true },
    };

    setup() {
        /** The image is gone, or no longer for this person. */
        this.state = useState({ broken: "" });
    }

    get url() {
        const { image_url: url } = this.props.assistant;
        return url && url !== this.state.broken ? url : "";
    }

    get initial() {
        return (this.props.assistant.name || "").trim().slice(0, 1).toUpperCase() || "?";
    }
}
