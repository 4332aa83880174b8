"""`make bench-starts BENCH_ARGS="--workers 30"`: how soon many workers are there, and what memory they hold while they work."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

from benchmarks.bench_home import BenchHome
from benchmarks.figures import Figure, Figures
from controller.cluster.embedded import EmbeddedCluster, together
from controller.databases import JobHandle, open_databases
from controller.jobs.create import create_discovery
from controller.jobs.jobs import prepare_source
from controller.jobs.plan import DiscoveryPlan
from controller.jobs.progress import Snapshot
from controller.jobs.run import Crew, run_all_to_rest
from core.clock import SystemClock
from core.operations import NullRecorder
from core.records import JobOptions
from core.services import embedded_services
from core.settings import Settings, read_settings
from core.storage.layer import Storage
from sql import workers
from sql.session import Database

SLOTS = 4
_ROLES = ("supervisor", "slot", "nursery", "box")
_MOST_S, _LOOK_S = 600.0, 0.05
_SAMPLE_S = 5.0  # a look at hundreds of processes takes a second of a processor and more
_MOST_MB = 6_000.0


@dataclass(slots=True)
class Held:
    """The most memory (PSS, bytes) that workers with their boxes had together when looked at, and how many looks there were."""

    most: int = 0
    looks: int = 0
    due: float = 0.0

    def look(self, _snapshot: Snapshot, now: float) -> None:
        """As whoever follows a job is shown it."""
        if now < self.due:
            return
        groups = _processes_of(os.getpid())
        self.most = max(self.most, sum(_pss(process) for role in _ROLES for process in groups.get(role, ())))
        self.looks, self.due = self.looks + 1, time.monotonic() + _SAMPLE_S


def measure(home: BenchHome, many: int, scale: str, figures: Figures) -> None:
    """Start so many workers of four slots, then a job over the reference corpus for them."""
    corpus = home.directory / "corpus"
    home.run("corpus", "generate", str(corpus), "--profile", "reference", "--scale", scale, "--seed", "1")
    settings = read_settings(home.environment())
    settings.storage.mkdir(parents=True, exist_ok=True)
    with embedded_services(settings, slots=many * SLOTS) as attached:
        databases = open_databases(attached)
        begun = time.monotonic()
        try:
            whole = together(many, os.environ)
            with EmbeddedCluster(attached, many, SLOTS, env=os.environ, together=whole) as cluster:
                _until_all_live(databases[0], many * SLOTS)
                note = f"{many} workers of {SLOTS} slots, from the start of their first process until all slots are in the ledger"
                figures.add("all_slots_live", Figure(value=time.monotonic() - begun, unit="s", note=note))
                cluster.manage()
                crew = Crew(settings=attached, ours=True, workers=many, slots=SLOTS, env=os.environ, cluster=cluster)
                held = _worked(_job(attached, databases, str(corpus), many), crew)
        finally:
            for database in databases:
                database.dispose()
    note = f"PSS of {many} workers of {SLOTS} slots and their boxes, the most of {held.looks} looks at a job at scale {scale}"
    figures.add("workers_pss", Figure(value=held.most / 1e6, unit="MB", target=_MOST_MB, at_most=True, note=note))


def _job(settings: Settings, databases: Sequence[Database], corpus: str, many: int) -> Sequence[JobHandle]:
    storage = Storage(NullRecorder())
    source, plan = prepare_source(storage, corpus), DiscoveryPlan(options=JobOptions())
    return create_discovery(databases[:1], storage, settings, source, plan, workers=many, slots=SLOTS).each


def _worked(jobs: Sequence[JobHandle], crew: Crew) -> Held:
    """What they held while they did it. Raises RuntimeError where the job did not end."""
    held = Held()
    (outcome,) = run_all_to_rest(jobs, crew, SystemClock(), held.look, print)
    if not outcome.state.over or not held.looks:
        raise RuntimeError(f"the job is {outcome.state}, looked at {held.looks} times")
    return held


def _until_all_live(database: Database, slots: int) -> None:
    """Raises RuntimeError when they do not come."""
    until = time.monotonic() + _MOST_S
    while time.monotonic() < until:
        with database.transaction() as conn:
            if workers.live_slots(conn) >= slots:
                return
        time.sleep(_LOOK_S)
    raise RuntimeError(f"{slots} slots are not there after {_MOST_S:.0f} s")


def _pss(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:
        return 0


def _processes_of(command: int) -> dict[str, list[psutil.Process]]:
    """The command itself and what it started; nothing when it is gone."""
    try:
        below = psutil.Process(command).children(recursive=True)
        workers = [p for p in below if "--name" in p.cmdline()]  # slots are forks of their supervisor: the same line
        pids = {p.pid for p in workers}
        slots = [p for p in workers if p.ppid() in pids]
        supervisors = [p for p in workers if p.ppid() not in pids]
        managers = [p for p in below if "queue_manager" in p.cmdline()]
        parsers = [p for p in below if "worker.box" in p.cmdline()]  # boxes are forks of their nursery, likewise
        pids = {p.pid for p in parsers}
        boxes = [p for p in parsers if p.ppid() in pids]
        nurseries = [p for p in parsers if p.ppid() not in pids]
    except psutil.Error:
        return {}
    return {
        "command": [psutil.Process(command)],
        "queue manager": managers,
        "supervisor": supervisors,
        "slot": slots,
        "nursery": nurseries,
        "box": boxes,
    }
