"""What is done with a job of each kind: made, followed, paused, requeued, cancelled, deleted, and checked."""

import dataclasses
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from chaos import hook
from chaos.check import Totals, check_gone, check_job, totals_of
from chaos.follow import POLL_SECONDS, patiently, state_of, to_rest
from chaos.kinds import Kind
from chaos.plan import RunPlan
from chaos.site import SLOTS, WORKERS, Site
from chaos.source import Source
from controller.databases import JobHandle, Jobs
from controller.jobs.create import create_discovery, delete_all
from controller.jobs.jobs import cancel_job, pause_job, requeue_exceptions, resume_job
from controller.jobs.orders import DiscoveryPlan
from controller.jobs.source import prepare_source
from core.errors import DatabaseFault, RunFailed, StorageFault, UsageError
from core.passwords import bank_of
from core.records import JobOptions, JobState
from core.storage.layer import Storage

POISON_SECONDS = 4.0  # for one item, where files are poison
_ASK_AT = 0.5  # where in a job's life its owner pauses or cancels it, at the earliest; the latest is its end


@dataclass(slots=True, kw_only=True)
class Stage:
    """What a script works with, and what it finds out."""

    site: Site
    kind: Kind
    plan: RunPlan
    source: Source
    usual: list[Totals] | None
    arrivals: Mapping[tuple[str, str], int]  # of an undisturbed run
    counts: Counter[tuple[str, str]]  # of this one, so far
    begin: Callable[[], None]  # faults may come from here on
    mend: Callable[[], None]  # no fault comes any more, and those there are end
    deadline: float
    wrong: list[str] = field(default_factory=list)
    totals: list[Totals] = field(default_factory=list)
    seen: dict[tuple[str, str], int] = field(default_factory=dict)
    seconds: float = 0.0
    resumes: int = 0
    reason: str = ""


def create(stage: Stage, *, trace: bool = False) -> Jobs:
    """The run's job, which runs from now on."""
    storage = Storage()
    source = prepare_source(storage, stage.source.corpus)
    kind = stage.kind
    bank = bank_of(kind.bank, "the campaign") if kind.bank else None
    plan = DiscoveryPlan(
        options=dataclasses.replace(_options(stage), trace=trace),
        name=stage.plan.title[:80],
        shard=kind.shard,
        passwords=bank,
    )
    databases = stage.site.databases[: kind.databases]
    return create_discovery(databases, storage, stage.site.settings, source, plan, workers=WORKERS, slots=SLOTS)


def _options(stage: Stage) -> JobOptions:
    """A parser that hangs is to be found out soon."""
    options = stage.kind.options
    if not stage.source.added:
        return options
    return dataclasses.replace(options, limits=dataclasses.replace(options.limits, item_seconds=POISON_SECONDS))


def follow(stage: Stage, jobs: Jobs, started: float) -> None:
    """To its end, with one resume at most, and then the faults are over too."""
    rest = to_rest(jobs, stage.deadline, mend=stage.mend)
    stage.seconds = time.monotonic() - started
    stage.seen = dict(stage.counts)
    stage.resumes, stage.reason = rest.resumes, rest.reason
    stage.mend()


def _check(stage: Stage, jobs: Jobs) -> None:
    states = [patiently(lambda h=handle: state_of(h), stage.deadline) for handle in jobs.each]  # type: ignore[misc]
    for state, reason in states:
        if state not in (JobState.COMPLETED, JobState.COMPLETED_WITH_EXCEPTIONS):
            stage.wrong.append(f"it is {state}: {reason}")
            return
    stage.wrong += check_job(
        jobs, stage.site.settings, stage.source, stage.usual, stage.deadline, truth=stage.kind.truth
    )
    stage.totals = patiently(lambda: totals_of(jobs), stage.deadline)


def delete_found(stage: Stage, jobs: Jobs) -> None:
    """Asked for again when it could not be done the first time; nothing may be left."""
    root = stage.site.settings.storage
    for again in (False, True):
        try:
            delete_all(jobs, root)
            break
        except (DatabaseFault, StorageFault):
            if again:
                raise
            stage.mend()
            stage.resumes += 1
            patiently(lambda: [_state_or_gone(handle) for handle in jobs.each], stage.deadline)
        except UsageError:
            if any(_state_or_gone(handle) for handle in jobs.each):
                raise
            break  # its rows are gone: the first call was done, and only its answer lost
    stage.wrong += check_gone(jobs, stage.site.settings, stage.deadline)


def _state_or_gone(handle: JobHandle) -> JobState | None:
    try:
        return state_of(handle)[0]
    except UsageError:
        return None


def _end(stage: Stage, jobs: Jobs, started: float) -> None:
    """Follow it to its end, hold it against the truth, and delete it; what is wrong is kept."""
    follow(stage, jobs, started)
    _check(stage, jobs)
    if not stage.wrong:
        delete_found(stage, jobs)


def discover(stage: Stage) -> None:
    """A job from its creation to its end."""
    started = time.monotonic()
    jobs = create(stage)
    stage.begin()
    _end(stage, jobs, started)


def pause(stage: Stage) -> None:
    """Paused by its owner somewhere in the middle, and resumed."""
    started = time.monotonic()
    jobs = create(stage)
    stage.begin()
    if _asked(stage, jobs, pause_job):
        until = frozenset({JobState.PAUSED})
        rest = to_rest(jobs, stage.deadline, mend=stage.mend, until=until)
        stage.resumes, stage.reason = rest.resumes, rest.reason
        if rest.state is JobState.PAUSED:
            for handle in jobs.each:
                patiently(lambda h=handle: _resume(h), stage.deadline)  # type: ignore[misc]
    _end(stage, jobs, started)


def _resume(handle: JobHandle) -> None:
    if state_of(handle)[0] in (JobState.PAUSED, JobState.SUSPENDED):
        resume_job(handle, attach=False)


def _asked(stage: Stage, jobs: Jobs, ask: Callable[[JobHandle], JobState]) -> bool:
    """Once so much has happened, ask; False when it was over before or the asking came too late."""
    share = stage.plan.strikes[0].share if stage.plan.strikes else 0.5
    key = ("committed", "")
    wanted = int((_ASK_AT + share * (1 - _ASK_AT) * 0.8) * stage.arrivals.get(key, 0))
    while stage.counts[key] < wanted:
        if all(patiently(lambda h=handle: state_of(h), stage.deadline)[0].over for handle in jobs.each):  # type: ignore[misc]
            return False
        if time.monotonic() > stage.deadline:
            raise RunFailed("the job makes no progress")
        time.sleep(POLL_SECONDS)
    for handle in jobs.each:
        try:
            patiently(lambda h=handle: ask(h), stage.deadline)  # type: ignore[misc]
        except UsageError:  # over or suspended meanwhile, or it was done and only the answer lost
            continue
    return True


def requeue(stage: Stage) -> None:
    """Undisturbed to its end; then its exceptions are gone over again, with faults."""
    jobs = create(stage)
    to_rest(jobs, stage.deadline, mend=stage.mend)
    started = time.monotonic()
    requeue_exceptions(jobs, storage_root=stage.site.settings.storage)
    stage.begin()
    for handle in jobs.each:
        patiently(lambda h=handle: _resume(h), stage.deadline)  # type: ignore[misc]
    _end(stage, jobs, started)


def cancel(stage: Stage) -> None:
    """Cancelled by its owner somewhere in the middle, and deleted: nothing is left."""
    started = time.monotonic()
    jobs = create(stage)
    stage.begin()
    _asked(stage, jobs, cancel_job)
    rest = to_rest(jobs, stage.deadline, mend=stage.mend, until=frozenset({JobState.SUSPENDED}))
    stage.seconds = time.monotonic() - started
    stage.seen = dict(stage.counts)
    stage.resumes, stage.reason = rest.resumes, rest.reason
    stage.mend()
    delete_found(stage, jobs)


def delete(stage: Stage) -> None:
    """Undisturbed to its end, then deleted with faults, which come to the one who deletes."""
    jobs = create(stage)
    to_rest(jobs, stage.deadline, mend=stage.mend)
    started = time.monotonic()
    stage.begin()
    hook.arm(stage.site.ear)
    try:
        delete_found(stage, jobs)
    finally:
        hook.arm("")
    stage.seconds = time.monotonic() - started
    stage.seen = dict(stage.counts)
