// The key of a chart: which series is which, a button each that hides it, and the values under the cursor.

import { make } from "./api.js";
import { lookOf } from "./colours.js";

export class Keys {
  /** `toggle` is called with a series' id. */
  constructor(toggle) {
    this.toggle = toggle;
    this.element = make("div", { className: "keys" });
    this.buttons = new Map();
    this.outputs = [];
  }

  draw(panel, hidden) {
    this.outputs = panel.series.map(() => make("output"));
    this.buttons = new Map(panel.series.map((series, index) => [series.id, this.button(panel, index)]));
    this.element.replaceChildren(...this.buttons.values());
    this.mark(hidden);
  }

  button(panel, index) {
    const { id, label } = panel.series[index];
    const look = lookOf(panel, index);
    const kind = panel.kind === "stacked" ? `area ${look.hatched ? "hatched" : ""}` : look.dashName;
    const swatch = make("span", { className: `swatch ${kind}`.trim() });
    swatch.style.setProperty("--c", `var(--${look.variable})`);
    const button = make("button", { type: "button" }, swatch, make("span", { className: "name" }, label), this.outputs[index]);
    button.addEventListener("click", () => this.toggle(id));
    return button;
  }

  mark(hidden) {
    for (const [id, button] of this.buttons) button.setAttribute("aria-pressed", String(!hidden.has(id)));
  }

  /** The values at a point of the axis, or the last ones. */
  values(panel, write, at) {
    panel.series.forEach(({ values }, index) => {
      const value = at == null ? lastOf(values) : values[Math.min(at, values.length - 1)];
      this.outputs[index].textContent = write(value);
    });
  }
}

/** The last value that is known; null where none is. */
export function lastOf(values) {
  for (let i = values.length - 1; i >= 0; i--) if (values[i] != null) return values[i];
  return null;
}
