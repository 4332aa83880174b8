// Polls while a background task of this job runs, and reloads the page when it has ended.

import { call } from "./api.js";

const LOOK_MS = 1000;
const job = document.querySelector("[data-job]").dataset.job;

async function look() {
  const found = await call("GET", `/jobs/${job}/background-tasks`).catch(() => null);
  if (found && !Object.values(found.background_tasks).some(({ running }) => running)) location.reload();
  else setTimeout(look, LOOK_MS);
}

if (document.querySelector("[data-background]")) setTimeout(look, LOOK_MS);
