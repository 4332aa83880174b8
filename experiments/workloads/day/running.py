"""Runs the matters of a day: each arrives at its time, regardless of the others, and its steps follow each other."""

from __future__ import annotations

import dataclasses
import time
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from controller.browse.counts import count_job
from controller.databases import JobHandle, Jobs, alone
from controller.jobs.create import create_discovery
from controller.jobs.groups import refresh
from controller.jobs.orders import DiscoveryPlan
from controller.jobs.results import wait_for_frames
from controller.jobs.run import Outcome, judge
from controller.jobs.source import PreparedSource
from controller.labels.jobs import disturbances
from controller.search.found import search_all
from controller.search.items import NO_FAMILY
from controller.search.named import tag_items
from controller.search.opened import opened_index
from core.errors import RunFailed
from core.filer.model import filer_choice
from core.job_types import JobType, types_with
from core.operations import Op
from core.records import JobState
from core.services import check_kept
from core.storage.layer import Storage
from experiments.workloads.day.result import SEARCH, TAG, DayJob, DayLoad
from experiments.workloads.day.schedule import Matter
from experiments.workloads.discovery.observed import JobTables, read_tables
from experiments.workloads.discovery.run_point import Load, options_of
from experiments.workloads.discovery.sampler import clock_offset
from experiments.workloads.discovery.site import Deployment
from search.found import uuids
from sql.jobs import get_job

QUERY = "agreement OR meeting OR report"
_SHOWN = 100  # hits that a reviewer is shown
_REVIEWERS = 2  # review actions and new jobs at the same time: connections of this process
_LOOK_SECONDS = 0.05
_AT_REST = (JobState.PAUSED, JobState.SUSPENDED, JobState.CANCELLED)

Awaited = Callable[[], bool]


class Running:
    """One run. `sources`: the directory of each custodian by its name in the schedule."""

    def __init__(
        self, at: DayLoad, deployment: Deployment, source: PreparedSource,
        sources: Mapping[str, tuple[bytes, int]], load: Load,
    ) -> None:  # fmt: skip
        self._at, self._deployment, self._load = at, deployment, load
        self._source, self._sources = source, sources
        (self._database,) = deployment.databases
        self._filer = Storage()
        self._steps: list[tuple[DayJob, JobHandle | None]] = []  # None: a review action
        self._states: dict[uuid.UUID, JobState] = {}  # of jobs that are awaited
        self.offset_s = clock_offset(self._database)  # its clock less this host's
        self.began = load.clock.now()
        self.disturbed: list[str] = []

    def carry(self, matters: Sequence[Matter], *, one_by_one: bool) -> None:
        """Run all matters to their end, with the workers up. Raises RunFailed for a job that did not end well,
        SystemFault, HostLost."""
        waiting = deque(enumerate(matters))
        active: list[tuple[Iterator[Awaited], Awaited]] = []
        with ThreadPoolExecutor(_REVIEWERS) as self._pool:
            while waiting or active:
                now = self._now()
                while waiting and (not active if one_by_one else now >= waiting[0][1].arrives_s):
                    number, matter = waiting.popleft()
                    due = now if one_by_one else matter.arrives_s
                    active.append((self._matter(number, matter, due, counted=one_by_one), lambda: True))
                self._look()
                active = [(steps, then) for steps, awaited in active
                          if (then := next(steps, None) if awaited() else awaited) is not None]  # fmt: skip
                time.sleep(_LOOK_SECONDS)
        for _, handle in self._steps:
            if handle is not None:
                wait_for_frames(handle, self._load.clock)

    def records(self) -> tuple[tuple[DayJob, ...], tuple[JobTables, ...]]:
        """Return the record of every step and the rows of every job, while the databases exist."""
        tables = read_tables([handle for _, handle in self._steps if handle is not None])
        rows = iter(tables)
        done = [job if handle is None else self._finished(handle, job, next(rows)) for job, handle in self._steps]
        return tuple(sorted(done, key=lambda job: (job.matter, job.due_s))), tables

    def _now(self) -> float:
        return self._load.clock.now() - self.began

    def _look(self) -> None:
        """Check the workers, and read the state of every awaited job."""
        check_kept(self._deployment.settings)
        self._deployment.leased.check()
        with self._database.transaction() as conn:
            for job in self._states:
                self._states[job] = get_job(conn, job).state
        for job, state in self._states.items():
            if state in _AT_REST:
                raise RunFailed(f"job {job} is {state}; the experiment ends without a result")

    def _matter(self, number: int, matter: Matter, due: float, *, counted: bool) -> Iterator[Awaited]:
        """Run the steps of a matter: yield what the next step waits for, and continue once it is true."""
        record = DayJob(matter=number, client=matter.client, source=matter.source, type="", due_s=due, ended_s=due,
                        raw_bytes=self._sources[matter.source][1])  # fmt: skip
        found = yield from self._job(record, JobType.DISCOVERY, 1.0, partial(self._discover, number, matter), counted)
        yield from self._action(record, SEARCH, 1.0, partial(self._search, found))
        tagged = {}
        for step, share in matter.shares.items():
            tagged[step] = yield from self._action(record, TAG, share, partial(self._tag, found, step, share))
        for step in filter(tagged.get, matter.steps):
            create = partial(self._produce, JobType(step), found, f"M{number + 1}-{step}-")
            yield from self._job(record, step, matter.shares[step], create, counted)

    def _job(
        self, record: DayJob, kind: str, share: float, create: Callable[[], JobHandle], counted: bool
    ) -> Generator[Awaited, None, JobHandle]:
        before = self._cpu_s() if counted else (0.0, 0.0)
        due = record.due_s if kind == JobType.DISCOVERY and not counted else self._now()
        made: Future[JobHandle] = self._pool.submit(create)
        yield made.done
        handle = made.result()
        self._states[handle.id] = JobState.RUNNING
        yield lambda: self._states[handle.id].over
        del self._states[handle.id]
        ended = self._now()
        job = dataclasses.replace(record, type=str(kind), due_s=due, ended_s=ended, share=share)
        if counted:
            workers, others = (now - then for now, then in zip(self._cpu_s(), before, strict=True))
            job = dataclasses.replace(job, cpu_s=workers, others_cpu_s=others)
        self._steps.append((job, handle))
        return handle

    def _cpu_s(self) -> tuple[float, float]:
        """Return the CPU seconds so far of the workers, and of the processes that serve them."""
        return self._deployment.leased.cpu_s(), sum(self._deployment.serving().values())

    def _action(self, record: DayJob, kind: str, share: float, act: Callable[[], int]) -> Generator[Awaited, None, int]:
        due = self._now()
        done: Future[int] = self._pool.submit(act)
        yield done.done
        items, ended = done.result(), self._now()
        self._steps.append(
            (dataclasses.replace(record, type=kind, due_s=due, ended_s=ended, share=share, items=items), None)
        )
        return items

    def _discover(self, number: int, matter: Matter) -> JobHandle:
        settings = self._deployment.settings
        options = options_of(self._at, settings, self._load)
        name = f"matter {number + 1}"
        plan = DiscoveryPlan(options=options, name=name, client=matter.client, project=name)
        source = dataclasses.replace(self._source, directories=(self._sources[matter.source][0],), others=0)
        return _only(
            create_discovery(
                [self._database], self._filer, settings, source, plan, workers=self._at.workers, slots=self._at.slots
            )
        )

    def _search(self, found: JobHandle) -> int:
        opened = partial(opened_index, settings=self._deployment.settings)
        return search_all([found], opened, QUERY, _SHOWN)[1]

    def _tag(self, found: JobHandle, step: str, share: float) -> int:
        """Tag a share of the discovery's items for a step: ids are hashes, so the first ones are a sample. Containers
        that are in no family are never produced."""
        with opened_index(found, self._deployment.settings) as index:
            ids = index.items.ids[index.items.families != NO_FAMILY]
        chosen = uuids(ids[: max(1, round(share * len(ids)))])
        return tag_items([found], _tag_of(step), chosen).changed if chosen else 0

    def _produce(self, kind: JobType, found: JobHandle, prefix: str) -> JobHandle:
        settings = self._deployment.settings
        found = _only(refresh(alone(found)))  # as it is now that it has ended
        out = settings.storage / "out" / uuid.uuid4().hex
        return _only(types_with(kind).create(
            kind, [found], str(out), self._filer, settings, name=found.job.name, workers=self._at.workers, slots=self._at.slots,
            filer=filer_choice(settings.filer), tag=_tag_of(kind), prefix=prefix,
        ))  # fmt: skip

    def _finished(self, handle: JobHandle, record: DayJob, rows: JobTables) -> DayJob:
        """Return the record with its end by the database's clock, and the job's counts."""
        counts = count_job(handle)
        outcome = Outcome(state=counts.summary.job.state, reason=None, interrupted=False, calls_complete=True)
        if remark := judge(outcome, str(handle.id), len(counts.violation_lines)):
            raise RunFailed(remark)
        with handle.database.transaction() as conn:
            self.disturbed += disturbances(conn, handle.id)
        progress, produces = counts.progress, handle.job.options.type.produces
        calls: dict[str, dict[str, tuple[int, int]]] = {}
        for row in rows.rows("call_seconds"):
            of = calls.setdefault(row.phase, {})
            number, nbytes = of.get(op := Op(row.op).label, (0, 0))
            of[op] = number + row.calls, nbytes + row.bytes
        tasks: dict[str, tuple[float, ...]] = {}
        for row in rows.rows("task_spans"):
            tasks[row.phase] = (*tasks.get(row.phase, ()), round(row.finished - row.claimed, 4))
        (times,) = rows.rows("job_times")
        return dataclasses.replace(
            record, ended_s=round(times.finished - self.offset_s - self.began, 4), calls=calls, tasks=tasks,
            items=progress.items if produces else counts.items,
            bytes=progress.extracted_bytes + (0 if produces else progress.raw_bytes),
        )  # fmt: skip


def _tag_of(step: str) -> str:
    return f"for {step}"


def _only(jobs: Jobs) -> JobHandle:
    (handle,) = jobs.each
    return handle
