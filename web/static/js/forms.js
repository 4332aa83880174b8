// Forms that call the API: data-path and data-method are the request, data-then the next page. Errors are shown at their
// fields. With data-tagging the reloaded page shows how many items changed.

import { ApiError, call } from "./api.js";
import { tagged, showAfterReload } from "./message.js";

/** The values of the fields, without empty ones and without those whose data-unless field has a value. */
export function values(form) {
  const body = {};
  for (const field of form.elements) {
    if (!field.name || (field.type === "radio" && !field.checked)) continue;
    if (field.type === "checkbox") body[field.name] = field.checked;
    else if (field.value.trim() === "") continue;
    else if (field.type === "select-multiple") body[field.name] = [...field.selectedOptions].map(({ value }) => value);
    else if ("lines" in field.dataset) body[field.name] = field.value.split("\n"); // each at its number, empty ones too
    else if (field.type === "textarea" || "list" in field.dataset) body[field.name] = field.value.split(/\r?\n/).filter(Boolean); // spaces count
    else body[field.name] = field.type === "number" ? Number(field.value) : field.value.trim();
  }
  for (const field of form.querySelectorAll("[data-unless]")) if (field.dataset.unless in body) delete body[field.name];
  return body;
}

function clear(form) {
  for (const error of form.querySelectorAll(".error")) error.textContent = "";
  for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
}

/** A message at each invalid field; other messages are shown at the button. */
function complain(form, error) {
  const entries = Object.entries(error.fields ?? {});
  let first = null;
  const rest = entries.length ? [] : [error.message];
  for (const [path, message] of entries) {
    const name = path.split(".")[0];
    const field = form.elements.namedItem(name);
    const place = form.querySelector(`#error-${CSS.escape(name)}`);
    if (!field || !place) {
      rest.push(`${path}: ${message}`);
      continue;
    }
    place.textContent = message;
    if (field instanceof Element) field.setAttribute("aria-invalid", "true");
    first ??= field;
  }
  const other = form.querySelector("[data-rest]");
  if (other) other.textContent = rest.join("; ");
  first?.closest("details")?.setAttribute("open", "");
  first?.focus?.();
}

/** Send the form; returns the answer, or null when it was refused: then the form shows why. */
export async function send(form) {
  clear(form);
  const buttons = [...form.querySelectorAll("button[type=submit]")];
  for (const button of buttons) button.disabled = true;
  try {
    return await call(form.dataset.method ?? "POST", form.dataset.path, form.dataset.method === "DELETE" ? undefined : values(form));
  } catch (error) {
    complain(form, error instanceof ApiError ? error : new ApiError(0, String(error), {}));
    return null;
  } finally {
    for (const button of buttons) button.disabled = false;
  }
}

async function submit(event) {
  event.preventDefault();
  const form = event.currentTarget;
  const answer = await send(form);
  if (answer === null) return;
  if ("tagging" in form.dataset) return showAfterReload(tagged(answer, values(form).remove));
  const then = form.dataset.then;
  if (then) location.assign(then.replace("{id}", encodeURIComponent(answer.id)));
  else location.reload();
}

for (const form of document.querySelectorAll("form[data-path]:not([data-own])")) form.addEventListener("submit", submit);
