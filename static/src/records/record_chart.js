import { Component, useEffect, useRef, useState } from "@odoo/owl";
import { loadBundle } from "@web/core/assets";
import { _t } from "@web/core/l10n/translation";
import { formatExact } from "../core/format";
import { RecordTable } from "./record_table";
import { chartOf, groupRows } from "./record_values";

/** Readable on light and dark; the first is the theme's own. */
const COLOURS = [
    "#4c78c8",
    "#e0803a",
    "#3f9e6b",
    "#b55bb0",
    "#c9a227",
    "#3aa6b9",
    "#d1586a",
    "#8a7f72",
];
const BAR = 26; // px

/** Sums of groups: drawn, or as a table. Chart.js is Odoo's own copy, fetched with the first chart. */
export class RecordChart extends Component {
    static template = "woow_paas_platform.RecordChart";
    static components = { RecordTable };
    static props = { data: Object };

    setup() {
        this.canvas = useRef("canvas");
        this.state = useState({ measure: 0, isTable: false, isBroken: false });
        useEffect(
            () => {
                const drawing = { chart: null, isOver: false };
                if (this.canvas.el) {
                    this.draw(drawing);
                }
                return () => {
                    drawing.isOver = true;
                    drawing.chart?.destroy();
                };
            },
            () => [this.canvas.el, this.props.data, this.state.measure]
        );
    }

    get chart() {
        return this.state.isBroken ? null : chartOf(this.props.data, this.state.measure);
    }

    get isDrawn() {
        return Boolean(this.chart) && !this.state.isTable;
    }

    get table() {
        return groupRows(this.props.data);
    }

    get toggleLabel() {
        return this.state.isTable ? _t("Show as a chart") : _t("Show as a table");
    }

    get measureLabel() {
        return _t("Measure");
    }

    get label() {
        const { label, measures, group_by: groupings } = this.props.data;
        const names = groupings.map((one) => one.label).join(", ");
        return _t("%(model)s: %(measure)s by %(groups)s", {
            model: label,
            measure: measures[this.state.measure].label,
            groups: names,
        });
    }

    get more() {
        const { groups, total } = this.props.data;
        return total > groups.length
            ? _t("%(shown)s of %(total)s groups", { shown: groups.length, total })
            : "";
    }

    get height() {
        const { kind, labels } = this.chart;
        return kind === "line" ? 220 : Math.max(120, 60 + BAR * labels.length);
    }

    choose(ev) {
        this.state.measure = Number(ev.target.value);
    }

    async draw(drawing) {
        try {
            await loadBundle("web.chartjs_lib");
        } catch {
            this.state.isBroken = true;
            return;
        }
        if (!drawing.isOver && this.canvas.el) {
            drawing.chart = new window.Chart(this.canvas.el, this.config());
        }
    }

    config() {
        const { kind, labels, series } = this.chart;
        const colour = getComputedStyle(this.canvas.el).color;
        const grid = `color-mix(in srgb, ${colour} 15%, transparent)`;
        const isBar = kind === "bar";
        const ofValues = {
            beginAtZero: true,
            ticks: { color: colour, maxTicksLimit: 6 },
            grid: { color: grid },
        };
        const ofLabels = { ticks: { color: colour, autoSkip: !isBar }, grid: { display: false } };
        return {
            type: kind,
            data: {
                labels,
                datasets: series.map(({ name, values }, index) => ({
                    label: name,
                    data: values,
                    backgroundColor: COLOURS[index],
                    borderColor: COLOURS[index],
                    maxBarThickness: BAR,
                })),
            },
            options: {
                animation: false,
                maintainAspectRatio: false,
                responsive: true,
                indexAxis: isBar ? "y" : "x",
                scales: isBar ? { x: ofValues, y: ofLabels } : { x: ofLabels, y: ofValues },
                plugins: {
                    legend: { display: series.length > 1, labels: { color: colour } },
                    tooltip: {
                        callbacks: {
                            label: ({ dataset, raw }) => `${dataset.label}: ${formatExact(raw)}`,
                        },
                    },
                },
            },
        };
    }
}
