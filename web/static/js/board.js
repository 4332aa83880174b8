// All charts of a run: in sections, zoomed together, redrawn when light turns dark or the window's width changes.

import { make } from "./api.js";
import { Chart } from "./chart.js";
import { over } from "./figures.js";
import { clock } from "./format.js";
import { stretches } from "./pauses.js";

const SECTIONS = [
  ["Throughput", /^(gb_per_hour|items|exceptions|moved|files|file_time)$/],
  ["Storage calls", /^(calls|latency_.*)$/],
  ["Databases and queue", /^(database_.*|queue)$/],
  ["Workers", /^(slots|worker_.*|run_queue)$/],
  ["Storage: wire, disks, space, array", /^(wire|block|space|array|emulated)_/],
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
    const select = make("select", { className: "pick", "aria-label": "operation of the latency chart" });
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

  /** Phases and pauses as they are known now. */
  spans() {
    const { phases = [], pauses = [], now_s: now = 0, state = "" } = this.timeline?.data ?? {};
    return { phases, pauses, now, over: over(state) };
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
    const between = stretches(this.spans());
    const range = this.zoom ? `${clock(this.zoom[0], 0.1)} to ${clock(this.zoom[1], 0.1)} since ${this.timeline.data.since ?? "the first claim"}` : "";
    const state = JSON.stringify([choices, between, range, this.window]);
    if (this.buttons.dataset.state === state) return;
    this.buttons.dataset.state = state;
    this.buttons.replaceChildren(
      make("span", { className: "faint" }, "Time shown:"),
      ...choices.map(([seconds, label]) => this.button(label, !this.zoom && this.window === seconds, () => this.showLast(seconds))),
      ...between.map(([from, to]) => {
        const shown = this.zoom?.[0] === from && this.zoom[1] === to;
        return this.button(`${clock(from)} – ${clock(to)}`, shown, () => this.zoomed(from, to));
      }),
      make("span", { className: "faint" }, range || "drag in a chart to zoom all charts, double-click for the whole run"),
    );
  }

  /** Show so many seconds up to now; null: the whole run. */
  showLast(seconds) {
    this.zoom = null;
    this.window = seconds;
    this.redraw();
  }

  button(label, pressed, act) {
    const button = make("button", { type: "button" }, label);
    button.setAttribute("aria-pressed", String(pressed));
    button.addEventListener("click", act);
    return button;
  }
}
