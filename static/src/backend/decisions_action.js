import { Component, onMounted, onWillStart, onWillUnmount, useState, xml } from "@odoo/owl";
import { LazyComponent, loadBundle } from "@web/core/assets";
import { _t } from "@web/core/l10n/translation";
import { registry } from "@web/core/registry";
import { useService } from "@web/core/utils/hooks";
import { useDebounced } from "@web/core/utils/timing";
import { standardActionServiceProps } from "@web/webclient/actions/action_service";
import { CHAT_BUNDLE } from "./frame/chat_bundle";
import { pageTheme } from "./theme";

const ACTION = "woow_paas_platform.decisions_action";
const CHANGED = "woow_ai/decisions";
const SETTLED = 500; // ms; one answer may ask for several decisions

/** All that waits for the person's decision; the code comes when it is shown. */
export class DecisionsAction extends Component {
    static template = xml`
        <div class="o_action d-flex flex-column flex-grow-1 overflow-auto" t-att-data-bs-theme="theme">
            <LazyComponent bundle="'woow_paas_platform.assets_decisions'" Component="'woow_paas_platform.Decisions'"/>
        </div>`;
    static components = { LazyComponent };
    static props = { ...standardActionServiceProps };

    setup() {
        onWillStart(async () => {
            await loadBundle(CHAT_BUNDLE);
            await loadBundle("woow_paas_platform.assets_questions");
        });
    }

    get theme() {
        return pageTheme();
    }
}

registry.category("actions").add("woow_paas_platform.decisions", DecisionsAction);

/** The number of decisions in the bar at the top, as long as there are any. */
export class DecisionsSystray extends Component {
    static template = xml`
        <div t-if="state.count" class="o_woow_decisions_systray o-dropdown dropdown">
            <button type="button" class="o-dropdown dropdown-toggle o-no-caret position-relative" t-att-title="label" t-att-aria-label="label" t-on-click="open">
                <i class="fa fa-hand-paper-o" aria-hidden="true"/>
                <span class="badge rounded-pill text-bg-warning" aria-hidden="true" t-out="state.count"/>
            </button>
        </div>`;
    static props = {};

    setup() {
        this.http = useService("http");
        this.action = useService("action");
        this.state = useState({ count: 0 });
        const bus = useService("bus_service");
        const refresh = useDebounced(() => this.refresh(), SETTLED);
        bus.subscribe(CHANGED, refresh);
        onMounted(() => this.refresh());
        onWillUnmount(() => bus.unsubscribe(CHANGED, refresh));
    }

    async refresh() {
        try {
            this.state.count = (await this.http.get("/api/ai/decisions?limit=0")).total || 0;
        } catch {
            // it is told again with the next change
        }
    }

    get label() {
        return _t("Decisions: %(count)s waiting for you", { count: this.state.count });
    }

    open() {
        this.action.doAction(ACTION);
    }
}

registry
    .category("systray")
    .add("woow_paas_platform.DecisionsSystray", { Component: DecisionsSystray }, { sequence: 25 });
