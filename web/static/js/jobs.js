// The list of jobs: rows that move while jobs run.

const REFRESH_MS = 2000; // while a job moves
const REST_MS = 10000;
const list = document.querySelector("#jobs");

/** Rows come from the server as it would draw them; only what changed is replaced, so that a focus stays. */
async function refresh() {
  if (!document.hidden) {
    const answer = await fetch(`${location.pathname}${location.search}`, { headers: { Accept: "text/html" } }).catch(() => null);
    if (answer?.ok) {
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("#jobs");
      if (fresh) update(fresh);
    }
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

function schedule() {
  setTimeout(refresh, list.querySelector("[data-moving]") ? REFRESH_MS : REST_MS);
}

schedule();
