/* global Chart */

import { Component, onWillUnmount, useEffect, useRef, xml } from "@odoo/owl";

const { DateTime } = luxon;

/** Numbers of each day as bars, stacked. */
export class DayChart extends Component {
    static template = xml`
        <div class="o_woow_chart position-relative">
            <canvas t-ref="canvas" role="img" t-att-aria-label="props.label"/>
        </div>`;
    static props = {
        label: [String, Object],
        days: Array,
        /** {name, label, color}: which number of a day, and how it is shown */
        series: Array,
    };

    setup() {
        this.canvas = useRef("canvas");
        useEffect(
            () => this.draw(),
            () => [this.props.days]
        );
        onWillUnmount(() => this.chart?.destroy());
    }

    draw() {
        this.chart?.destroy();
        const { days, series } = this.props;
        const color = getComputedStyle(this.canvas.el).color;
        const scale = { stacked: true, grid: { display: false }, ticks: { color } };
        this.chart = new Chart(this.canvas.el, {
            type: "bar",
            data: {
                labels: days.map(({ day }) =>
                    DateTime.fromISO(day).toLocaleString({ month: "short", day: "numeric" })
                ),
                datasets: series.map(({ name, label, color: backgroundColor }) => ({
                    label,
                    backgroundColor,
                    data: days.map((day) => day[name]),
                })),
            },
            options: {
                animation: false,
                maintainAspectRatio: false,
                plugins: { legend: { display: series.length > 1, labels: { color } } },
                scales: {
                    x: scale,
                    y: { ...scale, beginAtZero: true, ticks: { color, precision: 0 } },
                },
            },
        });
    }
}
