// The page of a storage test: reads its state once a second while its command runs.

import { call, make } from "./api.js";
import { Board } from "./board.js";
import { clock } from "./format.js";
import { Timeline } from "./timeline.js";

const EACH_MS = 1000;
const SHOWN = 12; // the last runs, on one line
const board = new Board(document.querySelector("#board"));

async function look() {
  try {
    show(await call("GET", "/profile/timeline"));
    say("");
  } catch (error) {
    say(error.status ? error.message : "The command has ended or does not answer.");
  }
  setTimeout(look, EACH_MS);
}

function show(seen) {
  document.querySelector("#doing").textContent = seen.doing;
  document.querySelector("#runs").replaceChildren(...seen.phases.slice(-SHOWN).map(run));
  document.querySelector("#outcomes").replaceChildren(...seen.said.map((line) => make("li", {}, line)));
  board.show(new Timeline(seen));
}

function run({ phase, start_s: start, end_s: end }) {
  const item = make("li", {}, `${phase} ${clock(start)} – ${end == null ? "" : clock(end)}`);
  if (end == null) item.setAttribute("aria-current", "step");
  return item;
}

function say(line) {
  const notice = document.querySelector("#connection");
  notice.textContent = line;
  notice.hidden = !line;
  const state = document.querySelector("#state");
  state.textContent = line ? "not running" : "running";
  state.className = line ? "state paused" : "state running";
}

look();
