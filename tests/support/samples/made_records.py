"""Records of jobs and workers with plain values; a test names the fields that matter to it."""

import uuid
from collections.abc import Sequence
from typing import Any

from controller.jobs.progress import Snapshot
from controller.labels.rules import surroundings_of
from core.histogram import Histogram
from core.operations import Op
from core.records import Custodian, Job, JobOptions, JobState, NewTask, Phase
from core.settings import Settings
from monitoring.frames import CounterDelta
from readers.records import Kind
from sql.findings import Item
from sql.jobs import JobProgress, NewJob


def new_job(ident: uuid.UUID, tasks: Sequence[NewTask] = (), custodians: Sequence[bytes] = (), **fields: Any) -> NewJob:
    """Return a job to create, with custodians numbered from 0."""
    numbered = [Custodian(number=number, name=name) for number, name in enumerate(custodians)]
    plain = {"name": "job", "client": "", "project": "", "source": b"/source", "device": 1, "inode": 1}
    plain |= {"storage": b"/storage", "surroundings": surroundings_of(Settings(), b"/").to_json()}
    plain |= {"options": JobOptions(), "workers": 1, "slots": 1}
    return NewJob(id=ident, tasks=tasks, custodians=numbered, **(plain | fields))


def running_job(phase: Phase = Phase.INDEX, **options: Any) -> Job:
    """Return a job as its row has it while it runs."""
    fields = {"name": "j", "source": b"/s", "source_device": 1, "source_inode": 1}
    fields |= {"storage": b"/s", "options": JobOptions(**options)}
    return Job(id=uuid.uuid4(), state=JobState.RUNNING, phase=phase, reason=None, **fields)


def progress(**fields: Any) -> JobProgress:
    """Return sums over the tasks of a running job, 0 where nothing is given."""
    plain: dict[str, Any] = dict.fromkeys(JobProgress.__annotations__, 0)
    plain |= {"state": JobState.RUNNING, "phase": Phase.INDEX, "reason": None, "phases": {}, "waiting": ()}
    return JobProgress(**(plain | {"elapsed_s": 100.0, "total_known": True} | fields))


def snapshot(**fields: Any) -> Snapshot:
    """Return what a user sees of a job in the middle of its phase index."""
    plain = {"state": JobState.RUNNING, "phase": Phase.INDEX, "reason": None, "items_done": 10, "items_known": 20}
    plain |= {"share": 0.5, "tasks_done": 1, "tasks_known": 2, "calls_per_second": 5.0, "exceptions": 6}
    plain |= {"raw_gb_per_hour": 1.0, "discovered_gb_per_hour": 2.0, "elapsed_s": 7.0, "phase_left_s": None}
    plain |= {"raw_gb_per_hour_now": 3.0, "discovered_gb_per_hour_now": 4.0, "left_s": None}
    return Snapshot(**(plain | fields))


def delta(values: Sequence[int], job: uuid.UUID | None = None, **fields: Any) -> CounterDelta:
    """Return the counters of calls that took so many nanoseconds each."""
    histogram = Histogram()
    for value in values:
        histogram.record(value)
    plain = {"phase": Phase.EXPAND, "op": Op.READ, "bytes": 10 * len(values), "errors": 0}
    sums = {"calls": len(values), "total_ns": sum(values), "max_ns": max(values)}
    return CounterDelta(job=job or uuid.UUID(int=1), histogram=histogram, **(plain | sums | fields))


def loose_file(ident: uuid.UUID, **fields: Any) -> Item:
    """Return a loose text file of three bytes."""
    plain = {"parent": None, "family": None, "custodian": 0, "ordinal": b"a", "depth": 0, "name": b"a"}
    plain |= {"container_path": ("a",), "kind": Kind.LOOSE_FILE, "container": False, "media_type": "text/plain"}
    return Item(id=ident, **(plain | {"size": 3, "sha256": b""} | fields))
