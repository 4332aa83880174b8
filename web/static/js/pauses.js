// A uPlot plugin that hatches the time when nothing ran, with the state of the job.

import { areaFill, css } from "./colours.js";

const STOPPED = ["paused", "held", "suspended"];
const MUCH = 0.3; // share of pauses from which the time between them is hard to see
const MOST = 4; // intervals that are offered, the latest
const LEAST = 2; // CSS pixels: a short pause in a long run is still seen

/** What a pause is called: requeued jobs had ended before. */
export function pauseName(state) {
  return STOPPED.includes(state) ? state : "ended, then requeued";
}

/** The intervals in which something ran, if pauses take much of the run; [[from, to], …] in seconds. The current one is
 *  not included: its end moves. */
export function stretches({ pauses, now, over }) {
  const ends = pauses.map(({ start_s, end_s }) => [start_s, end_s ?? now]);
  const stopped = ends.reduce((sum, [from, to]) => sum + to - from, 0);
  if (stopped < MUCH * now) return [];
  const begins = [0, ...ends.map(([, to]) => to)];
  const found = begins.map((from, i) => [from, ends[i]?.[0] ?? (over ? now : from)]);
  return found.filter(([from, to]) => to - from >= 1).slice(-MOST);
}

/** `current` gives the spans and the present second whenever a chart is drawn. */
export function pausesPlugin(current) {
  return { hooks: { drawClear: (u) => visible(u, current()).forEach((span) => stretch(u, span)) } };
}

function visible(u, { pauses, now }) {
  const { min, max } = u.scales.x;
  if (min == null) return [];
  return pauses
    .map(({ state, start_s, end_s }) => ({ state, from: Math.max(start_s, min), to: Math.min(end_s ?? now, max) }))
    .filter(({ from, to }) => to >= from);
}

function stretch(u, { state, from, to }) {
  const { ctx, bbox, pxRatio } = u;
  const width = Math.max(u.valToPos(to, "x", true) - u.valToPos(from, "x", true), LEAST * pxRatio);
  const left = Math.min(u.valToPos(from, "x", true), bbox.left + bbox.width - width);
  ctx.save();
  ctx.globalAlpha = 0.3;
  ctx.fillStyle = areaFill(ctx, css("faint"), true, pxRatio);
  ctx.fillRect(left, bbox.top, width, bbox.height);
  ctx.restore();
  if (STOPPED.includes(state)) name(u, state, left, width);
}

/** Draw the word on a plain background, without the hatching, if it fits. */
function name(u, text, left, width) {
  const { ctx, bbox, pxRatio } = u;
  ctx.save();
  ctx.font = `${Math.round(11 * pxRatio)}px ${getComputedStyle(document.body).fontFamily}`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  const room = ctx.measureText(text).width + 8 * pxRatio;
  if (room <= width) {
    const middle = [left + width / 2, bbox.top + bbox.height / 2];
    ctx.fillStyle = css("paper");
    ctx.fillRect(middle[0] - room / 2, middle[1] - 9 * pxRatio, room, 18 * pxRatio);
    ctx.fillStyle = css("faint");
    ctx.fillText(text, ...middle);
  }
  ctx.restore();
}
