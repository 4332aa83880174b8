// Keys: p and n move through the list, m to the next match; ignored while a field is edited.

const marks = [...document.querySelectorAll("pre.text mark")];
let at = -1;

function toNextMark() {
  if (!marks.length) return;
  marks[at]?.classList.remove("here");
  at = (at + 1) % marks.length;
  marks[at].classList.add("here");
  marks[at].scrollIntoView({ block: "center" });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, textarea, select")) return;
  if (event.key === "m") toNextMark();
  const link = { p: "#before", n: "#after" }[event.key];
  const href = link && document.querySelector(link).getAttribute("href");
  if (href) location.assign(href);
});
if (marks.length) toNextMark();
