// A uPlot plugin that marks the phases of a run: bands, a line at each start, names on top.

import { css } from "./colours.js";

export const ROOM = 16; // CSS pixels above the plot for the names

/** `current` gives the spans and the present second whenever a chart is drawn. */
export function phasesPlugin(current) {
  const spansOf = (u) => visible(u, current());
  return {
    hooks: {
      drawClear: (u) => spansOf(u).forEach((span) => band(u, span)),
      draw: (u) => spansOf(u).reduce((free, span) => mark(u, span, free), 0),
    },
  };
}

function visible(u, { phases, now }) {
  const { min, max } = u.scales.x;
  if (min == null) return [];
  return phases
    .map(({ phase, start_s, end_s }) => ({ phase, start: start_s, from: Math.max(start_s, min), to: Math.min(end_s ?? now, max) }))
    .filter(({ from, to }) => to >= from);
}

function band(u, { phase, from, to }) {
  if (!["walk", "index"].includes(phase)) return;
  const { ctx, bbox } = u;
  const [left, right] = [u.valToPos(from, "x", true), u.valToPos(to, "x", true)];
  ctx.save();
  ctx.fillStyle = css("panel");
  ctx.fillRect(left, bbox.top, right - left, bbox.height);
  ctx.restore();
}

/** A line and the name, unless it would run into the next line or into the name before, which ends at `free`. */
function mark(u, { phase, start, from, to }, free) {
  const { ctx, bbox, pxRatio } = u;
  const [left, right] = [u.valToPos(from, "x", true), u.valToPos(to, "x", true)];
  ctx.save();
  ctx.font = `${Math.round(11 * pxRatio)}px ${getComputedStyle(document.body).fontFamily}`;
  ctx.fillStyle = ctx.strokeStyle = css("faint");
  ctx.lineWidth = pxRatio;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  ctx.setLineDash([]);
  if (start >= from) {
    ctx.globalAlpha = 0.6;
    ctx.beginPath();
    ctx.moveTo(Math.round(left) + 0.5, bbox.top - 12 * pxRatio);
    ctx.lineTo(Math.round(left) + 0.5, bbox.top + bbox.height);
    ctx.stroke();
    ctx.globalAlpha = 1;
  }
  const [begin, width] = [left + 4 * pxRatio, ctx.measureText(phase).width];
  const fits = width + 8 * pxRatio <= right - left && begin >= free;
  if (fits) ctx.fillText(phase, begin, bbox.top - 4 * pxRatio);
  ctx.restore();
  return fits ? begin + width : free;
}
