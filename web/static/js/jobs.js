// The list of jobs, whose rows change while jobs run, and the button of an empty installation.

import { call } from "./api.js";

const REFRESH_MS = 2000; // while a job runs
const REST_MS = 10000;
const POLL_MS = 1000;
const SAMPLE = { name: "sample", profile: "reference", scale: 0.001 };
const list = document.querySelector("#jobs");
const start = document.querySelector("[data-sample]");

/** Rows come from the server as it would draw them; only what changed is replaced, so that a focus stays. */
async function refresh() {
  if (!document.hidden) {
    const answer = await fetch(`${location.pathname}${location.search}`, { headers: { Accept: "text/html" } }).catch(() => null);
    const page = answer && new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = answer?.ok ? page.querySelector("#jobs") : null;
    if (fresh) update(fresh);
    say(fresh ? "" : page?.querySelector("[role=alert]")?.textContent ?? "The server does not answer; trying again.");
  }
  schedule();
}

function update(fresh) {
  const rows = [...list.querySelectorAll("tbody tr")];
  const others = [...fresh.querySelectorAll("tbody tr")];
  const same = rows.length === others.length && rows.every((row, i) => row.id === others[i].id);
  if (!same) list.replaceChildren(...fresh.childNodes);
  else rows.forEach((row, i) => row.outerHTML !== others[i].outerHTML && !row.contains(document.activeElement) && row.replaceWith(others[i]));
}

function say(line) {
  const notice = document.querySelector("#connection");
  notice.textContent = line;
  notice.hidden = !line;
}

function schedule() {
  setTimeout(refresh, list.querySelector("[data-moving]") ? REFRESH_MS : REST_MS);
}

/** Generate a small corpus, create a job over it, and show that. */
async function runSample() {
  const progress = document.querySelector("#sample-progress");
  const problem = document.querySelector("#sample-error");
  start.disabled = true;
  problem.textContent = "";
  try {
    progress.textContent = "Generating the sample corpus …";
    await ended((await call("POST", "/measurements/generate", SAMPLE)).id);
    const { corpora } = await call("GET", "/corpora");
    const corpus = corpora.find(({ name }) => name === SAMPLE.name);
    progress.textContent = "Creating the job …";
    const job = await call("POST", "/jobs", { corpus: corpus.id, name: SAMPLE.name });
    location.assign(`/jobs/${job.id}`);
  } catch (error) {
    progress.textContent = "";
    problem.textContent = error.message;
    start.disabled = false;
  }
}

/** Wait for a measurement; throws with its last line where it failed. */
async function ended(id) {
  for (;;) {
    const { state, line } = await call("GET", `/measurements/${id}`);
    if (state === "completed") return;
    if (!["running", "cancelling"].includes(state)) throw new Error(`The corpus was not generated: ${line || state}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

start?.addEventListener("click", runSample);
schedule();
