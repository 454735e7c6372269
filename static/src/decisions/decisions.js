import {
    Component,
    onWillStart,
    onWillUnmount,
    useEffect,
    useExternalListener,
    useRef,
    useState,
} from "@odoo/owl";
import { browser } from "@web/core/browser/browser";
import { _t } from "@web/core/l10n/translation";
import { registry } from "@web/core/registry";
import { useService } from "@web/core/utils/hooks";
import { McpApi } from "../core/mcp_api";
import { TryAgain } from "../core/try_again";
import { DecisionList, LIST_SIZE } from "./decision_list";
import { DecisionRow, KINDS } from "./decision_row";

const CHANGED = "woow_ai/decisions";

/** All that waits for the person's decision: of chats and of MCP clients. */
export class Decisions extends Component {
    static template = "woow_paas_platform.Decisions";
    static components = { DecisionRow, TryAgain };
    static props = {};

    setup() {
        this.root = useRef("root");
        this.list = useState(new DecisionList(useService("ai_chat").api, new McpApi()));
        onWillStart(async () => {
            await this.list.load();
            await this.list.openAsked(new URLSearchParams(browser.location.search).get("open"));
        });
        useExternalListener(document, "visibilitychange", () => this.onVisible());
        const { bus_service: bus } = this.env.services;
        const reload = () => this.list.load();
        bus?.subscribe(CHANGED, reload); // where the page hears it: in the backend
        onWillUnmount(() => bus?.unsubscribe(CHANGED, reload));
        useEffect(
            () => this.keepFocus(),
            () => [this.list.gone, this.list.rows.length]
        );
    }

    /** Back from a page to visit, a sign-in or a client, which may have asked for more. */
    onVisible() {
        if (document.visibilityState === "visible" && !this.list.isBusy) {
            this.list.load();
        }
    }

    /** What was decided with goes from the screen: its focus goes to what took its place. */
    keepFocus() {
        const { gone } = this.list;
        if (gone === null) {
            return;
        }
        this.list.gone = null;
        if (document.activeElement && document.activeElement !== document.body) {
            return;
        }
        const heads = this.root.el.querySelectorAll(".o_woow_decision_head");
        const next = heads[Math.min(Math.max(gone, 0), heads.length - 1)];
        (next || this.root.el.querySelector("h1")).focus();
    }

    kindLabel(kind) {
        return KINDS[kind];
    }

    get hasFilters() {
        const { assistants, kinds, from, kind } = this.list;
        return from || kind || kinds.length > 1 || assistants.length > 1;
    }

    get hasClients() {
        return this.list.kinds.includes("client_call");
    }

    get rest() {
        return this.list.total > LIST_SIZE
            ? _t(
                  "The newest %(shown)s of %(total)s are shown. The others follow when you decide.",
                  {
                      shown: LIST_SIZE,
                      total: this.list.total,
                  }
              )
            : "";
    }

    get selectedLabel() {
        return _t("%(count)s selected", { count: this.list.selected.length });
    }

    get areAllOpen() {
        return this.list.shown.every(({ isOpen }) => isOpen);
    }
}

registry.category("lazy_components").add("woow_paas_platform.Decisions", Decisions);
registry.category("public_components").add("woow_paas_platform.Decisions", Decisions);
