"""The summary's page: one table of all tests, and what must be known to read it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from controller.labels.advice import advice_on
from experiments.report import FILE as REPORT
from experiments.report.markup import Html, join, table, tag
from experiments.report.style import document
from experiments.result.schema import Result
from experiments.summary.rows import NO_RESULT, row_of, where
from experiments.summary.schema import PACKAGES, Summary

_HEADER = ("test", "of", "most", "what was found", "limit", "labels")


def summary_html(summary: Summary, results: Mapping[str, Result]) -> str:
    """Needs nothing but itself; each test's name leads to its own report in the package."""
    first = verdict(summary, results)
    made = f"{datetime.fromtimestamp(summary.created, UTC):%Y-%m-%d %H:%M} UTC"
    host = _host(results)
    return document(
        f"edbench bench storage all: {first}",
        tag("p", first, class_="verdict doubt" if _doubt(summary, results) else "verdict", role="note"),
        tag("h1", "edbench bench storage all"),
        tag("p", f"Run {summary.run_id}, {made}, edbench {summary.edbench}{host}.", class_="facts"),
        _table(summary, results),
        tag("p", "The highest is the median of the load with the highest rate; the limit is that of this load. A test that is CACHED, SHORT or"
            " NOT STEADY is not a result about the storage. 1 GB is 10⁹ bytes.", class_="note"),
        _storage(summary, results),
        _advice(results),
        tag("p", "Every figure here comes from a package below packages/, with its own report; edbench result check on this directory"
            " recomputes all of them from the records.", class_="note"),
    )  # fmt: skip


def verdict(summary: Summary, results: Mapping[str, Result]) -> str:
    """How many tests there are, how many of them are no results of the storage, and how many carry a label."""
    places = list(dict.fromkeys(place for result in results.values() if (place := where(result))))
    lacking = [entry.name for entry in summary.entries if entry.why_not is not None]
    said = [f"{', '.join(places) or 'no storage'}: {len(results)} of {len(summary.entries)} tests were measured"]
    if void := [name for name, result in results.items() if any(NO_RESULT in label for label in result.labels)]:
        said.append(f"{len(void)} of them are not results about the storage (CACHED, SHORT, NOT STEADY)")
    labelled = sum(bool(result.labels) for result in results.values())
    said.append(f"{labelled} carry labels" if labelled else "none carries a label")
    if lacking:
        said.append(f"not measured: {', '.join(lacking)}")
    return "; ".join(said)


def _doubt(summary: Summary, results: Mapping[str, Result]) -> bool:
    return any(result.labels for result in results.values()) or len(results) < len(summary.entries)


def _table(summary: Summary, results: Mapping[str, Result]) -> Html:
    rows, marked = [], set[int]()
    for number, entry in enumerate(summary.entries):
        if entry.why_not is not None:
            rows.append((entry.name, entry.report, "–", f"not measured: {entry.why_not}", "", ""))
            marked.add(number)
            continue
        row = row_of(results[entry.name])
        link = tag("a", entry.name, href=f"{PACKAGES}/{entry.name}/{REPORT}")
        rows.append((link, entry.report, tag("strong", row.headline), row.found, row.limit, ", ".join(row.labels)))
    return table(_HEADER, rows, text_columns=frozenset(range(len(_HEADER))), marked=frozenset(marked))


def _host(results: Mapping[str, Result]) -> str:
    hosts = {
        f"{host['name']}: {host['processors']} x {host.get('model', '')}, {host['memory_bytes'] / 1e9:.0f} GB"
        for result in results.values()
        for host in result.conditions.get("hosts") or []
    }
    return f"; made from {', '.join(sorted(hosts))}" if hosts else ""


def _storage(summary: Summary, results: Mapping[str, Result]) -> Html:
    """The paths as they were mounted, and what was said of them."""
    places = {
        str(place["path"]): place for result in results.values() for place in result.conditions.get("targets") or []
    }
    rows = [
        (path, place["label"], f"{mount['type']} on {mount['source']}" if (mount := place["mount"]) else "–",
         ",".join(mount["options"]) if mount else "–", f"{place['total_bytes'] / 1e9:,.1f} GB")
        for path, place in places.items()
    ]  # fmt: skip
    header = ("path", "storage", "mount", "options", "size")
    shown = table(header, rows, text_columns=frozenset(range(4))) if rows else tag("p", "None.", class_="missing")
    warnings = dict.fromkeys(
        line for result in results.values() for line in result.warnings if any(path in line for path in summary.paths)
    )
    noted = tag("ul", *(tag("li", line) for line in warnings)) if warnings else ""
    return join([tag("h2", "The storage"), shown, noted])


def _advice(results: Mapping[str, Result]) -> Html:
    labels = dict.fromkeys(label for result in results.values() for label in result.labels)
    lines = advice_on(tuple(labels))
    if not lines:
        return Html("")
    return join([tag("h2", "What to do about the labels"), tag("ul", *(tag("li", line) for line in lines))])
