// The list of jobs: the form that creates one, and rows that move while jobs run.

import { ApiError, call } from "./api.js";

const REFRESH_MS = 2000; // while a job moves
const REST_MS = 10000;
const form = document.querySelector("#create");
const list = document.querySelector("#jobs");

function values() {
  const body = {};
  for (const field of form.elements) {
    if (!field.name) continue;
    if (field.type === "checkbox") body[field.name] = field.checked;
    else if (field.value.trim() === "") continue;
    else if (field.type === "textarea") body[field.name] = field.value.split(/\r?\n/).filter(Boolean); // spaces count
    else body[field.name] = field.type === "number" ? Number(field.value) : field.value.trim();
  }
  if (body.source) delete body.corpus; // a directory that was typed is meant instead
  return body;
}

function clear() {
  for (const error of form.querySelectorAll(".error")) error.textContent = "";
  for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
}

/** A message at each field that is wrong; what belongs to none stands above the button. */
function complain(error) {
  const entries = Object.entries(error.fields ?? {});
  let first = null;
  const rest = entries.length ? [] : [error.message];
  for (const [name, message] of entries) {
    const field = form.elements.namedItem(name);
    const place = document.querySelector(`#error-${CSS.escape(name)}`);
    if (!field || !place) {
      rest.push(`${name}: ${message}`);
      continue;
    }
    place.textContent = message;
    field.setAttribute("aria-invalid", "true");
    first ??= field;
  }
  document.querySelector("#error-form").textContent = rest.join("; ");
  first?.closest("details")?.setAttribute("open", "");
  first?.focus();
}

async function create(event) {
  event.preventDefault();
  clear();
  const button = form.querySelector("button[type=submit]");
  button.disabled = true;
  try {
    const { id } = await call("POST", "/jobs", values());
    location.assign(`/jobs/${encodeURIComponent(id)}`);
  } catch (error) {
    complain(error instanceof ApiError ? error : new ApiError(0, String(error), {}));
    button.disabled = false;
  }
}

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

form?.addEventListener("submit", create);
schedule();
