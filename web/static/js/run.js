// The run page: fetches the timeline once, then follows the server's events; nothing is reloaded.

import { allowActions, wireActions } from "./actions.js";
import { API, call } from "./api.js";
import { Board } from "./board.js";
import { over, showExceptions, showFigures, showMembers } from "./figures.js";
import { Timeline } from "./timeline.js";
import { wireTable } from "./wire.js";

const POINTS = 600;
const RETRY_MS = 3000;
const LAST_MS = 2000;
const OVERLAP_S = 5; // frames of a second may be stored some seconds later
const page = document.querySelector("[data-job]");
const id = page.dataset.job;
const board = new Board(document.querySelector("#board"));
let timeline = null;
let job = {};
let events = null;
let timer = null;

/** Fetch the run as it is, then follow it to its end. */
async function start() {
  clearTimeout(timer);
  events?.close();
  try {
    await details();
    await load();
  } catch (error) {
    if (error.status === 404) say(error.message); // it was deleted meanwhile
    else again(error.message);
    return;
  }
  say("");
  if (!over(job.state)) return follow();
  showWire();
  showBounds();
}

function follow() {
  events = new EventSource(`${API}/jobs/${id}/events?since=${Math.max(0, timeline.data.now_s - OVERLAP_S)}`);
  events.addEventListener("open", () => say(""));
  events.addEventListener("timeline", ({ data }) => take(JSON.parse(data)));
  events.addEventListener("job", ({ data }) => changed(JSON.parse(data)));
  events.addEventListener("problem", ({ data }) => say(JSON.parse(data).error));
  events.addEventListener("end", end);
  events.addEventListener("error", () => {
    if (events.readyState === EventSource.CLOSED) again("The server ended the connection");
    else say("The connection was lost; trying again.");
  });
}

function again(line) {
  say(`${line}; trying again.`);
  timer = setTimeout(start, RETRY_MS);
}

function take(next) {
  say(""); // the database answers again
  if (timeline.add(next)) show();
  else load().catch((error) => say(error.message));
}

function changed(row) {
  const { state } = job;
  job = { ...job, ...row };
  if (job.state !== state) details().then(show, () => {});
  else show();
}

/** The run has ended; its last second of calls is stored a moment later. */
function end() {
  events.close();
  timer = setTimeout(start, LAST_MS);
}

/** The job's row with the actions that are possible now. */
async function details() {
  job = await call("GET", `/jobs/${id}`);
}

async function load() {
  timeline = new Timeline(await call("GET", `/jobs/${id}/timeline?points=${POINTS}`));
  show();
}

/** After the run, and only with an NFS mount. */
async function showWire() {
  document.querySelector("#wire")?.remove();
  if (!timeline.data.panels.some((panel) => /^wire_\d/.test(panel.id))) return;
  const table = await wireTable(id).catch(() => null);
  if (table) document.querySelector("#exception-codes").before(table);
}

/** Show the outcome of the bounds of a job that ended while this page was open. */
async function showBounds() {
  const rows = [...document.querySelectorAll("#bounds tbody tr")];
  if (!rows.some((row) => row.querySelector(".open"))) return;
  const { bounds } = await call("GET", `/jobs/${id}/result`).catch(() => ({}));
  (bounds ?? []).forEach(({ shown, failed }, at) => {
    const outcome = failed ? "failed" : "passed";
    rows[at].children[1].textContent = shown;
    Object.assign(rows[at].querySelector(".state"), { className: `state ${outcome}`, textContent: outcome });
  });
}

function say(line) {
  const notice = document.querySelector("#connection");
  notice.textContent = line;
  notice.hidden = !line;
}

function show() {
  const state = job.state ?? timeline.data.state;
  showState(state);
  showFigures(timeline, job, state);
  showExceptions(timeline.data.exceptions.by_code);
  showMembers(job.jobs ?? []);
  board.show(timeline);
}

function showState(state) {
  const pill = document.querySelector("#state");
  pill.className = `state ${state}`;
  pill.textContent = state.replaceAll("_", " ");
  const reason = ["suspended", "paused"].includes(state) ? job.problem : job.problem ?? job.reason; // or in the sentence below
  document.querySelector("#reason").textContent = reason ?? "";
  document.title = document.title.replace(/^.*? · /, `${state.replaceAll("_", " ")} · `);
  allowActions(page, job.allowed ?? []);
}

wireActions(page, start);
start();
