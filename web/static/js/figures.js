// The run page without its charts: bottleneck, labels, key figures, operations, phases, exceptions.

import { make } from "./api.js";
import { clock, duration, many, micros, scaled, short, whole } from "./format.js";
import { pauseName } from "./pauses.js";

const MOST_LETTERS = 44; // of a label; the rest is in its tooltip
const STOPPED = ["paused", "suspended"];

/** Whether no command can change the job any more, except delete. */
export function over(state) {
  return ["cancelled", "completed", "completed_with_exceptions"].includes(state);
}

function resting(state) {
  return over(state) || STOPPED.includes(state);
}

/** The jobs of a group, each in its row. */
export function showMembers(members) {
  for (const each of members) {
    const row = document.querySelector(`[data-member="${each.id}"]`);
    if (!row) continue;
    const pill = row.querySelector(".state");
    pill.className = `state ${each.state}`;
    pill.textContent = each.state.replaceAll("_", " ");
    const values = {
      phase: each.phase,
      rate: short(each.gb_per_hour_discovered),
      items: whole(each.items),
      exceptions: whole(each.exceptions),
      elapsed: duration(each.elapsed_s),
    };
    for (const [name, text] of Object.entries(values)) row.querySelector(`[data-of=${name}]`).textContent = text;
  }
}

/** Why a stopped job stopped and how it resumes; otherwise the bottleneck, or why none is named: then the first line of the
 *  evidence is the reason. */
function showVerdict({ verdict, evidence = [] }, state, why) {
  const box = document.querySelector("#verdict");
  const stopped = STOPPED.includes(state);
  box.className = `verdict${stopped ? " stopped" : verdict ? "" : " none"}`;
  const reason = verdict || stopped ? null : evidence[0];
  const known = stopped ? stoppedBecause(state, why) : verdict ?? reason ?? "no bottleneck is known";
  const sentence = capital(known).replace(/\.$/, "");
  const rest = stopped ? [] : reason ? evidence.slice(1) : evidence;
  const list = rest.length ? [make("ul", {}, ...rest.map((line) => make("li", {}, line)))] : [];
  if (box.dataset.shown === sentence + rest.join()) return;
  box.dataset.shown = sentence + rest.join();
  box.replaceChildren(`${sentence}.`, ...list);
}

function stoppedBecause(state, why) {
  if (state === "paused") return "Paused; press Resume to continue";
  return `Suspended: ${why || "something that the job needs failed"}. Fix this, then press Resume; what was processed is kept`;
}

function capital(text) {
  return text[0].toUpperCase() + text.slice(1);
}

/** Like web.pages.render.short_label. */
function shortLabel(text) {
  return text.length > MOST_LETTERS ? text.split(/[:,(]/)[0].trim() : text;
}

/** Each label with its meaning as a tooltip, and a link to the page that explains it. */
function showLabels(labels) {
  const list = document.querySelector("#labels");
  const meanings = JSON.parse(document.querySelector("#label-meanings").dataset.meanings);
  const link = (text) => {
    const name = Object.keys(meanings).find((known) => text.startsWith(known));
    if (!name) return make("span", { className: "label", title: text }, shortLabel(text));
    const href = `/labels#${name.toLowerCase().replaceAll(" ", "-")}`;
    return make("a", { className: "label", href, title: `${meanings[name]} (${text})` }, shortLabel(text));
  };
  if (list.dataset.shown === labels.join()) return; // a focus stays where it is
  list.dataset.shown = labels.join();
  list.hidden = !labels.length;
  list.replaceChildren(...labels.map((text) => make("li", {}, link(text))));
}

/** The table of operations, with the classes of size of each. */
function showOperations(calls = {}) {
  const row = (name, one, className = "") => {
    const cells = [micros(one.p99_us), micros(one.p50_us), whole(one.count), one.bytes ? scaled(one.bytes, "B") : "", one.errors ? whole(one.errors) : ""];
    const head = make("td", { className: className && "faint" }, name);
    return make("tr", { className }, head, ...cells.map((text, at) => make("td", { className: at === 4 ? "number optional" : "number" }, text)));
  };
  const rows = Object.entries(calls).flatMap(([op, one]) => [
    row(op, one),
    ...Object.entries(one.sizes ?? {}).map(([size, of]) => row(size, of, "part")),
  ]);
  const section = document.querySelector("#operations");
  section.hidden = !rows.length;
  section.querySelector("tbody").replaceChildren(...rows);
}

function put(name, value, beside = "") {
  if (!document.querySelector(`[data-figure=${name}]`)) return; // raw: not of a job that takes the items of others
  document.querySelector(`[data-figure=${name}] .value > span`).textContent = value;
  document.querySelector(`[data-figure=${name}] .beside`).textContent = beside;
}

/** Figures of a run so far, and remarks on them. */
export function showFigures(timeline, job, state) {
  const { data } = timeline;
  showVerdict(data.limit ?? {}, state, job.reason);
  showLabels(data.labels);
  showOperations(data.calls);
  showSpans(data);
  showProgress(data, state);
  const elapsed = job.elapsed_s ?? data.now_s;
  const now = (series) => {
    const value = resting(state) ? null : timeline.last("gb_per_hour", series);
    return value == null ? "" : `now ${short(value)}`;
  };
  put("discovered", short(job.gb_per_hour_discovered), besides(now("discovered_now"), scaled(job.discovered_bytes, "B")));
  put("raw", short(job.gb_per_hour_raw), besides(now("raw_now"), scaled(job.raw_bytes, "B")));
  put("items", short(elapsed > 0 ? job.items / elapsed : null), many(job.items, "item"));
  put("calls", short(elapsed > 0 ? data.totals.calls / elapsed : null), besides(nowOf(timeline, state), many(data.totals.calls, "call")));
  put("elapsed", duration(elapsed), job.elapsed_note);
}

/** Calls a second in the last step, while the run lasts. */
function nowOf(timeline, state) {
  const values = (timeline.panel("calls")?.series ?? []).map((series) => series.values.at(-1) ?? 0);
  return resting(state) || !values.length ? "" : `now ${short(values.reduce((sum, value) => sum + value, 0))}`;
}

function showProgress(data, state) {
  const running = !over(state);
  const stopped = STOPPED.includes(state);
  document.querySelector("[data-figure=eta]").hidden = !running;
  put("eta", stopped ? "–" : duration(data.eta_s), stopped ? state : data.eta_s == null ? "not known yet" : "");
  const bar = document.querySelector("#progress");
  const share = running ? data.progress : state.startsWith("completed") ? 1 : data.progress;
  if (share == null) bar.removeAttribute("value");
  else bar.value = share;
  const phase = running ? `${data.phases.at(-1)?.phase ?? ""} ` : ""; // the share is of this phase, as on the command line
  document.querySelector("#share").textContent = share == null ? "share not known yet" : `${phase}${Math.floor(share * 100)} %`;
}

function besides(...parts) {
  return parts.filter((part) => part).join(" · ");
}

/** Phases and stops, with begin and end on the time axis, pauses included. */
function showSpans({ phases, pauses, now_s: now }) {
  const at = (seconds) => clock(seconds, now < 60 ? 0.1 : 1);
  const span = (name, { start_s, end_s }) => {
    const item = make("li", {}, `${name} ${end_s == null ? `since ${at(start_s)}` : `${at(start_s)} – ${at(end_s)}`}`);
    if (end_s == null) item.setAttribute("aria-current", "step");
    return item;
  };
  document.querySelector("#phases").replaceChildren(...phases.map((each) => span(each.phase, each)));
  const stops = pauses.map((each) => {
    const item = span(pauseName(each.state), each);
    item.prepend(make("span", { className: "swatch hatched" }));
    if (each.reason && each.end_s != null) item.append(`: ${each.reason}`); // the present one is in the sentence above
    return item;
  });
  const list = document.querySelector("#pauses");
  list.hidden = !stops.length;
  list.replaceChildren(...stops);
}

/** Exceptions by code, each with the way to its items, or to its CSV where the job has no items of its own. */
export function showExceptions(byCode) {
  const { leads } = document.querySelector("#exception-codes").dataset;
  const codes = Object.entries(byCode).sort(([a, m], [b, n]) => n - m || a.localeCompare(b));
  const total = codes.reduce((sum, [, count]) => sum + count, 0);
  put("exceptions", whole(total), codes.length ? many(codes.length, "code") : "");
  const rows = codes.map(([code, count]) => {
    const link = make("a", { href: leads + encodeURIComponent(code) }, code);
    return make("tr", {}, make("td", {}, link), make("td", { className: "number" }, whole(count)));
  });
  document.querySelector("#exception-codes tbody").replaceChildren(...rows);
  document.querySelector("#exception-codes").hidden = !rows.length;
}
