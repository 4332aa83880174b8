// One panel of the timeline as a chart: uPlot, its key, and the values under the mouse.

import { make } from "./api.js";
import { areaFill, css, lookOf } from "./colours.js";
import { clock, trimmed, writer } from "./format.js";
import { Keys, lastOf } from "./keys.js";
import { pausesPlugin } from "./pauses.js";
import { ROOM, phasesPlugin } from "./phases.js";

const HEIGHT = 200;
const AXIS_FONT = '11px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400];
const SYNC = "run";

export class Chart {
  /** `run` has {range(), zoomed(min, max), spans()}: what all charts of the page share. */
  constructor(panel, run) {
    this.run = run;
    this.plot = make("div", { className: "plot" });
    this.keys = new Keys((id) => this.toggle(id));
    this.title = make("span");
    this.unit = make("span", { className: "unit" });
    this.caption = make("figcaption", {}, this.title, this.unit);
    this.element = make("figure", { className: "chart" }, this.caption, this.plot, this.keys.element);
    this.hidden = new Set();
    this.show(panel, [], 0);
  }

  /** Show another panel, or the same one with other points. */
  show(panel, t, end) {
    const same = this.uplot && this.panel.id === panel.id && sameSeries(this.panel, panel);
    this.panel = panel;
    this.t = t;
    this.end = end;
    this.write = writer(panel.unit);
    this.ticks = writer(panel.unit, trimmed);
    this.element.dataset.panel = panel.id;
    this.title.textContent = panel.title;
    this.unit.textContent = /\/(second|hour)/.test(panel.title) ? "" : panel.unit;
    if (same) this.update();
    else this.rebuild();
  }

  rebuild() {
    this.uplot?.destroy();
    this.uplot = null;
    this.plot.replaceChildren();
    this.keys.draw(this.panel, this.hidden);
    if (!this.hasValues()) {
      this.plot.append(make("div", { className: "nothing" }, "no values"));
      return;
    }
    this.uplot = new window.uPlot(this.options(), this.aligned(), this.plot);
    this.plot.querySelector("canvas").setAttribute("role", "img");
    this.update();
  }

  update() {
    if (!this.uplot) {
      if (this.hasValues()) this.rebuild();
      return;
    }
    const [min, max] = this.run.range();
    this.uplot.batch(() => {
      this.uplot.setData(this.aligned(), false);
      this.uplot.setScale("x", { min, max });
    });
    this.label();
    this.keys.values(this.panel, this.write, this.uplot.cursor.idx);
  }

  resize() {
    if (this.uplot && this.plot.clientWidth) this.uplot.setSize({ width: this.plot.clientWidth, height: HEIGHT });
  }

  hasValues() {
    return this.panel.series.some((series) => series.values.some((value) => value != null));
  }

  /** The data as uPlot draws it: stacked panels summed up from below, series hidden by their key left out. A value
   *  holds from the beginning of its bucket to the next; the last one gets a point more, where its bucket ends. */
  aligned() {
    const log = this.logarithmic();
    let below = null;
    const rows = this.panel.series.map((series) => {
      if (this.panel.kind !== "stacked") return log ? series.values.map((v) => (v > 0 ? v : null)) : series.values;
      const shown = !this.hidden.has(series.id);
      below = series.values.map((value, i) => {
        const under = below?.[i] ?? null;
        return value == null || !shown ? under : (under ?? 0) + value;
      });
      return below;
    });
    return [[...this.t, this.end], ...rows.map((values) => [...values, values.at(-1) ?? null])];
  }

  logarithmic() {
    return this.panel.unit === "µs";
  }

  options() {
    const { series } = this.panel;
    const stacked = this.panel.kind === "stacked";
    return {
      width: this.plot.clientWidth || 600,
      height: HEIGHT,
      padding: [ROOM, 22, 0, 0],
      legend: { show: false },
      cursor: {
        drag: { x: true, y: false, setScale: false },
        points: { size: 5 },
        sync: { key: SYNC, filters: { pub: (type) => type === "mousemove" || type === "mouseleave" } },
        bind: { dblclick: () => () => this.run.zoomed(null, null) },
      },
      scales: {
        x: { time: false },
        y: this.logarithmic() ? { distr: 3 } : { range: (_u, min, max) => [Math.min(0, min ?? 0), max > 0 ? max * 1.06 : 1] },
      },
      axes: [this.axis({ incrs: STEPS, values: (_u, splits, _a, _s, step) => splits.map((v) => clock(v, step)), size: 28 }),
        this.axis({ values: (_u, splits) => splits.map((v) => (v == null ? "" : this.ticks(v))), size: 52 })],
      series: [{}, ...series.map((_one, index) => this.seriesOptions(index, stacked))],
      bands: stacked ? series.slice(1).map((_one, index) => ({ series: [index + 2, index + 1] })) : [],
      plugins: [phasesPlugin(() => this.run.spans()), pausesPlugin(() => this.run.spans())],
      hooks: {
        setCursor: [(u) => this.keys.values(this.panel, this.write, u.cursor.idx)],
        setSelect: [(u) => this.selected(u)],
      },
    };
  }

  axis(more) {
    const faint = () => css("faint");
    const decades = (_u, splits) => splits.map((v) => (Number.isInteger(Math.log10(v)) ? v : null));
    const grid = { stroke: () => css("grid"), width: 1, filter: this.logarithmic() && !more.incrs ? decades : (_u, splits) => splits };
    return { stroke: faint, font: AXIS_FONT, grid, ticks: { ...grid, size: 4 }, gap: 4, ...more };
  }

  seriesOptions(index, stacked) {
    const look = lookOf(this.panel, index);
    const colour = () => css(look.variable);
    const shown = stacked || !this.hidden.has(this.panel.series[index].id);
    const points = { size: 5, show: false, filter: () => this.alone(index) };
    const paths = window.uPlot.paths.stepped({ align: 1 });
    if (!stacked) return { paths, stroke: colour, width: 1.6, dash: look.dash, points, show: shown };
    return { paths, stroke: colour, width: 1, points, show: shown, fill: (u) => areaFill(u.ctx, colour(), look.hatched, u.pxRatio) };
  }

  /** Points without neighbours: no line shows them. */
  alone(index) {
    const { values } = this.panel.series[index];
    return values.flatMap((value, i) => (value != null && values[i - 1] == null && values[i + 1] == null ? [i] : []));
  }

  /** Zoom all charts to the range that was dragged over. */
  selected(u) {
    const { left, width } = u.select;
    if (width === 0) return;
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (width > 4) this.run.zoomed(u.posToVal(left, "x"), u.posToVal(left + width, "x"));
  }

  toggle(id) {
    if (!this.hidden.delete(id)) this.hidden.add(id);
    this.keys.mark(this.hidden);
    if (this.panel.kind !== "stacked") {
      this.panel.series.forEach((series, index) => this.uplot?.setSeries(index + 1, { show: !this.hidden.has(series.id) }));
    }
    this.update();
  }

  label() {
    const values = this.panel.series.slice(0, 12).map((series) => `${series.label} ${this.write(lastOf(series.values))}`);
    this.plot.querySelector("canvas")?.setAttribute("aria-label", `${this.panel.title}: ${values.join(", ")}`);
  }
}

function sameSeries(one, other) {
  return one.series.length === other.series.length && one.series.every((series, i) => series.id === other.series[i].id);
}
