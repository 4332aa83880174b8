// One measurement: polls its state and the end of its output while it runs.

import { wireActions } from "./actions.js";
import { API, call } from "./api.js";

const LOOK_MS = 1000;
const root = document.querySelector("[data-measurement]");
const path = `/measurements/${root.dataset.measurement}`;
const log = document.querySelector("#log");

async function look() {
  const log = await fetch(`${API}${path}/log`).catch(() => null);
  if (log?.ok) {
    const text = await log.text();
    const below = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
    if (text !== log.textContent) log.textContent = text;
    if (below) log.scrollTop = log.scrollHeight;
  }
  const found = await call("GET", path).catch(() => null);
  if (found) {
    const state = document.querySelector("#state");
    state.textContent = found.state;
    state.className = `state ${found.state}`;
    if (found.ended) {
      location.reload();
      return;
    }
  }
  setTimeout(look, LOOK_MS);
}

log.scrollTop = log.scrollHeight;
wireActions(root, async () => {
  document.querySelector("#cancel").disabled = false;
});
if (root.dataset.state === "running" || root.dataset.state === "cancelling") setTimeout(look, LOOK_MS);
