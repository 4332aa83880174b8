"""Carries out a study from the first look to the written result: points, repeats, pairs, interruption.

It knows no workload: what is run and what is measured is the `Workload`'s, which points are measured is the `Kind`'s.
"""

from __future__ import annotations

import dataclasses
import time
import uuid
from pathlib import Path
from typing import Any

from core.errors import RunFailed
from experiments.kinds.kind import Findings, Kind
from experiments.result.codec import write_result
from experiments.result.schema import At, Result, Run
from experiments.result.statistics import METHOD
from experiments.result.verdict import labels_of, points_of, sentence, warnings_of
from experiments.workload import Disturbed, Turn, Workload

RESULTS = "results"
ATTEMPTS = 3  # at a run that something disturbs


def conduct(workload: Workload, kind: Kind) -> tuple[Result, Path]:
    """Run it and write `result.json`; the result and its directory, `<storage>/results/<run>`.

    Raises UsageError when it cannot be done as asked, SystemFault, RunFailed, Interrupted; nothing is written then.
    """
    points = kind.points()
    now = time.strftime("%Y%m%d-%H%M%S", time.gmtime(workload.clock.now()))
    run_id = f"{workload.about.titled(kind.name).replace(' ', '-')}-{now}-{uuid.uuid4().hex[:6]}"
    with workload.prepared(points):
        result = _result(workload, kind, run_id, kind.run(_Measured(workload, run_id)))
    directory = workload.storage / RESULTS / run_id
    write_result(result, directory)
    return result, directory


class _Measured:
    """A `Measure`: runs one after another, each that nothing disturbed, with its pair."""

    def __init__(self, workload: Workload, run_id: str) -> None:
        self._workload, self._id = workload, run_id
        self._done = 0

    def __call__(self, at: At, repeat: int) -> Run:
        turn = Turn(at=at, repeat=repeat, order=self._done, name=f"{self._id}/{self._done:03d}")
        run = self._undisturbed(turn)
        paired = self._workload.on_null(dataclasses.replace(turn, name=f"{turn.name}-null"))
        run = dataclasses.replace(run, **paired)
        self._done += 1
        beside = "" if run.null_elapsed_s is None else f"; on null storage {run.null_elapsed_s:.1f} s"
        told = ((figure, figure.of(run)) for figure in self._workload.about.told)
        said = [f"{figure.write(value)} {figure.title}" for figure, value in told if value is not None]
        self._workload.say(f"{turn}: {', '.join([f'{run.elapsed_s:.1f} s', *said])}{beside}")
        return run

    def _undisturbed(self, turn: Turn) -> Run:
        """Raises RunFailed when there is none."""
        why = ""
        for attempt in range(ATTEMPTS):
            again = dataclasses.replace(turn, name=f"{turn.name}-{attempt}") if attempt else turn
            with self._workload.started(again) as observe:
                run = observe()
            if not isinstance(run, Disturbed):
                return run
            why = "; ".join(run.why)
            self._workload.say(f"{turn}: not counted and run again: {why}")
        raise RunFailed(f"{turn.at} was disturbed {ATTEMPTS} times in a row, last: {why}")


def _result(workload: Workload, kind: Kind, run_id: str, findings: Findings) -> Result:
    about = workload.about
    points = points_of(about, findings.runs)
    emulated = [workload.emulated(point) for point in points]
    labels = labels_of(points, emulated, cached=workload.cached(points), undeclared=workload.undeclared())
    said = sentence(about, kind.name, kind.axis, points, where=workload.where(), pace=workload.pace(), knee=findings.knee)  # fmt: skip
    fields: dict[str, Any] = {
        "workload": about.name,
        "kind": kind.name,
        "axis": kind.axis,
        "run_id": run_id,
        "created": workload.clock.now(),
        "verdict": "",
        "labels": labels,
        "warnings": (*warnings_of(points, no_pair=workload.no_pair), *workload.warnings(points)),
        "conditions": workload.conditions(points) | {"order": kind.order, "statistics": METHOD},
        "points": points,
        "knee": findings.knee,
    }
    result = about.result(**fields, **workload.beside(points))
    return dataclasses.replace(result, verdict="; ".join([*labels, said, *workload.remarks(result)]))
