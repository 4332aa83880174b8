"""Conducts an experiment from the first look to the written result: points, repeats, null baselines, interruption.

It knows no workload: the `Workload` determines what is run and what is measured, the `Kind` which points are measured.
"""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.bounds import parse_bounds
from core.errors import RunFailed
from experiments.evaluation import evaluated, names_of
from experiments.kinds.kind import Kind
from experiments.package.records import RAW, RESULTS, Records, Study, read_study, write_study
from experiments.result.codec import write_result
from experiments.result.schema import At, Result, Run
from experiments.result.steady import MIN_SECONDS
from experiments.unfinished import Begun
from experiments.workload import Disturbed, HostLost, Turn, Workload

ATTEMPTS = 3  # at a run that something disturbs


def conduct(
    workload: Workload,
    kind: Kind,
    min_seconds: float = MIN_SECONDS,
    begun: Begun | None = None,
    *,
    fail_if: Sequence[str] = (),
) -> tuple[Result, Path]:
    """Run it, and write `result.json` and the observations that it is computed from.

    Returns the result and its directory, `<storage>/results/<run>`.

    `min_seconds`: how long a run has to be; of a shorter one nothing is called a result. `fail_if`: bounds on figures, whose
    outcomes are in the result.

    Meanwhile observations are in a temporary directory of this host, or in that of `begun`, whose runs are not
    repeated: nothing is written to the storage under test.

    Raises UsageError when it cannot be done as requested, SystemFault, RunFailed, Interrupted; nothing is written then.
    """
    points = kind.points()
    parse_bounds(fail_if, names_of(workload.about))  # refused before anything is started
    run_id = new_id(workload.about.titled(kind.name), workload.clock.now()) if begun is None else begun.run_id
    directory = workload.storage / RESULTS / run_id
    with tempfile.TemporaryDirectory(prefix="edbench-raw-") as temporary:
        kept = temporary if begun is None else begun.raw
        records = Records(Path(kept), workload.about)
        with workload.prepared(points):
            kind.run(_Measured(workload, run_id, records))
            study = Study(
                workload=workload.about.name,
                plan=kind.plan(),
                run_id=run_id,
                created=workload.clock.now(),
                surroundings=workload.surroundings(),
                min_seconds=min_seconds,
                fail_if=tuple(fail_if),
            )
        write_study(study, Path(kept))
        result = evaluated(read_study(Path(kept)), records)
        _deliver(Path(kept), directory)
    write_result(result, directory)
    return result, directory


def new_id(title: str, now: float) -> str:
    """The id of an experiment that begins now."""
    began = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
    return f"{title.replace(' ', '-')}-{began}-{uuid.uuid4().hex[:6]}"


def _deliver(kept: Path, directory: Path) -> None:
    """Copy all observations, also where an earlier delivery of the same experiment was interrupted."""
    shutil.rmtree(directory / RAW, ignore_errors=True)
    try:
        shutil.copytree(kept, directory / RAW, copy_function=shutil.copyfile)
        (directory / RAW).chmod(directory.stat().st_mode & 0o777)  # that of a temporary directory is closed to others
    except (OSError, shutil.Error) as error:
        raise RunFailed(f"what was observed cannot be written to {directory}: {error}") from error


class _Measured:
    """A `Measure`: runs one after another, each of them undisturbed, with its null baseline."""

    def __init__(self, workload: Workload, run_id: str, records: Records) -> None:
        self._workload, self._id, self._records = workload, run_id, records
        self._done = 0

    def __call__(self, at: At, repeat: int) -> Run:
        turn = Turn(at=at, repeat=repeat, order=self._done, name=f"{self._id}/{self._done:03d}")
        if self._records.has(turn.order):
            self._done += 1
            kept: Run = self._workload.about.run_of(self._records.read(turn.order, at, repeat))
            return kept
        observed = self._undisturbed(turn)
        paired = self._workload.on_null(dataclasses.replace(turn, name=f"{turn.name}-null"))
        observed = self._records.keep(turn, dataclasses.replace(observed, **paired))
        run: Run = self._workload.about.run_of(observed)
        self._done += 1
        beside = "" if run.null_elapsed_s is None else f"; on null storage {run.null_elapsed_s:.1f} s"
        values = ((figure, figure.of(run)) for figure in self._workload.about.headlines)
        said = [f"{figure.write(value)} {figure.title}" for figure, value in values if value is not None]
        self._workload.say(f"{turn}: {', '.join([f'{run.elapsed_s:.1f} s', *said])}{beside}")
        return run

    def _undisturbed(self, turn: Turn) -> Any:
        """What was observed of it; raises RunFailed when there is none."""
        why = ""
        for attempt in range(ATTEMPTS):
            again = dataclasses.replace(turn, name=f"{turn.name}-{attempt}") if attempt else turn
            try:
                with self._workload.started(again) as observe:
                    observed = observe()
            except HostLost as lost:
                observed = Disturbed([str(lost)])
            if not isinstance(observed, Disturbed):
                return observed
            why = "; ".join(observed.why)
            self._workload.say(f"{turn}: not counted and run again: {why}")
        raise RunFailed(f"{turn.at} was disturbed {ATTEMPTS} times in a row, last: {why}")
