// Suggestions for the filters, loaded when a field is first entered because counting a large job takes a moment.

import { call, make } from "./api.js";
import { many } from "./format.js";

const MOST = 500;
const job = document.querySelector("[data-job]").dataset.job;
const form = document.querySelector("#filters");

function fill(list, rows) {
  const options = rows.slice(0, MOST).map(({ name, items }) => make("option", { value: name, label: many(items, "item") }));
  list.replaceChildren(...options);
}

function summed(jobs) {
  const byName = new Map();
  for (const { media_types: types } of jobs) for (const { name, items } of types) byName.set(name, (byName.get(name) ?? 0) + items);
  return [...byName].map(([name, items]) => ({ name, items })).sort((a, b) => b.items - a.items);
}

async function suggest() {
  const counts = await call("GET", `/jobs/${job}/counts`).catch(() => null);
  if (!counts) return;
  fill(document.querySelector("#custodians"), counts.custodians);
  fill(document.querySelector("#types"), summed(counts.jobs));
}

form.addEventListener("focusin", suggest, { once: true });
