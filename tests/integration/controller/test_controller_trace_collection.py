"""A job's trace, collected from workers that left in the middle and from workers that live on."""

import dataclasses
import uuid
from pathlib import Path

import pytest
from taskbench import SelectingRecorder, TaskBench
from unpacking import make_mail, make_mbox, make_zip

from controller.databases import JobHandle
from controller.observe.trace_collection import collect_trace, trace_figures
from core.clock import SystemClock
from core.records import JobOptions, Phase
from core.settings import Settings
from core.storage.layer import Storage
from sql import jobs
from sql.workers import NewWorker, register
from traces.file import open_trace
from traces.model import NodeKind
from traces.parts import WorkerParts, parts_directory, worker_parts
from worker.host.reporter import Deliveries
from worker.slots.context import SlotContext, SpoolTracer


class Recording:
    """A slot of a worker that keeps its calls."""

    def __init__(self, bench: TaskBench, name: str) -> None:
        self.worker = uuid.uuid4()
        self.recorder = SelectingRecorder()
        self.parts: WorkerParts = worker_parts(bench.home / "scratch", self.worker, bench.storage_root)
        storage = Storage(self.recorder)
        self.context: SlotContext = dataclasses.replace(
            bench.slot(name, storage),
            recorder=self.recorder,
            tracer=SpoolTracer(self.parts, name, 0, storage, self.recorder),
        )


class DeliveringClock(SystemClock):
    """Lets a worker that lives on do its part whenever the controller waits."""

    def __init__(self, deliveries: Deliveries) -> None:
        self.deliveries = deliveries
        self.waits = 0

    def sleep(self, seconds: float) -> None:
        self.waits += 1
        self.deliveries.look()
        self.deliveries.step()


@pytest.fixture
def traced(task_bench: TaskBench) -> TaskBench:
    task_bench.options = JobOptions(trace=True)
    mails = [make_mail(f"s{n}", f"text {n}\n") for n in range(20)]
    (task_bench.source / "mail.mbox").write_bytes(make_mbox(*mails))
    (task_bench.source / "sub").mkdir()
    (task_bench.source / "sub" / "a.zip").write_bytes(make_zip({"x.txt": b"deep" * 50}))
    task_bench.create()
    return task_bench


def collected(bench: TaskBench, clock: SystemClock, seconds: float = 600.0) -> Path:
    """The trace, of which `lost` must be none."""
    with bench.database.transaction() as conn:
        handle = JobHandle(bench.database, jobs.get_job(conn, bench.job))
    settings = Settings(storage=bench.storage_root, scratch=bench.home / "elsewhere")
    found = collect_trace(handle, settings, clock, labels=["local"], ours=False, seconds=seconds)
    assert found.lost == 0
    assert trace_figures(found).to_json() == {
        "path": str(found.path),
        "bytes": found.path.stat().st_size,
        "calls": found.calls,
        "lost": 0,
        "nodes": found.nodes,
    }
    return found.path


def test_a_job_is_traced_across_workers_that_come_and_go(traced: TaskBench) -> None:
    first, second = Recording(traced, "w1"), Recording(traced, "w2")
    traced.context = first.context
    traced.until(Phase.INDEX)
    deliveries = Deliveries(first.parts, traced.database, first.worker)
    deliveries.look()
    deliveries.step()
    assert not parts_directory(traced.storage_root, traced.job).exists()  # the job is not over
    first.parts.deliver_all()
    traced.context = second.context
    assert traced.run() == "completed"
    with traced.database.transaction() as conn:
        register(
            conn, NewWorker(incarnation=second.worker, name="w2", host="h", pid=1, boot_id="b", slots=1, version="1")
        )
        conn.execute("UPDATE worker SET seen_at = clock_timestamp() + interval '1 hour'")
    clock = DeliveringClock(Deliveries(second.parts, traced.database, second.worker))
    with open_trace(collected(traced, clock)) as trace:
        header, nodes = trace.header, trace.nodes
        calls = {stream.worker: list(trace.calls(n)) for n, stream in enumerate(header.streams)}
    assert clock.waits > 0
    waits = clock.waits
    collected(traced, clock)  # again: nobody is waited for, all is there
    assert clock.waits == waits
    for recording, name in ((first, "w1"), (second, "w2")):
        made = [(r.op, r.duration_ns, r.bytes, r.argument, r.error) for r in recording.recorder.records]
        assert [(c.op, c.duration_ns, c.bytes, c.argument, c.error) for c in calls[name]] == made
        assert made
    assert {header.phases[c.phase] for c in calls["w1"]} == {"walk", "expand"}
    assert {header.phases[c.phase] for c in calls["w2"]} == {"index", "finalise"}
    existed = sorted((node.kind.name, node.size) for node in nodes if node.existed and node.kind is NodeKind.FILE)
    sizes = sorted(path.stat().st_size for path in traced.source.rglob("*") if path.is_file())
    assert existed == [("FILE", size) for size in sizes]
    assert None not in {stream.idle for stream in header.streams}  # the ledger knows when each had a task
    assert header.origin["labels"] == ["local"]
    assert header.origin["options"]["trace"] is True


def test_a_job_that_wants_no_trace_has_none(task_bench: TaskBench) -> None:
    (task_bench.source / "a.txt").write_bytes(b"a")
    task_bench.create()
    recording = Recording(task_bench, "w1")
    task_bench.context = recording.context
    assert task_bench.run() == "completed"
    assert recording.recorder.records
    assert not recording.parts.directory.exists()
