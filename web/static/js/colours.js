// Which colour, dash or hatching a series has. An op has the same one in every chart, of every run.

const OPS = ["read", "write", "open", "stat", "close", "create", "scan", "rename", "fsync", "mkdir", "remove"];
const PALETTE = 6;
const CROWD = 12; // series that can still be told apart; of more, two colours take turns
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
    return look(now < 0 ? index : now, 1);
  }
  if (id === "free") return look(PALETTE - 1, 0); // beside what is used: empty, not another thing
  const op = panel.kind === "stacked" ? OPS.indexOf(id) : -1;
  if (op < 0 && panel.series.length > CROWD) return look(index % 2 ? PALETTE - 1 : 0, 0);
  const number = op >= 0 ? op : index;
  return look(number, Math.floor(number / PALETTE));
}

function look(number, round) {
  const dash = round % DASHES.length;
  return { variable: `s${number % PALETTE}`, dash: DASHES[dash], dashName: DASH_NAMES[dash], hatched: round > 0 };
}

/** A fill for an area: even for the first six, hatched for those whose colour comes round again. */
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
