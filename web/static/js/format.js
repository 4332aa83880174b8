// Numbers with units and at most three significant digits.

const GROUPED = new Intl.NumberFormat("en-GB");

/** 12,345 */
export function whole(value) {
  return value == null ? "–" : GROUPED.format(Math.round(value));
}

/** 1 item, 12,345 items */
export function many(number, noun) {
  return `${whole(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** Three significant digits: 0.12, 3.46, 34.6, 346, 3,460 */
export function short(value) {
  if (value == null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 100 || Number.isInteger(value)) return GROUPED.format(Math.round(value));
  return value.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

const SCALES = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

/** 1.5 k, 20 M: for axes and long numbers; `unit` follows the prefix, as in 1.5 MB. */
export function scaled(value, unit = "") {
  if (value == null) return "–";
  const size = Math.abs(value);
  for (const [factor, prefix] of SCALES) {
    if (size >= factor) return `${trimmed(value / factor)} ${prefix}${unit}`;
  }
  return unit ? `${trimmed(value)} ${unit}` : trimmed(value);
}

/** Three significant digits without zeros at the end: for axes. */
export function trimmed(value) {
  return String(Number(value.toPrecision(3)));
}

/** 1 h 02 min, 3 min 20 s, 12 s, 3.5 s */
export function duration(seconds) {
  if (seconds == null) return "–";
  const rounded = Math.max(0, Math.round(seconds));
  if (rounded < 10) return `${Math.max(0, seconds).toFixed(1)} s`;
  if (rounded >= 3600) return `${Math.floor(rounded / 3600)} h ${two(Math.floor((rounded % 3600) / 60))} min`;
  if (rounded >= 60) return `${Math.floor(rounded / 60)} min ${two(rounded % 60)} s`;
  return `${rounded} s`;
}

function two(number) {
  return String(number).padStart(2, "0");
}

/** Seconds since the first claim, on a time axis: 0:05, 1:20:00; with tenths where the axis is that fine. */
export function clock(seconds, step = 1) {
  const digits = step < 1 ? 1 : 0;
  const total = digits ? Math.round(seconds * 10) / 10 : Math.round(seconds);
  const hours = Math.floor(total / 3600);
  const minutes = Math.floor((total % 3600) / 60);
  const rest = (total % 60).toFixed(digits).padStart(digits ? 4 : 2, "0");
  return hours ? `${hours}:${two(minutes)}:${rest}` : `${minutes}:${rest}`;
}

/** Start of the histograms' last bucket in microseconds; percentiles in it have no upper bound. */
const LIMIT = 2 ** 43 / 1000;

/** Microseconds in the unit that fits: 850 µs, 1.2 ms, 3 s */
export function micros(value) {
  if (value == null) return "–";
  if (value >= LIMIT) return "> 2.4 h";
  if (value >= 1e6) return `${trimmed(value / 1e6)} s`;
  if (value >= 1e3) return `${trimmed(value / 1e3)} ms`;
  return `${trimmed(value)} µs`;
}

/** Formats values of a unit; `number` formats values below 1,000 that have none. */
export function writer(unit, number = short) {
  if (unit === "µs") return micros;
  if (unit === "ms") return (value) => (value == null ? "–" : micros(value * 1000));
  if (unit === "%") return (value) => (value == null ? "–" : `${number(value)} %`);
  if (/^share/.test(unit)) return (value) => (value == null ? "–" : `${trimmed(value * 100)} %`);
  if (/^(bytes|B)(\/s)?$/.test(unit)) return (value) => scaled(value, unit.endsWith("/s") && number === short ? "B/s" : "B");
  return (value) => (value != null && Math.abs(value) < 1000 ? number(value) : scaled(value));
}
