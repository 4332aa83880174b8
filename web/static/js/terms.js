// The hit report of a list of terms: read from a file here if there is one, reported by the API, drawn as a table.

import { API, make } from "./api.js";
import { send, values } from "./forms.js";
import { whole } from "./format.js";

const NUMBERS = ["items", "items_with_family", "families", "unique_items", "unique_families"];
const COLUMNS = ["line", "term", "custodian", "items", "with family", "families", "only this: items", "families"];
const form = document.querySelector("#terms");
const text = document.querySelector("#f-terms");
const base = document.querySelector("[data-base]").dataset.base;

/** A list as people's programs write it: by its mark, else UTF-8, else cp1252. */
export function decoded(bytes) {
  const mark = [...new Uint8Array(bytes.slice(0, 2))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const named = { fffe: "utf-16le", feff: "utf-16be" }[mark];
  if (named) return new TextDecoder(named).decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

function row(line, term, custodian, hits) {
  const words = [line, term, custodian].map((value, at) => make("td", { className: at === 1 ? "wide name" : "name" }, value));
  return make("tr", {}, ...words, ...NUMBERS.map((name) => make("td", { className: "number" }, whole(hits[name]))));
}

function rows({ terms, total, custodians }) {
  const out = [];
  for (const term of terms) {
    const link = make("a", { href: `${base}/search?${new URLSearchParams({ q: term.term })}` }, term.term);
    const again = term.same_as_line ? `  (as line ${term.same_as_line})` : "";
    out.push(row(String(term.line), make("span", {}, link, again), "", term));
    for (const one of term.custodians) out.push(row("", "", one.custodian, one));
  }
  out.push(row("", "any term", "", total));
  return out.concat(custodians.map((one) => row("", "", one.custodian, one)));
}

function draw(report) {
  const head = COLUMNS.map((name, at) => make("th", { className: at > 2 ? "number" : "" }, name));
  const table = make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows(report)));
  document.querySelector("#report").replaceChildren(table);
  document.querySelector("#said").textContent = `${whole(report.total.items)} of ${whole(report.searched_items)} items`;
}

async function save() {
  const answer = await fetch(`${API}${form.dataset.path}.csv`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(values(form)),
  });
  if (!answer.ok) return;
  const link = make("a", { href: URL.createObjectURL(await answer.blob()), download: "terms.csv" });
  link.click();
  URL.revokeObjectURL(link.href);
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const report = await send(form);
  if (report === null) return;
  draw(report);
  if (event.submitter?.value === "csv") await save();
});
document.querySelector("#f-file").addEventListener("change", async ({ target }) => {
  const [file] = target.files;
  if (file) text.value = decoded(await file.arrayBuffer());
});
