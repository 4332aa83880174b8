"""A trace's calls made again, with faults. A replay is not resumed, because its time would be wrong: it goes through with
all its calls, or says in one line why it did not, and goes through when it is asked for again."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from chaos.follow import POLL_SECONDS, patiently, to_rest
from chaos.scripts import Stage, create, delete_found
from controller.databases import JobHandle
from controller.observe.trace_collection import collect_trace
from core.clock import SystemClock
from core.errors import DatabaseFault, Interrupted, RunFailed, StorageFault, SystemFault, UsageError
from replay.job import Stage as ReplayStage
from replay.job import outcome_of, replay_once
from replay.orders import ReplayOrder
from sql.jobs import get_job
from traces.file import open_trace

_CLIENTS = 2
_NAME = "recorded.edbtrace"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Played:
    calls: int
    differences: int


def replay(stage: Stage) -> None:
    """Record a job, where none is recorded yet, and play it."""
    trace = stage.site.settings.scratch / _NAME
    if not trace.exists():
        _record(stage, trace)
    target = stage.site.settings.storage / "replayed"
    target.mkdir(parents=True, exist_ok=True)
    usual = _play(stage, trace, target)
    started = time.monotonic()
    stage.begin()
    try:
        outcome = _play(stage, trace, target)
    except (RunFailed, SystemFault, Interrupted) as error:
        stage.reason, stage.resumes = str(error), 1
        stage.mend()
        patiently(lambda: stage.site.wait_until_ready(), stage.deadline)
        outcome = _play(stage, trace, target)
    stage.seconds = time.monotonic() - started
    stage.seen = dict(stage.counts)
    stage.mend()
    if outcome != usual:
        stage.wrong.append(f"played {outcome} instead of {usual}")
    left = sorted(path.name for path in target.iterdir())
    if left and not stage.resumes:
        stage.wrong.append(f"left where it was played: {left[:3]}")
    for name in left:  # of a replay that was ended by what was done to it; the next run is not judged by it
        shutil.rmtree(target / name, ignore_errors=True)


def _record(stage: Stage, trace: Path) -> None:
    jobs = create(stage, trace=True)
    to_rest(jobs, stage.deadline, mend=stage.mend)
    (handle,) = jobs.each
    with handle.database.transaction() as conn:
        handle = JobHandle(handle.database, get_job(conn, handle.id))
    gathered = collect_trace(handle, stage.site.settings, SystemClock(), labels=[], ours=False)
    trace.write_bytes(gathered.path.read_bytes())
    delete_found(stage, jobs)


def _play(stage: Stage, trace: Path, target: Path) -> _Played:
    """Raises what `replay_once` does. The workers may be busy with what a fault left for a moment."""
    settings = stage.site.settings
    around = ReplayStage(
        settings=settings,
        database=stage.site.databases[0],
        clock=SystemClock(),
        show=lambda _snapshot, _at: None,
        say=lambda _line: None,
    )
    order = ReplayOrder(trace=trace, paths=(target,), speed=0.0, not_empty=True)
    with open_trace(trace) as opened:
        while True:
            try:
                played = replay_once(around, opened, order, _CLIENTS)
                break
            except UsageError:  # too few slots just now
                if time.monotonic() > stage.deadline:
                    raise
                time.sleep(POLL_SECONDS)
    result = outcome_of(played.clients, str(played.job)).result
    _forget(stage, played.job)
    return _Played(calls=result.calls, differences=len(result.differences))


def _forget(stage: Stage, job: object) -> None:
    from controller.databases import alone, find_job

    def forget() -> None:
        delete_found(stage, alone(find_job(stage.site.databases, str(job))))

    try:
        patiently(forget, stage.deadline)
    except (DatabaseFault, StorageFault) as error:
        stage.wrong.append(f"the replay's job cannot be deleted: {error}")
