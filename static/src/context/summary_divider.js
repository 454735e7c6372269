import { Component } from "@odoo/owl";
import { Markdown } from "../markdown/markdown";
import { summarySentence } from "./context_numbers";

/** A line in the thread: what is above it, the assistant knows from a summary, which can be unfolded. */
export class SummaryDivider extends Component {
    static template = "woow_paas_platform.SummaryDivider";
    static components = { Markdown };
    static props = {
        /** The event `conversation_summary`. */
        summary: Object,
    };

    get sentence() {
        return summarySentence(this.props.summary);
    }
}
