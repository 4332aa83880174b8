// The hit report of a list of terms: the API computes it, this draws it as a table. Files are read here.

import { make } from "./api.js";
import { send, values } from "./forms.js";
import { many, whole } from "./format.js";

const NUMBERS = ["items", "items_with_family", "families", "unique_items", "unique_families"];
const COLUMNS = ["line", "term", "custodian", "items", "with family", "families", "unique: items", "families"];
const CSV_FIELDS = ["line", "term", "same_as_line", "custodian", ...NUMBERS]; // as the API's terms.csv has them
const BEGINS_FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/; // core.csv_cells
let shown = { sent: "", report: null };
const form = document.querySelector("#terms");
const text = document.querySelector("#f-terms");
const base = document.querySelector("[data-base]").dataset.base;

/** The text of a file: by its byte order mark, else UTF-8, else cp1252. */
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

/** The search for the items that a line counts. */
function query(term, custodian) {
  return custodian ? `(${term}) AND custodian_is:"${custodian.replace(/["\\]/g, "\\$&")}"` : term;
}

function rows({ terms, total, custodians }, custodian) {
  const out = [];
  for (const term of terms) {
    const href = `${base}/search?${new URLSearchParams({ q: query(term.term, custodian) })}`;
    const link = make("a", { href }, term.term);
    const again = term.same_as_line ? `  (as line ${term.same_as_line})` : "";
    out.push(row(String(term.line), make("span", {}, link, again), "", term));
    for (const one of term.custodians) out.push(row("", "", one.custodian, one));
  }
  out.push(row("", "any term", "", total));
  return out.concat(custodians.map((one) => row("", "", one.custodian, one)));
}

function draw(report, custodian) {
  const head = COLUMNS.map((name, at) => make("th", { className: at > 2 ? "number" : "" }, name));
  const table = make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows(report, custodian)));
  document.querySelector("#report").replaceChildren(table);
  document.querySelector("#total").textContent = `${whole(report.total.items)} of ${many(report.searched_items, "item")}`;
}

function cell(value) {
  const text = `${BEGINS_FORMULA.test(value) ? "'" : ""}${value}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The API's terms.csv from the answer at hand, because computing it again may take minutes. */
function csv({ terms, total, custodians }) {
  const lines = [CSV_FIELDS];
  const add = (words, hits) => lines.push([...words, ...NUMBERS.map((name) => hits[name])]);
  for (const term of terms) {
    const words = [term.line, term.term, term.same_as_line ?? ""];
    add([...words, ""], term);
    for (const one of term.custodians) add([...words, one.custodian], one);
  }
  add(["", "any term", "", ""], total);
  for (const one of custodians) add(["", "any term", "", one.custodian], one);
  return lines.map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}

function save(report) {
  const file = new Blob([csv(report)], { type: "text/csv" });
  const link = make("a", { href: URL.createObjectURL(file), download: "terms.csv" });
  link.click();
  URL.revokeObjectURL(link.href);
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const order = values(form);
  const sent = JSON.stringify(order);
  const download = event.submitter?.value === "csv";
  if (!download || sent !== shown.sent) {
    const report = await send(form);
    if (report === null) return;
    shown = { sent, report };
    draw(report, order.custodian);
  }
  if (download) save(shown.report);
});
document.querySelector("#f-file").addEventListener("change", async ({ target }) => {
  const [file] = target.files;
  if (file) text.value = decoded(await file.arrayBuffer());
});
