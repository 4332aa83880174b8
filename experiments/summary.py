"""The summary of `edbench bench storage all`: one page over the packages of all tests that were run; itself a package.

`summary.json` lists the tests; every word in the page is computed from the packages below `packages/`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final, Literal

import msgspec

from controller.labels.rules import advice_on
from core.errors import RunFailed, UsageError, reading_errors, system_errors
from core.plain import unambiguous
from experiments.package import check as one_package
from experiments.package.check import Checked
from experiments.package.manifest import examined, files_of, seal
from experiments.report import FILE as REPORT
from experiments.report import words
from experiments.report.parts import Html, join, table, tag
from experiments.report.style import document
from experiments.result.codec import decode, read_result
from experiments.result.schema import Point, Result
from experiments.workloads import about

SCHEMA: Final = "edbench-summary/1"
FILE, PACKAGES = "summary.json", "packages"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One test of a summary."""

    name: str  # a profile, or "discovery"
    report: str  # the report that it belongs to: "R2"; empty: ours
    why_not: str | None = None  # it was not measured; None: its package is under its name below `packages/`


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All tests, in the order in which they are shown."""

    schema: Literal["edbench-summary/1"] = SCHEMA
    run_id: str
    created: float  # wall clock, seconds since the epoch
    edbench: str  # the version that made it
    paths: tuple[str, ...]
    entries: tuple[Entry, ...]


def read_summary(directory: Path) -> Summary:
    """Read `summary.json`. Raises UsageError."""
    with reading_errors(FILE):
        summary = decode(Summary, unambiguous((directory / FILE).read_text(encoding="utf-8")), "summary")
    if any("/" in entry.name or entry.name in ("", ".", "..") for entry in summary.entries):
        raise UsageError(f"{FILE}: the name of a test must not be a path")
    return summary


def package_of(directory: Path, entry: Entry) -> Path:
    """Return the directory of an entry's package."""
    return directory / PACKAGES / entry.name


def results_of(directory: Path, summary: Summary) -> Mapping[str, Result]:
    """Return the results of the measured tests by name. Raises UsageError."""
    return {entry.name: read_result(package_of(directory, entry)) for entry in summary.entries if entry.why_not is None}


NO_RESULT = ": not a storage result"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measured test."""

    headline: str  # its highest rate over all loads
    found: str  # the verdict without labels, name and place
    limit: str  # what limited the rate
    labels: tuple[str, ...]


def row_of(result: Result) -> Row:
    """Return the row of a result, with medians as in its own report."""
    rate = about(result.workload).headlines[0].name
    measured = [point for point in result.points if rate in point.figures] or list(result.points)
    best = max(measured, key=lambda point: point.figures[rate].median if rate in point.figures else 0.0)
    return Row(
        headline=_headline(result, best),
        found=_found(result),
        limit=limit_of(result, best),
        labels=tuple(label.replace(NO_RESULT, "") for label in result.labels),
    )


def _headline(result: Result, best: Point) -> str:
    figure = about(result.workload).headlines[0]
    if figure.name not in best.figures:
        return figure.missing
    return f"{figure.write(best.figures[figure.name].median)} {figure.title} at {best.at}"


def _found(result: Result) -> str:
    """Return the verdict without its labels, name and place, which have columns of their own."""
    text = result.verdict.removeprefix("; ".join(result.labels)).removeprefix("; ")
    text = text.removeprefix(f"{about(result.workload).titled(result.kind)} ")
    return text.removeprefix(f"on {where(result)}: ")


def where(result: Result) -> str:
    """Return the storage's labels; empty without any."""
    places = result.conditions.get("targets") or [result.conditions.get("storage")]
    return ", ".join(dict.fromkeys(str(place["label"]) for place in places if place))


def limit_of(result: Result, best: Point) -> str:
    """Return the limit in the first line; else this host if it limits the point; else the storage share or the share of
    this host's ceiling."""
    named = next((clause for clause in result.verdict.split("; ") if clause.startswith("limit: ")), None)
    if named is not None:
        return named.removeprefix("limit: ")
    if best.limited:
        return f"this host: {best.limits[0]}"
    if "storage_share" in best.figures:
        return f"the storage took {words.percent(best.figures['storage_share'].median)} of the time"
    return _share_of_ceiling(result, best)


def _share_of_ceiling(result: Result, best: Point) -> str:
    for figure in about(result.workload).figures:
        if (tops := figure.ceilings(best.repeats)) and figure.name in best.figures:
            share = words.percent(best.figures[figure.name].median / max(tops))
            return f"not this host: {figure.title} is {share} of that of the same load in memory"
    null = result.conditions.get("null_storage") or {}
    return f"unknown: {null.get('why_not') or 'no null baseline'}"


_HEADER = ("test", "of", "most", "result", "limit", "labels")


def summary_html(summary: Summary, results: Mapping[str, Result]) -> str:
    """Return a self-contained page; each test's name links to its own report in the package."""
    first = verdict(summary, results)
    made = f"{datetime.fromtimestamp(summary.created, UTC):%Y-%m-%d %H:%M} UTC"
    host = _host(results)
    return document(
        f"edbench bench storage all: {first}",
        tag("p", first, class_="verdict doubt" if (any(result.labels for result in results.values()) or len(results) < len(summary.entries)) else "verdict", role="note"),
        tag("h1", "edbench bench storage all"),
        tag("p", f"Run {summary.run_id}, {made}, edbench {summary.edbench}{host}.", class_="facts"),
        _table(summary, results),
        tag("p", "The highest is the median of the load with the highest rate; the limit is that of this load. A test that is CACHED, SHORT or"
            " NOT STEADY is not a result about the storage. 1 GB is 10⁹ bytes.", class_="note"),
        _storage(summary, results),
        _advice(results),
        tag("p", "Every figure is from a package in packages/, with its own report; `edbench result check` on this "
            "directory recomputes all of them from the records.", class_="note"),
    )  # fmt: skip


def verdict(summary: Summary, results: Mapping[str, Result]) -> str:
    """Return how many tests were measured, how many of them are no results of the storage, and how many carry a
    label."""
    places = list(dict.fromkeys(place for result in results.values() if (place := where(result))))
    lacking = [entry.name for entry in summary.entries if entry.why_not is not None]
    clauses = [f"{', '.join(places) or 'no storage'}: {len(results)} of {len(summary.entries)} tests were measured"]
    if void := [name for name, result in results.items() if any(NO_RESULT in label for label in result.labels)]:
        clauses.append(f"{len(void)} of them are not results about the storage (CACHED, SHORT, NOT STEADY)")
    labelled = sum(bool(result.labels) for result in results.values())
    clauses.append(f"{labelled} carry labels" if labelled else "none carries a label")
    if lacking:
        clauses.append(f"not measured: {', '.join(lacking)}")
    return "; ".join(clauses)


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
    """Show the paths as they were mounted, with their labels."""
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


def finish(summary: Summary, directory: Path) -> Path:
    """Write the page over the packages in the directory, and the manifest over all files; return the page's path.

    Raises RunFailed, UsageError."""
    page = directory / REPORT
    with system_errors(RunFailed, f"{directory}: the summary cannot be written"):
        text = json.dumps(msgspec.to_builtins(summary), indent=1, ensure_ascii=False)
        (directory / FILE).write_text(text + "\n", encoding="utf-8")
        page.write_text(summary_html(summary, results_of(directory, summary)), encoding="utf-8")
    seal(directory)
    return page


def check(directory: Path, signers: Path | None = None) -> Checked:
    """Check a result's package, or a summary's, whose packages are all recomputed. Raises UsageError."""
    if not (directory / FILE).is_file():
        return one_package.check(directory, signers)
    differences, signed = examined(directory, signers)
    trusted, made_by = dict.fromkeys(one_package.TRUSTED), None
    try:
        summary = read_summary(directory)
        made_by = None if summary.edbench == version("edbench") else summary.edbench
        for entry in summary.entries:
            if entry.why_not is None:
                inside = one_package.check(package_of(directory, entry))
                differences += [f"{PACKAGES}/{entry.name}: {line}" for line in inside.differences]
                trusted |= dict.fromkeys(inside.trusted)
        differences += _against_files(directory, summary)
    except (UsageError, RunFailed) as error:
        differences.append(str(error))
    except (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError) as error:
        differences.append(f"{PACKAGES}: no summary can be computed from them: {type(error).__name__} {error}")
    return Checked(differences=tuple(differences), trusted=tuple(trusted), signed=signed, made_by=made_by)


def _against_files(directory: Path, summary: Summary) -> Iterator[str]:
    """Recreate the page and compare it. Any file outside the packages is a difference."""
    if (directory / REPORT).read_text(encoding="utf-8") != summary_html(summary, results_of(directory, summary)):
        yield f"{REPORT}: differs from the report computed from the packages"
    own = {FILE, REPORT}
    inside = tuple(f"{PACKAGES}/{entry.name}/" for entry in summary.entries if entry.why_not is None)
    yield from (f"{name}: not part of this summary" for name in files_of(directory)
                if name not in own and not name.startswith(inside))  # fmt: skip
