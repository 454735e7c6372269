import { Component, onWillDestroy, onWillStart, useState } from "@odoo/owl";
import { loadBundle } from "@web/core/assets";
import { _t } from "@web/core/l10n/translation";
import { registry } from "@web/core/registry";
import { formatFloat } from "@web/core/utils/numbers";
import { formatMonetary, formatPercentage } from "@web/views/fields/formatters";
import { useService } from "@web/core/utils/hooks";
import { DayChart } from "./day_chart";

const { DateTime } = luxon;
/** Colours of the states of servers, as in lists and cards; of any other one a warning's. */
const STYLES = { connected: "success", error: "danger", auth_required: "danger", draft: "info" };
const MODULE = "woow_paas_platform";
const STEP_TAKEN = "woow_ai/step_taken";
const NUMBERS = ["turns", "failed", "calls", "errors", "tokens"];

/** The steps from nothing to the first answer, each with what it opens. */
const STEPS = [
    {
        name: "provider",
        title: _t("Add a model"),
        about: _t("Any endpoint that speaks the OpenAI API."),
        button: _t("Add a model"),
        model: "ai.config",
    },
    {
        name: "tools",
        title: _t("Add tools"),
        about: _t("The address of an MCP server; its tools are discovered automatically."),
        button: _t("Add an MCP server"),
        model: `${MODULE}.mcp_server`,
    },
    {
        name: "assistant",
        title: _t("Create an assistant"),
        about: _t("A model with instructions and tools, for the people you choose."),
        button: _t("Create an assistant"),
        model: "ai.assistant",
    },
    {
        name: "answer",
        title: _t("Ask the first question"),
        about: _t("Everything is ready when the assistant answers."),
        button: _t("Open the chat"),
        action: `${MODULE}.ai_chat_action`,
    },
];

/** The app's first page for administrators. */
export class Overview extends Component {
    static template = "woow_paas_platform.Overview";
    static components = { DayChart };
    static props = {};

    setup() {
        this.action = useService("action");
        this.orm = useService("orm");
        this.state = useState({ data: null });
        const bus = useService("bus_service");
        const onServer = () => this.load(); // its tools were found, or it failed
        bus.subscribe("woow_ai/mcp_server", onServer);
        // A step's dialog may outlive the page that opened it: a page that took its place hears of it, even before it
        // is drawn.
        const onStep = () => this.load();
        this.env.bus.addEventListener(STEP_TAKEN, onStep);
        onWillDestroy(() => {
            bus.unsubscribe("woow_ai/mcp_server", onServer);
            this.env.bus.removeEventListener(STEP_TAKEN, onStep);
        });
        onWillStart(() => Promise.all([loadBundle("web.chartjs_lib"), this.load()]));
    }

    async load() {
        const visit = (this.visit = (this.visit || 0) + 1);
        const data = await this.orm.call(`${MODULE}.overview`, "get_overview", []);
        if (visit === this.visit || !this.state.data) {
            this.state.data = data; // an older answer may come after a newer one
        }
    }

    get data() {
        return this.state.data;
    }

    // Set-up -----------------------------------------------------------------

    get isSetUp() {
        return Object.values(this.data.setup).every(Boolean);
    }

    /** The first step that is not done is the one to take. */
    get steps() {
        const { provider_id: providerId } = this.data;
        const next = STEPS.find(({ name }) => !this.data.setup[name]);
        return STEPS.map((step, index) => ({
            ...step,
            number: index + 1,
            isDone: this.data.setup[step.name],
            isNext: step === next,
            // a model that is there has only to show that it answers
            ...(step.name === "provider" &&
                providerId && { button: _t("Test the model"), resId: providerId }),
        }));
    }

    takeStep({ model, action, resId }) {
        if (action) {
            return this.action.doAction(action);
        }
        return this.action.doAction(
            {
                type: "ir.actions.act_window",
                name: resId ? _t("Test the model") : _t("New"),
                res_model: model,
                res_id: resId || false,
                views: [[false, "form"]],
                target: "new",
                context: model === "ai.assistant" ? this.data.first_assistant : {},
            },
            { onClose: () => this.env.bus.trigger(STEP_TAKEN) }
        );
    }

    // Numbers ----------------------------------------------------------------

    count(value) {
        return formatFloat(value || 0, { digits: [false, 0] });
    }

    get numbers() {
        const { days } = this.data;
        const labels = {
            turns: _t("Questions"),
            failed: _t("Unanswered"),
            calls: _t("Tool calls"),
            errors: _t("Failed calls"),
            tokens: _t("Tokens"),
        };
        const numbers = NUMBERS.map((name) => ({
            name,
            label: labels[name],
            today: this.count(days.at(-1)[name]),
            month: this.count(days.reduce((sum, day) => sum + day[name], 0)),
        }));
        if (this.isRated) {
            numbers.push({
                name: "good",
                label: _t("Good ratings"),
                today: this.goodShare(days.slice(-1)),
                month: this.goodShare(days),
            });
        }
        return numbers;
    }

    get isRated() {
        return this.data.days.some(({ good, bad }) => good || bad);
    }

    /** @returns {string} of the ratings of these days; a dash if there are none */
    goodShare(days) {
        const sumOf = (name) => days.reduce((sum, day) => sum + day[name], 0);
        const all = sumOf("good") + sumOf("bad");
        return all ? formatPercentage(sumOf("good") / all, { digits: [false, 0] }) : "–";
    }

    get charts() {
        const [good, bad, plain, muted] = ["#3d8f6b", "#c9483f", "#71639e", "#8a8d93"];
        const ratings = {
            title: _t("Ratings per day"),
            series: [
                { name: "good", label: _t("Good"), color: good },
                { name: "bad", label: _t("Bad"), color: bad },
            ],
        };
        return [
            {
                title: _t("Questions per day"),
                series: [
                    { name: "done", label: _t("Answered"), color: good },
                    { name: "stopped", label: _t("Stopped"), color: muted },
                    { name: "failed", label: _t("Unanswered"), color: bad },
                ],
            },
            {
                title: _t("Tool calls per day"),
                series: [
                    { name: "ok", label: _t("Done"), color: good },
                    { name: "prevented", label: _t("Not allowed or stopped"), color: muted },
                    { name: "errors", label: _t("Failed calls"), color: bad },
                ],
            },
            {
                title: _t("Tokens per day"),
                series: [{ name: "tokens", label: _t("Tokens"), color: plain }],
            },
            ...(this.isRated ? [ratings] : []),
        ];
    }

    // Costs ------------------------------------------------------------------

    money(amount) {
        return formatMonetary(amount, { currencyId: this.data.costs.currency_id });
    }

    /** What was spent, with the assistants that cost most. */
    get costs() {
        const { today, month, before, assistants } = this.data.costs;
        return {
            rows: [
                { name: "today", label: _t("Today"), amount: this.money(today) },
                { name: "month", label: _t("Last 30 days"), amount: this.money(month) },
                { name: "before", label: _t("The 30 days before"), amount: this.money(before) },
            ],
            assistants: assistants.map(({ id, name, amount }) => ({
                key: id || 0,
                name: name || _t("Without an assistant"),
                amount: this.money(amount),
            })),
        };
    }

    openCosts() {
        return this.action.doAction(`${MODULE}.cost_action`);
    }

    // What needs somebody ----------------------------------------------------

    get tasks() {
        const { servers, waiting, reviews } = this.data;
        const tasks = servers.map(({ state, label, count }) => ({
            key: state,
            label,
            count: this.count(count),
            style: STYLES[state] || "warning",
            open: () =>
                this.open(_t("MCP Servers"), `${MODULE}.mcp_server`, [["state", "=", state]]),
        }));
        return { servers: tasks, waiting: this.count(waiting), reviews: this.count(reviews) };
    }

    openWaiting() {
        return this.open(_t("Waiting for a decision"), `${MODULE}.ai_turn`, [
            ["state", "=", "waiting"],
        ]);
    }

    openReviews() {
        return this.open(_t("Tools to review"), `${MODULE}.mcp_tool`, [
            ["review_state", "in", ["new", "changed"]],
        ]);
    }

    open(name, model, domain) {
        return this.action.doAction({
            type: "ir.actions.act_window",
            name,
            res_model: model,
            views: [
                [false, "list"],
                [false, "form"],
            ],
            domain,
        });
    }

    openRecord({ model, id }) {
        return this.action.doAction({
            type: "ir.actions.act_window",
            res_model: model,
            res_id: id,
            views: [[false, "form"]],
        });
    }

    moment(iso) {
        return iso ? DateTime.fromISO(iso).toLocaleString(DateTime.DATETIME_MED) : "";
    }

    kind({ model }) {
        return model.endsWith("mcp_server") ? _t("MCP server") : _t("Question");
    }
}

registry.category("lazy_components").add("woow_paas_platform.Overview", Overview);
