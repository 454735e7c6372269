import { Component } from "@odoo/owl";
import { browser } from "@web/core/browser/browser";

/** Where the person signs in again, and comes back from to this page. */
export function signInUrl() {
    const { pathname, search } = browser.location;
    return `/web/login?redirect=${encodeURIComponent(pathname + search)}`;
}

/** What helps after a request that failed: to sign in where the session is over, else to ask again. */
export class TryAgain extends Component {
    static template = "woow_paas_platform.TryAgain";
    static props = {
        error: Object,
        onRetry: Function,
        className: { type: String, optional: true },
    };

    signInUrl = signInUrl;
}

/** Why a request failed, beside what made it; where the session is over, with a way to sign in that loses nothing here. */
export class RequestError extends Component {
    static template = "woow_paas_platform.RequestError";
    static props = {
        /** An error of the API, or a sentence. */
        error: [Object, String],
        className: { type: String, optional: true },
    };
    static defaultProps = { className: "mb-2" };

    signInUrl = signInUrl;
}

/**
 * Runs an action, and keeps in `state` that it runs (`isBusy`) and how it failed (`error`).
 *
 * @param {{isBusy: boolean, error: ?Error}} state
 * @param {() => Promise<void>} action
 */
export async function attempt(state, action) {
    Object.assign(state, { isBusy: true, error: null });
    try {
        await action();
    } catch (error) {
        state.error = error;
    }
    state.isBusy = false;
}
