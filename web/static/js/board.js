// All charts of a run: in sections, zoomed together, redrawn when light turns dark or the window's width changes.

import { make } from "./api.js";
import { Chart } from "./chart.js";
import { clock } from "./format.js";

const SECTIONS = [
  ["Throughput", /^(gb_per_hour|items|exceptions)$/],
  ["Storage calls", /^(calls|latency_.*)$/],
  ["Databases and queue", /^(database_.*|queue)$/],
  ["Workers", /^(slots|worker_.*|run_queue)$/],
  ["Wire, block devices, array", /^(wire|block|space|array|emulated)_/],
  ["Other", /./],
];
const LATENCY = "latency_";
const WINDOWS = [[60, "last minute"], [600, "last 10 minutes"], [3600, "last hour"]];

export class Board {
  constructor(element) {
    this.element = element;
    this.charts = new Map();
    this.zoom = null;
    this.window = null;
    this.timeline = null;
    this.op = null;
    this.buttons = make("div", { className: "zoom", role: "group", "aria-label": "time shown" });
    element.append(this.buttons);
    new ResizeObserver(() => this.each((chart) => chart.resize())).observe(element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.each((chart) => chart.rebuild()));
  }

  each(action) {
    this.charts.forEach(action);
  }

  /** Draw what the timeline holds; new panels get a chart, known ones the new points. */
  show(timeline) {
    this.timeline = timeline;
    const { panels, t, step_s: step, now_s: now } = timeline.data;
    const end = t.length ? Math.max(t.at(-1), Math.min(t.at(-1) + step, now)) : now;
    const latencies = panels.filter((panel) => panel.id.startsWith(LATENCY));
    const shown = panels.filter((panel) => !panel.id.startsWith(LATENCY));
    const chosen = this.chosen(latencies);
    if (chosen) shown.splice(shown.findIndex((panel) => panel.id === "calls") + 1, 0, chosen);
    for (const panel of shown) {
      const key = panel.id.startsWith(LATENCY) ? LATENCY : panel.id;
      if (!this.charts.has(key)) this.place(key, panel);
      this.charts.get(key).show(panel, t, end);
    }
    this.drawPicks(latencies);
    this.drawButtons();
  }

  chosen(latencies) {
    const byOp = (op) => latencies.find((panel) => panel.id === LATENCY + op);
    return byOp(this.op) ?? byOp("read") ?? latencies[0];
  }

  place(key, panel) {
    const chart = new Chart(panel, this);
    this.charts.set(key, chart);
    const number = SECTIONS.findIndex(([, ids]) => ids.test(panel.id));
    this.section(number).append(chart.element);
  }

  section(number) {
    const id = `section-${number}`;
    const found = this.element.querySelector(`#${id} .charts`);
    if (found) return found;
    const charts = make("div", { className: "charts" });
    const made = make("section", { id }, make("h2", {}, SECTIONS[number][0]), charts);
    const after = [...this.element.querySelectorAll("section")].find((other) => Number(other.id.split("-")[1]) > number);
    this.element.insertBefore(made, after ?? null);
    return charts;
  }

  /** One latency chart for all ops, and a field to choose the op. */
  drawPicks(latencies) {
    const chart = this.charts.get(LATENCY);
    if (!chart) return;
    chart.pick ??= chart.caption.appendChild(this.picker());
    const ops = latencies.map((panel) => panel.id.slice(LATENCY.length));
    if (chart.pick.dataset.ops !== ops.join()) {
      chart.pick.dataset.ops = ops.join();
      chart.pick.replaceChildren(...ops.map((op) => make("option", { value: op }, op)));
    }
    chart.pick.value = chart.panel.id.slice(LATENCY.length);
  }

  picker() {
    const select = make("select", { className: "pick", "aria-label": "latency of which op" });
    select.addEventListener("change", () => {
      this.op = select.value;
      this.show(this.timeline);
    });
    return select;
  }

  /** The seconds that all charts show. */
  range() {
    const end = Math.max(this.timeline.data.now_s, this.timeline.data.step_s);
    if (this.zoom) return this.zoom;
    return this.window ? [Math.max(0, end - this.window), end] : [0, end];
  }

  phases() {
    return { phases: this.timeline?.data.phases ?? [], now: this.timeline?.data.now_s ?? 0 };
  }

  /** A chart was zoomed: all follow. Nulls show everything again. */
  zoomed(min, max) {
    this.zoom = min == null ? null : [min, max];
    this.window = null;
    this.redraw();
  }

  redraw() {
    this.each((chart) => chart.update());
    this.drawButtons();
  }

  drawButtons() {
    const end = this.timeline.data.now_s;
    const fitting = WINDOWS.filter(([seconds]) => seconds < end);
    const choices = [[null, "whole run"], ...fitting];
    const said = this.zoom ? `${clock(this.zoom[0], 0.1)} to ${clock(this.zoom[1], 0.1)} since the first claim` : "";
    const state = JSON.stringify([choices, said, this.window]);
    if (this.buttons.dataset.state === state) return;
    this.buttons.dataset.state = state;
    this.buttons.replaceChildren(
      make("span", { className: "faint" }, "Time shown:"),
      ...choices.map(([seconds, label]) => this.button(seconds, label)),
      make("span", { className: "faint" }, said || "drag in a chart to zoom all of them, double click for the whole run"),
    );
  }

  button(seconds, label) {
    const button = make("button", { type: "button" }, label);
    button.setAttribute("aria-pressed", String(!this.zoom && this.window === seconds));
    button.addEventListener("click", () => {
      this.zoom = null;
      this.window = seconds;
      this.redraw();
    });
    return button;
  }
}
