"""Predicts a business day from the run of a day's experiment in which every matter was alone.

Each of its jobs has a demand by phase: tasks with their shares, calls by op, bytes, CPU. The schedule's matters have
the same demand, later steps in proportion to the share of items that they take. The time that a job alone took beyond
that (its creation, barriers, waits of the queue manager) precedes it as a delay. The search for the load carried is the
experiment's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from core.errors import UsageError
from core.filer import FilerModel
from core.job_types import JobType
from core.records import JobOptions, Phase
from experiments.kinds import Plan, kind_of
from experiments.report.views import middle
from experiments.result.schema import At, Run
from experiments.result.verdict import points_of
from experiments.workloads.day import ABOUT, searched
from experiments.workloads.day.result import P95, DayJob, DayLoad, DayPoint, DayResult, DayRun, Prediction, scores_of
from experiments.workloads.day.schedule import Listed, Matter, Schedule
from experiments.workloads.discovery.setting import parse_setting
from simulate.demands import CPU, QUANTITIES, READ_BYTES, WRITTEN_BYTES, Demands, cores_of, others_of
from simulate.engine import Engine
from simulate.site import Site, emulated_site
from simulate.tasks import JobLoad, Task, site_demand

_CHUNKS = 6  # of a task: items that are served together
_JOBS = frozenset(map(str, JobType))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Alone:
    """A job that had all workers for itself."""

    load: JobLoad
    lag_s: float  # time beyond the simulated part
    share: float
    job: DayJob


def predicted(result: DayResult, filer: FilerModel | None, at: DayLoad, schedule: Schedule, within: float, loads: Sequence[int],
              *, repeats: int, source: str) -> Prediction:  # fmt: skip
    """Predict a day. `at`: workers, slots and setting; `loads`: as given, empty: searched for. Raises UsageError
    without an emulated filer, or if no matter was alone with this setting in the result."""
    day = _Day(result, filer, at, schedule, within)
    plan = searched([at], loads, within, repeats=repeats, seed=schedule.seed)
    score, curve = day.measured(plan)
    return Prediction(setting=at.setting, source=source, carried=score, curve=curve)


def schedule_of(result: DayResult) -> tuple[Schedule, float]:
    """The schedule of a result, and its bound."""
    plain = result.conditions["schedule"]
    given = {name: plain[name] for name in ("seconds", "seed", "clients")}
    listed = tuple(Listed(**one) for one in plain["listed"])
    schedule = Schedule(**given, sources=tuple(plain["sources"]), steps=tuple(plain["steps"]), listed=listed)
    return schedule, float(plain["within_s_per_gb"])


class _Day:
    """A measurement of a day by simulation."""

    def __init__(
        self, result: DayResult, filer: FilerModel | None, at: DayLoad, schedule: Schedule, within: float
    ) -> None:
        if filer is None:
            raise UsageError(
                "a day can be predicted for an emulated filer only: the queues of real storage are unknown"
            )
        self._at, self._schedule, self._within = at, schedule, within
        alone = next(
            (point for point in result.points if not point.at.matters and point.at.setting == at.setting), None
        )
        if alone is None:
            setting = "" if at.setting is None else f" with {at.setting}"
            raise UsageError(
                f"the result has no run in which every matter was alone{setting}; measure it with --matters 0"
            )
        jobs = middle(alone.repeats).jobs
        others = others_of([(job.cpu_s or 0.0, job.response_s, job.others_cpu_s or 0.0) for job in jobs])
        alike = dict.fromkeys(map(str, Phase), 1.0)
        site = emulated_site(filer, cores=cores_of(result.conditions), slots=at.slots, others=others)
        self._discovered = parse_setting(at.setting or "").applied(JobOptions())
        self._site = replace(site, ghz_seconds=alike, database_ghz_seconds=alike, ops_per_call=alike)
        self._alone = {(job.source, job.type): self._demands(job) for job in jobs if job.type in _JOBS}
        actions = [job.response_s for job in jobs if job.type not in _JOBS]
        matters = len({job.matter for job in jobs})
        self._review_s = sum(actions) / matters

    def _demands(self, job: DayJob) -> _Alone:
        options = self._discovered if job.type == JobType.DISCOVERY else JobOptions()
        load = replace(_load(job, self._site), options=options)
        took = Engine(self._site, [load], workers=self._at.workers, databases=1, chunk=1.0).run().elapsed_s
        return _Alone(load=load, lag_s=max(0.0, job.response_s - took), share=job.share, job=job)

    def measured(self, plan: Plan) -> tuple[int, tuple[tuple[int, float], ...]]:
        """Number of matters a day that are carried, and the curve."""
        points = cast("tuple[DayPoint, ...]", points_of(ABOUT, kind_of(plan, ABOUT).run(self).runs))
        curve = sorted((point.at.matters, round(point.figures[P95].median, 3)) for point in points if point.at.matters)
        return scores_of(points, self._within)[0].carried, tuple(curve)

    def __call__(self, at: At, repeat: int) -> Run:
        """Simulate one day."""
        assert isinstance(at, DayLoad)
        matters = self._schedule.matters(at.matters, repeat) if at.matters else self._schedule.each_alone()[:1]
        loads: list[JobLoad] = []
        what: list[tuple[int, Matter, str]] = []
        for number, matter in enumerate(matters):
            for kind, load in self._chain(matter, len(loads)):
                loads.append(replace(load, client=matter.client))
                what.append((number, matter, kind))
        trace = Engine(self._site, loads, workers=at.workers, databases=1, chunk=1.0).run()
        ends = [spans[-1][2] for spans in trace.jobs]
        jobs = tuple(
            DayJob(
                matter=number, client=matter.client, source=matter.source, type=kind, ended_s=ends[place],
                due_s=matter.arrives_s if load.after is None else ends[load.after],
                raw_bytes=self._alone[matter.source, JobType.DISCOVERY].job.raw_bytes, bytes=load.discovered_bytes,
            )
            for place, ((number, matter, kind), load) in enumerate(zip(what, loads, strict=True))
        )  # fmt: skip
        return DayRun(
            repeat=repeat, order=0, started_at=0.0, elapsed_s=trace.elapsed_s, worker_cpu=0.0, run_queue_share=None,
            null_elapsed_s=None, latency={}, within_s_per_gb=self._within, jobs=jobs,
        )  # fmt: skip

    def _chain(self, matter: Matter, place: int) -> Iterator[tuple[str, JobLoad]]:
        """The jobs of a matter, each after the one before; `place`: the number of the first one."""
        found = self._alone[matter.source, JobType.DISCOVERY]
        yield JobType.DISCOVERY, replace(found.load, at_s=matter.arrives_s + found.lag_s)
        review_s = self._review_s
        for number, step in enumerate(step for step in matter.steps if (matter.source, step) in self._alone):
            alone = self._alone[matter.source, step]
            load = _scaled(alone.load, matter.shares[step] / alone.share)
            yield step, replace(load, at_s=alone.lag_s + review_s + 1e-6, after=place + number)
            review_s = 0.0


def _load(job: DayJob, site: Site) -> JobLoad:
    """The tasks of a job, each with its part of the demand of its phase."""
    busy = {phase: sum(seconds) or 1e-9 for phase, seconds in job.tasks.items()}
    every = sum(busy.values())
    phases = []
    for number, phase in enumerate(phase for phase in Phase if phase in job.tasks):
        demand = _demand(job.calls.get(phase, {}), phase, (job.cpu_s or 0.0) * busy[phase] / every, site)
        items = 1 if phase is Phase.FINALISE else _CHUNKS
        tasks = tuple(
            Task(
                max(1, int(seconds * 1e6)),
                1_000 * number + place,
                items,
                [one * seconds / busy[phase] for one in demand],
            )
            for place, seconds in enumerate(job.tasks[phase])
        )
        phases.append((phase, tasks))
    return JobLoad(phases=tuple(phases), items=job.items, discovered_bytes=job.bytes)


def _demand(calls: Mapping[str, tuple[int, int]], phase: Phase, cpu_s: float, site: Site) -> Sequence[float]:
    """The demand of a phase on the site, by column."""

    def whole(value: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return np.array([[value, 0.0]])

    of = {name: whole(0.0) for name in QUANTITIES} | {op: whole(number) for op, (number, _) in calls.items()}
    of |= {READ_BYTES: whole(calls.get("read", (0, 0))[1]), WRITTEN_BYTES: whole(calls.get("write", (0, 0))[1])}
    of[CPU] = whole(cpu_s)
    demands = Demands(phases={phase.value: of}, each_task={}, each_slot={}, source="")
    return [float(one) for one in site_demand(demands, site, phase)[0, 0]]


def _scaled(load: JobLoad, factor: float) -> JobLoad:
    phases = tuple(
        (phase, tuple(Task(task.weight, task.id, task.items, [one * factor for one in task.demand]) for task in tasks))
        for phase, tasks in load.phases
    )
    return replace(load, phases=phases, discovered_bytes=round(load.discovered_bytes * factor))
