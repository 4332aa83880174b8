"""What tells the databases of a worker, where nobody foresaw what happens to it."""

import dataclasses
import os
import subprocess
import sys
import threading
import time
import uuid
from multiprocessing import Pipe
from pathlib import Path

import pytest

from core.operations import Op
from core.records import Phase
from core.settings import Settings
from monitoring.broker import FrameSender
from monitoring.frames import Frame
from monitoring.host_samplers import HostSampling
from monitoring.live import PAGES, LiveRecorder
from monitoring.metrics import NOWHERE
from monitoring.observations import Observation
from monitoring.processes import process_use
from sql.session import Database
from sql.workers import NewWorker
from traces.parts import WorkerParts
from worker.host.registration import Effort
from worker.host.reporter import DatabaseReporter, FrameWriter, ReporterPlan
from worker.slots.table import SlotTable


class Gone(Exception):
    """The process would have ended here."""


def _plan(settings: Settings, directory: Path) -> ReporterPlan:
    identity = NewWorker(uuid.uuid4(), "w1", "h", os.getpid(), boot_id="b", slots=1, version="0")
    parts = WorkerParts(directory / "traces", directory)
    return ReporterPlan(
        settings=settings, identity=identity, previous=None, table=SlotTable(1, ["db1"]), parts=parts, metrics=NOWHERE
    )


def test_a_call_that_ends_while_its_frame_is_made_is_not_called_sent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The host is observed after the counts were collected. A job that ends meanwhile has its last calls in the next frame, for
    which its figures must wait: by the time that a frame states, all earlier calls are in it."""
    plan = _plan(Settings(broker="redis://127.0.0.1:1/0"), tmp_path)
    slot, frames, ended = LiveRecorder(plan.table.region(0)), list[Frame](), list[float]()
    slot.select(uuid.uuid4(), Phase.FINALISE)

    def observe(self: HostSampling) -> list[Observation]:
        slot.record(Op.FSYNC, 0, 1_000, 0, b"/", 0)
        ended.append(time.time())
        return []

    monkeypatch.setattr(HostSampling, "sample", observe)
    monkeypatch.setattr(FrameSender, "send", lambda self, frame: frames.append(frame))
    FrameWriter(plan).write()
    assert not frames[0].deltas
    assert frames[0].through <= ended[0]


def test_calls_that_no_page_could_take_are_missing_like_a_lost_frame(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A reporter that is stopped for seconds frees no page. The figures of these jobs must not be called complete; those of jobs
    after the next reporter took over may."""
    plan = _plan(Settings(broker="redis://127.0.0.1:1/0", observe=False), tmp_path)
    slot, frames = LiveRecorder(plan.table.region(0), wait_seconds=0), list[Frame]()
    monkeypatch.setattr(FrameSender, "send", lambda self, frame: frames.append(frame))
    writer = FrameWriter(plan)
    for _ in range(PAGES + 1):
        slot.select(uuid.uuid4(), Phase.EXPAND)
        slot.record(Op.STAT, 0, 1_000, 0, b"/", 0)
    for _ in range(2):
        writer.write(last=True)
    FrameWriter(dataclasses.replace(plan, previous=uuid.uuid4())).write(last=True)
    assert sum(delta.calls for delta in frames[0].deltas) == PAGES
    assert [frame.sequence for frame in frames] == [2, 3, 1]


def test_a_thread_that_fails_ends_its_reporter(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """One of several databases' threads: the others would go on, and its worker seem gone from that database alone, with its
    leases running out. The supervisor starts another for a reporter that ended, and its log has the cause."""

    def leave(status: int) -> None:
        raise Gone(status)

    def unforeseen(self: Database, **_: object) -> None:
        raise ZeroDivisionError("nobody thought of it")

    monkeypatch.setattr(os, "_exit", leave)
    monkeypatch.setattr(Database, "transaction", unforeseen)
    plan = _plan(Settings(), tmp_path)
    nowhere = Database("db1", "postgresql+psycopg2://nowhere/db1")
    with pytest.raises(Gone) as ended:
        DatabaseReporter(plan, nowhere, Pipe()[0], threading.Lock()).run()
    assert ended.value.args != (0,)
    assert "for database db1; another reporter" in caplog.text
    assert "nobody thought of it" in caplog.text


def test_a_sandbox_counts_with_its_worker_whoever_forked_it() -> None:
    """Several workers share a fork server, so a sandbox is no descendant of its worker's supervisor. What it used stays counted
    when it and its slot have died."""
    table = SlotTable(1, ["db1"])
    tally = table.tally(0)
    with (
        subprocess.Popen(["sleep", "infinity"]) as supervisor,
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) as sandbox,
    ):
        effort = Effort(supervisor.pid, [tally])

        def parsed() -> float:
            effort.look([])
            return effort.cpu_s - process_use(os.getpid(), with_children=True).cpu_s

        try:
            before = parsed()
            tally.sandbox = sandbox.pid
            while process_use(sandbox.pid).cpu_s < 0.5:
                pass
            assert parsed() - before > 0.4
        finally:
            sandbox.kill()
            supervisor.kill()
    tally.slot_died()
    assert parsed() - before > 0.4
