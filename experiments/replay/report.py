"""The report of a replay: `report.html`, its figures as PNG, its series as CSV."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from experiments.replay.curves import curves
from experiments.replay.filer_side import filer_side
from experiments.replay.knee_section import knee_section
from experiments.replay.latencies import beside_the_trace, latencies
from experiments.replay.replayer import replayer
from experiments.replay.result import ReplayResult
from experiments.replay.timeline import timeline
from experiments.report import words
from experiments.report.markup import table, tag
from experiments.report.page import Head, document, write_page
from experiments.report.parts import Section, Series, Tabled
from experiments.report.sections.disclosure import conditions_table


def write_replay_report(result: ReplayResult, directory: Path) -> Path:
    """The page's path; it needs nothing but itself. Raises RunFailed when a file cannot be written."""
    sections = build_sections(result)
    doubt = any(label[:2].isupper() for label in result.labels) or _not_as_recorded(result)
    above = Head(
        title=f"edbench replay: {result.verdict}",
        heading="edbench replay",
        verdict=result.verdict,
        doubt=doubt,
        facts=_facts(result),
        warnings=result.warnings,
    )
    return write_page(document(above, sections), sections, directory)


def build_sections(result: ReplayResult) -> list[Section]:
    """In reading order; the knee's only where bounds were set, the filer's where it told something."""
    found: list[Section | None] = [
        curves(result),
        timeline(result),
        beside_the_trace(result),
        latencies(result),
        filer_side(result),
        replayer(result),
        _disclosure(result),
    ]
    if result.knee is not None:
        found.insert(1, knee_section(result))
    return [section for section in found if section is not None]


def _not_as_recorded(result: ReplayResult) -> bool:
    return result.fidelity is not None and result.fidelity.passed is False


def _facts(result: ReplayResult) -> str:
    made = f"{datetime.fromtimestamp(result.created, UTC):%Y-%m-%d %H:%M} UTC"
    trace = result.recorded
    return (
        f"Run {result.run_id}, {made}, {words.many(len(result.points), 'replay')} of {trace.path}:"
        f" {words.many(trace.calls, 'call')} of {words.many(trace.streams, 'stream')} in {words.seconds(trace.elapsed_s)},"
        f" {words.many(trace.nodes, 'path')}."
    )


def _disclosure(result: ReplayResult) -> Section:
    conditions = conditions_table(result.conditions | {"recorded": result.recorded.origin})
    rows = [
        (
            point.storage,
            point.clients,
            tag("code", point.job_id[:8]),
            f"{datetime.fromtimestamp(point.began, UTC):%Y-%m-%d %H:%M:%S}",
            words.seconds(point.prepared_s),
            words.seconds(point.elapsed_s),
            words.count(point.calls),
            words.count(sum(point.differences.values())),
        )
        for point in result.points
    ]
    header = ("storage", "clients", "job", "started (UTC)", "prepared in", "elapsed", "calls", "not as recorded")
    shown = table(header, rows, text_columns=frozenset({0, 2, 3}), caption="Every replay")
    series = Series(
        name="replays",
        header=("storage", "clients", "job", "began", "prepared_s", "elapsed_s", "calls", "not_as_recorded"),
        rows=tuple(
            (p.storage, p.clients, p.job_id, p.began, p.prepared_s, p.elapsed_s, p.calls, sum(p.differences.values()))
            for p in result.points
        ),
    )
    return Section(anchor="disclosure", title="Full disclosure", parts=(conditions, Tabled(table=shown, series=series)))
