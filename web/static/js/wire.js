// Wire-read ÷ call-read by phase, after a run over NFS: the share of its reads that the filer answered.

import { call, make } from "./api.js";
import { many, scaled, short } from "./format.js";

/** The table; null without an NFS mount. */
export async function wireTable(job) {
  const { wire } = await call("GET", `/jobs/${job}/result`);
  if (!wire) return null;
  const rows = [...Object.entries(wire.phases), ["whole run", wire.total]].map(([name, share]) => row(name, share));
  const head = ["read in", "by calls", "over the wire", "wire ÷ call", ""].map((text, i) => make("th", { className: i && i < 4 ? "number" : "" }, text));
  const table = make("table", { className: "close" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
  const others = wire.other_jobs ? ` ${many(wire.other_jobs, "other job")} ran at the same time; their reads may be included.` : "";
  const note = `All reads over these mounts are counted. Far below 1, a client's cache answered.${others}`;
  return make("section", { id: "wire" }, make("h2", {}, "Read by calls and over the wire"), make("div", { className: "table" }, table), make("p", { className: "small faint" }, note));
}

function row(name, share) {
  const ratio = share.ratio == null ? "–" : short(share.ratio);
  const cells = [scaled(share.call_read_bytes, "B"), scaled(share.wire_read_bytes, "B"), ratio].map((text) => make("td", { className: "number" }, text));
  return make("tr", {}, make("td", {}, name), ...cells, make("td", { className: "faint" }, share.why ?? ""));
}
