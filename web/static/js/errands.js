// Looks again while the server is at something that this page waits for, and shows the page anew once that is over.

import { call } from "./api.js";

const LOOK_MS = 1000;
const job = document.querySelector("[data-job]").dataset.job;

async function look() {
  const found = await call("GET", `/jobs/${job}/errands`).catch(() => null);
  if (found && !Object.values(found.errands).some(({ running }) => running)) location.reload();
  else setTimeout(look, LOOK_MS);
}

if (document.querySelector("[data-errand]")) setTimeout(look, LOOK_MS);
