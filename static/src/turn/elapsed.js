import { Component, onWillUnmount, useState, xml } from "@odoo/owl";
import { browser } from "@web/core/browser/browser";
import { _t } from "@web/core/l10n/translation";
import { formatSeconds } from "../core/format";

/** Milliseconds after which it is worth saying, and after which it is slow. */
const WORTH_SAYING = 4000;
const SLOW = 30000;

/** How long something has gone on since it came into view; no seconds for a screen reader, which would read each. */
export class Elapsed extends Component {
    static template = xml`
        <span t-if="text" class="o_ai_chat_elapsed" aria-hidden="true">· <t t-out="text"/></span>
        <span t-if="hint" class="o_ai_chat_slow w-100" t-out="hint"/>`;
    static props = {};

    setup() {
        const since = Date.now();
        this.state = useState({ ms: 0 });
        const timer = browser.setInterval(() => {
            this.state.ms = Date.now() - since;
        }, 1000);
        onWillUnmount(() => browser.clearInterval(timer));
    }

    get text() {
        const { ms } = this.state;
        return ms < WORTH_SAYING ? "" : formatSeconds(ms);
    }

    get hint() {
        return this.state.ms < SLOW
            ? ""
            : _t(
                  "This takes a while. You may leave this page: the answer will be here when you come back."
              );
    }
}
