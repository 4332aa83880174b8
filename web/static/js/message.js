// A message that outlives a reload: the reloaded page shows the new state, and the message what was done.

import { many } from "./format.js";

const KEY = "message";

/** What a tag request found and changed, and the jobs that still use the earlier state of the tag. */
export function tagged(answer, remove) {
  const done = `${many(answer.found, "item")} found, ${answer.changed.toLocaleString("en")} of them ${remove ? "no longer have" : "now have"} the tag ${answer.tag}.`;
  return { path: location.pathname, done, unaware: answer.unaware ?? [] };
}

/** Store the message and reload; without storage show it at once and do not reload. */
export function showAfterReload(message) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(message));
  } catch {
    show(message);
    return;
  }
  location.reload();
}

function show({ done, unaware }) {
  const place = document.querySelector("[data-message]");
  if (!place) return;
  place.replaceChildren(done);
  place.classList.toggle("calm", unaware.length === 0);
  place.setAttribute("role", unaware.length ? "alert" : "status");
  for (const job of unaware) {
    const link = document.createElement("a");
    link.href = `/jobs/${encodeURIComponent(job)}`;
    link.textContent = `job ${job}`;
    place.append(" ", link, " uses this tag and selected its items before the change: cancel it and create it again.");
  }
  place.hidden = false;
}

/** Show the stored message of this page once. */
function recall() {
  let kept = null;
  try {
    kept = JSON.parse(sessionStorage.getItem(KEY));
    sessionStorage.removeItem(KEY);
  } catch {
    return;
  }
  if (kept?.path === location.pathname) show(kept);
}

recall();
