import { Component } from "@odoo/owl";
import { browser } from "@web/core/browser/browser";

/** What helps after a request that failed: to sign in where the session is over, else to ask again. */
export class TryAgain extends Component {
    static template = "woow_paas_platform.TryAgain";
    static props = {
        error: Object,
        onRetry: Function,
        className: { type: String, optional: true },
    };

    get signInUrl() {
        const { pathname, search } = browser.location;
        return `/web/login?redirect=${encodeURIComponent(pathname + search)}`;
    }
}
