// The colour, dash or hatching of a series. An operation has the same one in every chart of every run.

const OPS = ["read", "write", "open", "stat", "close", "create", "scan", "rename", "fsync", "mkdir", "remove"];
const PALETTE = 12;
const FREE = 5; // the grey one
const DASHES = [[], [7, 4], [2, 3]];
const DASH_NAMES = ["", "dashed", "dotted"];

/** A CSS variable's value now, in light or dark. */
export function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** How the n-th series of a panel looks: {variable, dash, name of the dash, hatched}. */
export function lookOf(panel, index) {
  const id = panel.series[index].id;
  const since = id.match(/^(.*)_since_start$/);
  if (since) {
    const now = panel.series.findIndex((series) => series.id === `${since[1]}_now`);
    return look(now < 0 ? index : now, "dashed");
  }
  if (id === "free") return look(FREE); // the unused part
  const op = panel.kind === "stacked" ? OPS.indexOf(id) : -1;
  return look(op >= 0 ? op : index);
}

/** Twelve colours; the second six have dashes too, for readers who cannot tell all colours apart. */
function look(number, forced) {
  const dash = forced ? DASH_NAMES.indexOf(forced) : Math.floor(number / (PALETTE / 2)) % DASHES.length;
  return { variable: `s${number % PALETTE}`, dash: DASHES[dash], dashName: DASH_NAMES[dash], hatched: number >= PALETTE };
}

/** A fill for an area: even for the first twelve, hatched for those whose colour repeats. */
export function areaFill(context, colour, hatched, ratio) {
  if (!hatched) return colour;
  const size = Math.round(6 * ratio);
  const tile = document.createElement("canvas");
  tile.width = tile.height = size;
  const draw = tile.getContext("2d");
  draw.strokeStyle = colour;
  draw.lineWidth = size / 3;
  draw.beginPath();
  for (const shift of [-size, 0, size]) {
    draw.moveTo(shift, size);
    draw.lineTo(shift + size, 0);
  }
  draw.stroke();
  return context.createPattern(tile, "repeat");
}
