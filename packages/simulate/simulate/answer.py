"""Runs the requested simulation and makes its document."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import UsageError, reading_errors
from core.texts import many
from simulate import report
from simulate.demands import KINDS, Calibration, Demands, of_result, shipped
from simulate.documents import GainDocument, RowDocument, SimulationDocument
from simulate.engine import Trace
from simulate.facts import Fact, Row, evaluate
from simulate.plan import Plan, contents_of_plain, plan_of
from simulate.simulation import Case, chunk_for, doubled, limits, run_case
from simulate.site import Site

R1_ROWS = {"A": Case(workers=10, databases=1), "B": Case(workers=30, databases=1), "C": Case(workers=30, databases=2)}
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A request for a simulation. Without points, a site of report R1 has the report's rows, another one its own
    workers."""

    site: Site
    workers: Sequence[int] = ()
    databases: Sequence[int] = ()
    scale: float = 1.0
    seed: int = 1
    result: Path | None = None  # calibrated by it; None: by the shipped calibration
    chunk: float | None = None  # items that are served together; None: as many as keep a run short
    shard: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The result of a simulation."""

    rows: Mapping[str, Row]
    facts: Sequence[Fact] | None
    document: SimulationDocument


def simulate(wish: Wish, say: Say) -> Answer:
    """Run every point. Raises UsageError."""
    site = wish.site
    if wish.result is not None and site.report:
        raise UsageError(f"site {site.name} is fitted to its own calibration; use --from with a site without `report`")
    cases = _cases(wish)
    calibration = shipped(site.report)
    say("planning the data set")
    plan = plan_of(site.profile, wish.scale, wish.seed, contents_of_plain(calibration.contents))
    demands = calibration.demands if wish.result is None else _calibrated(calibration, wish.result, plan)
    rows, shown = {}, {}
    for name, case in cases.items():
        say(f"simulating {many(case.workers, 'worker')} on {many(case.databases, 'database')}")
        rows[name], trace = run_case(site, case, plan, demands, chunk=wish.chunk)
        shown[name] = _row(site, case, rows[name], trace)
    found = evaluate(rows) if site.report == "r1" and list(cases) == list(R1_ROWS) and wish.scale == 1.0 else None
    gains = _gains(wish, next(iter(cases.items())), plan, demands, rows, say) if found is None else []
    document = SimulationDocument(
        schema="edbench-simulation/1",
        verdict=report.first_line(site.name, found), site=site.name, profile=site.profile, scale=wish.scale, seed=wish.seed,
        items=plan.items, items_a_chunk=round(wish.chunk or chunk_for(plan.items), 3), calibration=demands.source,
        rows=shown,
        facts=found or [],
        gains=gains,
    )  # fmt: skip
    return Answer(rows=rows, facts=found, document=document)


def _cases(wish: Wish) -> dict[str, Case]:
    if wish.site.report == "r1" and not wish.workers and not wish.databases:
        return R1_ROWS
    points = [(w, d) for d in wish.databases or (1,) for w in wish.workers or (wish.site.workers,)]
    return {
        f"{many(w, 'worker')}, {many(d, 'database')}": Case(workers=w, databases=d, shard=wish.shard) for w, d in points
    }


def _calibrated(calibration: Calibration, path: Path, plan: Plan) -> Demands:
    """The demands calibrated with the result in a file or directory."""
    file = path / "result.json" if path.is_dir() else path
    with reading_errors(f"result {path}"):
        result = json.loads(file.read_text(encoding="utf-8"))
    return calibrated(calibration, result, plan, f"{path}")


def calibrated(calibration: Calibration, result: Mapping[str, Any], plan: Plan, source: str) -> Demands:
    """The demands calibrated with a result; the job's data set is assumed to have the plan's mix of items. Raises
    UsageError."""
    try:
        run = result["points"][0]["repeats"][0]
        items, nbytes = run["result"]["items"], run["result"]["discovered_bytes"]
        kind, size = np.concatenate((plan.kind, plan.child_kind)), np.concatenate((plan.size, plan.child_size))
        mix = np.stack((np.bincount(kind, minlength=KINDS), np.bincount(kind, weights=size, minlength=KINDS)), axis=1)
        scaled = mix * np.array([items / mix[:, 0].sum(), nbytes / mix[:, 1].sum()])
        return of_result(calibration, result, scaled, f"{source}, and the shipped calibration for the types of items")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        lacks = error if isinstance(error, KeyError) else "runs with figures"
        raise UsageError(f"{source} is not a result of a discovery: it has no {lacks}") from error


def _gains(
    wish: Wish, first: tuple[str, Case], plan: Plan, demands: Demands, rows: Mapping[str, Row], say: Say
) -> list[GainDocument]:
    """The effect of doubling each resource on the first row, the largest first."""
    name, case = first
    out = []
    for what, site in {**doubled(wish.site), "workers": wish.site}.items():
        say(f"simulating with twice the {what}")
        more = Case(workers=2 * case.workers, databases=case.databases, shard=case.shard) if what == "workers" else case
        try:
            elapsed_s = run_case(site, more, plan, demands, chunk=wish.chunk)[0].elapsed_s
        except UsageError:  # the hosts have no memory for so many workers
            continue
        out.append(GainDocument(doubled=what, elapsed_s=elapsed_s, gain=round(rows[name].elapsed_s / elapsed_s, 3)))
    return sorted(out, key=lambda gain: -gain.gain)


def _row(site: Site, case: Case, row: Row, trace: Trace) -> RowDocument:
    return RowDocument(
        workers=case.workers,
        databases=case.databases,
        gb_per_hour=round(row.gb_after / row.elapsed_s * 3600, 3),
        limits=limits(site, trace),
        **dataclasses.asdict(row),
    )


def lines(answer: Answer) -> list[str]:
    """The lines below the tables."""
    document = answer.document
    out = [
        f"calibrated by {document.calibration}; {many(document.items, 'item')} of profile {document.profile} at scale {document.scale:g}"
    ]
    if answer.facts is not None:
        out += [f"not held: {line}" for line in report.missed(answer.facts, answer.rows)]
    out += [f"with twice the {gain.doubled}: {gain.gain:.2f} x as fast" for gain in document.gains]
    return out


def write_report(answer: Answer, directory: Path) -> Path:
    """Write report, figures, series and `simulation.json` to a directory. Raises RunFailed."""
    verdict = answer.document.verdict
    page = report.sections(answer.rows, list(answer.document.rows.values()), answer.facts, lines(answer))
    path = report.write(directory, verdict, "NOT REPRODUCED" in verdict, page)
    (directory / "simulation.json").write_text(json.dumps(answer.document.to_json(), indent=1) + "\n", encoding="utf-8")
    return path
