// What came of a form, said on the page that is loaded anew for it: the page shows what is there now, and this what was done.

const KEY = "told";

/** What a tag call found and changed, and which jobs go on by what the tag was before. */
export function tagged(answer, remove) {
  const done = `${answer.found.toLocaleString("en")} items found, ${answer.changed.toLocaleString("en")} of them ${remove ? "lost" : "got"} the tag ${answer.tag}.`;
  return { path: location.pathname, done, unaware: answer.unaware ?? [] };
}

/** Keep it for the page that comes; where nothing can be kept it is said at once, and the page is not loaded anew. */
export function tellAndReload(told) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(told));
  } catch {
    say(told);
    return;
  }
  location.reload();
}

function say({ done, unaware }) {
  const place = document.querySelector("[data-told]");
  if (!place) return;
  place.replaceChildren(done);
  place.classList.toggle("calm", unaware.length === 0);
  place.setAttribute("role", unaware.length ? "alert" : "status");
  for (const job of unaware) {
    const link = document.createElement("a");
    link.href = `/jobs/${encodeURIComponent(job)}`;
    link.textContent = `job ${job}`;
    place.append(" ", link, " goes by this tag and had chosen its items before: cancel it and make it anew.");
  }
  place.hidden = false;
}

/** What was kept for this page, once. */
function recall() {
  let kept = null;
  try {
    kept = JSON.parse(sessionStorage.getItem(KEY));
    sessionStorage.removeItem(KEY);
  } catch {
    return;
  }
  if (kept?.path === location.pathname) say(kept);
}

recall();
