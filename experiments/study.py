"""Conducts an experiment from the first check to the written result: points, repeats, null baselines, interruption.

It knows no workload: the `Workload` determines what is run and what is measured, the plan's `Kind` which points are measured.
`evaluated` is the one function that makes every figure, label and verdict of `result.json` out of what was observed: `conduct`
calls it when everything is measured, `edbench result check` calls it again. Observations of an experiment that takes a night
are on scratch until it ends, so that it can be resumed."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import shutil
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.bounds import Outcome, parse_bounds, percentile_of, percentiles
from core.errors import RunFailed, SystemFault, UsageError, read_problem, system_errors
from experiments.arrays import Array, Counted
from experiments.kinds import Findings, Plan, kind_of
from experiments.package.records import RAW, RESULTS, Records, Study, read_study, write_study
from experiments.result.codec import write_result
from experiments.result.schema import At, Point, Result, Run, Tuning
from experiments.result.statistics import METHOD, ratio_of
from experiments.result.steady import MIN_SECONDS, RULE
from experiments.result.verdict import labels_of, levels_of, missed, points_of, sentence, warnings_of
from experiments.workload import About, Disturbed, HostLost, Turn, Wording, Workload
from experiments.workloads import about as about_of


def evaluated(study: Study, records: Records) -> Result:
    """Repeat the plan with observations in place of measuring: a run that is missing, surplus or at another place is
    found. Raises UsageError."""
    about = about_of(study.workload)
    kind = kind_of(study.plan, about)
    wording = about.wording(study.surroundings)
    observed = _Observed(records, wording)
    findings = kind.run(observed)
    if observed.done != records.count():
        raise UsageError(f"{records.count()} runs are recorded, but the plan has {observed.done}")
    return _result(about, study, kind.order, findings, wording)


class _Observed:
    """A `Measure` that reads observations."""

    def __init__(self, records: Records, wording: Wording) -> None:
        self._records, self._wording = records, wording
        self.done = 0

    def __call__(self, at: At, repeat: int) -> Run:
        observed, run = self._records.read(self.done, at, repeat)
        self._wording.see(observed)
        if (run.order, run.repeat) != (self.done, repeat):
            raise UsageError(f"run {self.done + 1} is numbered as run {run.order + 1}")
        self.done += 1
        return run


def _result(about: About, study: Study, order: str, findings: Findings, wording: Wording) -> Result:
    kind, axis = study.plan.kind, study.plan.axis
    least = study.min_seconds
    points = points_of(about, findings.runs, least)
    emulated = [wording.emulated(point) for point in points]
    cached, undeclared = wording.cached(points), wording.undeclared()
    paired = wording.has_baselines
    labels = labels_of(points, emulated, cached=cached, undeclared=undeclared, least_s=least, paired=paired)
    levels = None if findings.peak is None else levels_of(about, points, findings.peak, found=study.plan.peak is None)
    tuning = _gained(about, findings, points)
    verdict = sentence(about, kind, axis, points, where=wording.where(), pace=wording.pace(),
                    found=findings.knees or levels or tuning)  # fmt: skip
    if own := wording.sentence(points):
        verdict = f"{about.titled(kind)} on {wording.where()}: {own}"
    fields: dict[str, Any] = {
        "workload": about.name,
        "kind": kind,
        "axis": axis,
        "run_id": study.run_id,
        "created": study.created,
        "verdict": "",
        "labels": labels,
        "warnings": (
            *warnings_of(points, no_baseline=wording.no_baseline, least_s=least),
            *missed(levels),
            *wording.warnings(points),
        ),
        "conditions": wording.conditions(points)
        | {"order": order, "statistics": METHOD, "steady_state": {"min_seconds": least, "rule": RULE}},
        "points": points,
        "knee": findings.knees[0] if len(findings.knees) == 1 else None,
        "knees": findings.knees if len(findings.knees) > 1 else (),
        "levels": levels,
        "tuning": tuning,
        "bounds": _outcomes(about, study.fail_if, points),
    }
    result = about.result(**fields, **wording.more_fields(points))
    return dataclasses.replace(result, verdict="; ".join([*labels, verdict, *wording.remarks(result)]))


def _gained(about: About, findings: Findings, points: Sequence[Point]) -> Tuning | None:
    """Return the tuning with its gain, from the runs that were made for the comparison."""
    tuning, rate = findings.tuning, about.headlines[0]
    if tuning is None:
        return None
    best, default = (rate.values(points[n].repeats[-tuning.compared :]) for n in (tuning.best, tuning.default))
    return dataclasses.replace(tuning, gain=ratio_of(best, default))


def names_of(about: About) -> list[str]:
    """Return the figures on which a bound is possible: those of the workload, headlines first, and percentiles by
    op."""
    figures = sorted(about.figures, key=lambda figure: not figure.headline)
    return [*(figure.name for figure in figures), *percentiles("p50", "p95", "p99", "max")]


def _outcomes(about: About, texts: Sequence[str], points: Sequence[Point]) -> tuple[Outcome, ...]:
    """Return the outcomes of bounds on each point's median over the repeats."""
    return tuple(
        bound.outcome([(str(point.at), value) for point in points if (value := _median(point, bound.name)) is not None])
        for bound in parse_bounds(texts, names_of(about))
    )


def _median(point: Point, name: str) -> float | None:
    percentile = percentile_of(name)
    if percentile is None:
        return point.figures[name].median if name in point.figures else None
    field, op = percentile
    values = [getattr(run.latency[op], field) for run in point.repeats if op in run.latency]
    return statistics.median(values) if values else None


_FILE, _RAW = "begun.json", "raw"


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """An experiment that has begun; its runs are below `raw`."""

    run_id: str
    seed: int
    sessions: tuple[float, ...]  # when commands worked on it, this one last
    raw: Path


@contextlib.contextmanager
def begun(below: Path, what: Mapping[str, Any], *, run_id: str, seed: int, now: float, resume: bool) -> Iterator[Begun]:
    """Yield the experiment with these settings; no other command uses its directory below scratch during the block, and
    it is removed on success. `what`: everything that must be the same to resume; `run_id`, `seed`: of a new one. Raises
    UsageError if there is nothing to resume or another command is running it, RunFailed."""
    directory = _directory(below, what)
    with system_errors(RunFailed, directory):
        below.mkdir(parents=True, exist_ok=True)
        lock = directory.with_suffix(".lock").open("w")
    with lock:
        _alone(lock.fileno())
        with system_errors(RunFailed, directory):
            study = _opened(directory, run_id=run_id, seed=seed, now=now, resume=resume)
        yield study
        shutil.rmtree(directory, ignore_errors=True)


def was_begun(below: Path, what: Mapping[str, Any]) -> bool:
    """Return whether an experiment with these settings was interrupted, or is running."""
    return (_directory(below, what) / _FILE).is_file()


def _directory(below: Path, what: Mapping[str, Any]) -> Path:
    return below / hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]


def _alone(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise UsageError(
            "another command is running the same storage test with the same settings on the same paths"
        ) from error


def _opened(directory: Path, *, run_id: str, seed: int, now: float, resume: bool) -> Begun:
    file, before = directory / _FILE, tuple[float, ...]()
    if resume:
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
            run_id, seed, before = str(data["run_id"]), int(data["seed"]), tuple(map(float, data["sessions"]))
        except FileNotFoundError as error:
            raise UsageError("--resume: no run with these settings was interrupted on this host") from error
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"--resume: {read_problem(file, error)}; start again without --resume") from error
    else:
        shutil.rmtree(directory, ignore_errors=True)
    (directory / _RAW).mkdir(parents=True, exist_ok=True)
    study = Begun(run_id=run_id, seed=seed, sessions=(*before, now), raw=directory / _RAW)
    draft = file.with_suffix(".tmp")
    draft.write_text(json.dumps({"run_id": run_id, "seed": seed, "sessions": study.sessions}), encoding="utf-8")
    draft.replace(file)
    return study


ATTEMPTS = 3  # number of times a disturbed run is tried


def conduct(
    workload: Workload,
    plan: Plan,
    min_seconds: float = MIN_SECONDS,
    begun: Begun | None = None,
    *,
    fail_if: Sequence[str] = (),
    array: Array | None = None,
) -> tuple[Result, Path]:
    """Conduct an experiment, and write `result.json` and the observations from which it is computed.

    Returns the result and its directory, `<storage>/results/<run>`.

    `min_seconds`: how long a run has to be; of a shorter one nothing is called a result. `fail_if`: bounds on figures, whose
    outcomes are in the result. `array`: the array's own counters, which every run gets.

    Meanwhile observations are in a temporary directory of this host, or in that of `begun`, whose runs are not
    repeated: nothing is written to the storage under test.

    Raises UsageError when it cannot be done as requested, SystemFault, RunFailed, Interrupted; nothing is written
    then."""
    kind = kind_of(plan, workload.about)
    parse_bounds(fail_if, names_of(workload.about))  # refused before anything is started
    run_id = new_id(workload.about.titled(plan.kind), workload.clock.now()) if begun is None else begun.run_id
    directory = workload.storage / RESULTS / run_id
    with tempfile.TemporaryDirectory(prefix="edbench-raw-") as temporary:
        kept = temporary if begun is None else begun.raw
        records = Records(Path(kept), workload.about)
        with workload.prepared(kind.points()):
            kind.run(_Measured(workload, run_id, records, array))
            study = Study(
                workload=workload.about.name,
                plan=plan,
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
    """Return the id of an experiment that begins now."""
    began = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
    return f"{title.replace(' ', '-')}-{began}-{uuid.uuid4().hex[:6]}"


def _deliver(kept: Path, directory: Path) -> None:
    """Copy all observations, also after an earlier delivery of the same experiment was interrupted."""
    shutil.rmtree(directory / RAW, ignore_errors=True)
    try:
        shutil.copytree(kept, directory / RAW, copy_function=shutil.copyfile)
        (directory / RAW).chmod(directory.stat().st_mode & 0o777)  # a temporary directory is closed to others
    except (OSError, shutil.Error) as error:
        raise RunFailed(f"the observations cannot be written to {directory}: {error}") from error


class _Measured:
    """A `Measure` that makes runs one after another, each undisturbed and with its null baseline."""

    def __init__(self, workload: Workload, run_id: str, records: Records, array: Array | None) -> None:
        self._workload, self._id, self._records, self._array = workload, run_id, records, array
        self._done = 0

    def __call__(self, at: At, repeat: int) -> Run:
        turn = Turn(at=at, repeat=repeat, order=self._done, name=f"{self._id}/{self._done:03d}")
        if self._records.has(turn.order):
            self._done += 1
            return self._records.read(turn.order, at, repeat)[1]
        observed = self._undisturbed(turn, self._run)
        null = dataclasses.replace(turn, name=f"{turn.name}-null")
        paired = self._undisturbed(null, self._workload.on_null, " on null storage")
        observed = dataclasses.replace(observed, **paired)
        run = self._records.keep(turn, observed, self._counted(observed))
        self._done += 1
        on_null = "" if run.null_elapsed_s is None else f"; on null storage {run.null_elapsed_s:.1f} s"
        values = ((figure, figure.of(run)) for figure in self._workload.about.headlines)
        figures = [f"{figure.write(value)} {figure.title}" for figure, value in values if value is not None]
        self._workload.say(f"{turn}: {', '.join([f'{run.elapsed_s:.1f} s', *figures])}{on_null}")
        return run

    def _counted(self, observed: Any) -> tuple[Counted, ...]:
        """Return the array's counters of a run; a run is valid without them."""
        if self._array is None:
            return ()
        run: Run = self._workload.about.run_of(observed)
        try:
            return self._array.counted(run.started_at, run.started_at + run.elapsed_s)
        except (UsageError, SystemFault) as error:
            self._workload.say(f"no counters of the array for this run: {error}")
            return ()

    def _run(self, turn: Turn) -> Any:
        with self._workload.started(turn) as observe:
            return observe()

    def _undisturbed(self, turn: Turn, run: Callable[[Turn], Any], where: str = "") -> Any:
        """Return the observations of a run that nothing disturbed. Raises RunFailed if every attempt was disturbed."""
        why = ""
        for attempt in range(ATTEMPTS):
            again = dataclasses.replace(turn, name=f"{turn.name}-{attempt}") if attempt else turn
            try:
                observed = run(again)
            except HostLost as lost:
                observed = Disturbed([str(lost)])
            if not isinstance(observed, Disturbed):
                return observed
            why = "; ".join(observed.why)
            self._workload.say(f"{turn}{where}: not counted and run again: {why}")
        raise RunFailed(f"{turn.at}{where} was disturbed {ATTEMPTS} times in a row, last: {why}")
