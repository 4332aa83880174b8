"""The promises of a worker about its slots, with real processes."""

import json
import os
import re
import signal
import urllib.request
import uuid
from pathlib import Path
from typing import Any

import psutil
import pytest
from forked import Forked
from installation import PATIENCE, children_of, is_gone

from controller.databases import JobHandle, alone
from controller.jobs.overview import Overview
from controller.jobs.progress import Pace, one_line
from core.places import job_location
from core.records import JobOptions
from monitoring.metrics import Endpoint
from readers.errors import ExceptionCode
from sql import jobs, states
from sql.workers import WORKERS, NewWorker, register
from traces.parts import parts_directory, read_spool


def _slot_pids(bench: Any, worker: Forked) -> list[int]:
    """The slots among the worker's children: the reporter is the one with threads."""
    return [pid for pid in _children(worker) if _threads(pid) == 1]


def _children(worker: Forked) -> list[int]:
    path = Path(f"/proc/{worker.pid}/task/{worker.pid}/children")
    return [int(p) for p in path.read_text().split()] if path.exists() else []


def _threads(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except FileNotFoundError:
        return 0


def _stop(worker: Forked) -> int:
    worker.terminate()
    return worker.wait(PATIENCE)


def _running(bench: Any) -> bool:
    """A slot works on a task. The row alone says so a moment before the slot's supervisor can know of it."""
    claimed = bench.rows("SELECT 1 FROM task WHERE state = 'running'")
    return bool(claimed) and any((bench.scratch / "workers").rglob("left-behind"))


def test_tasks_run_and_the_worker_leaves_in_good_order(bench: Any) -> None:
    """A worker registers, its slots connect before there is anything to do, it runs what is sent, and leaves nothing
    behind."""
    worker = bench.start(slots=2)
    bench.until(
        lambda: (
            len(bench.rows("SELECT 1 FROM pg_stat_activity WHERE starts_with(application_name, 'edbench w1/')")) == 2
        )
    )
    bench.tasks(*[{"do": "nothing"}] * 20)
    bench.until(bench.done)
    assert _stop(worker) == 0
    row = bench.one("SELECT * FROM worker")
    assert (row.name, row.slots, row.pid) == ("w1", 2, worker.pid)
    assert row.stopped_at is not None
    assert not list((bench.scratch / "workers").iterdir())


_DEATHS = {
    "abort": (ExceptionCode.KILLED_PARSER, "SIGABRT"),
    "exit": (ExceptionCode.KILLED_PARSER, "exit status 0"),
    "raise": (ExceptionCode.KILLED_PARSER, "exit status 70"),
    "memory": (ExceptionCode.MEMORY, "memory"),
    "hoard": (ExceptionCode.MEMORY, "memory"),
    "wait": (ExceptionCode.TIMEOUT, ""),  # past its deadline
}


def test_deaths_are_attributed_to_the_items_that_were_read(bench: Any) -> None:
    """A slot that dies or hangs while it reads an item is replaced, the item is named, and the task runs again at no
    charge. A crash outside any item names none; it counts against the task, so that it cannot recur for ever."""
    deadly = [{"do": do, "until": "/nonexistent", "seconds": 0.5 if do == "wait" else 600} for do in _DEATHS]
    bench.tasks(*deadly, {"do": "abort", "where": "between"}, {"do": "nothing"})
    worker = bench.start(slots=3, memory_mb=600)
    bench.until(bench.done)
    deaths = {death.item.int: death for death in bench.rows("SELECT * FROM death")}
    tasks = {row.item.int: row for row in bench.rows("SELECT *, (payload->>'item')::uuid AS item FROM task")}
    for item, (do, (cause, detail)) in enumerate(_DEATHS.items(), 1):
        assert (deaths[item].cause, deaths[item].worker) == (cause.value, "w1"), do
        assert detail in deaths[item].detail, do
        assert (tasks[item].failures, tasks[item].attempt) == (0, 2), do
    assert len(deaths) == len(_DEATHS) == bench.one("SELECT count(*) AS rows FROM death").rows
    between, sound = tasks[len(_DEATHS) + 1], tasks[len(_DEATHS) + 2]
    assert (between.failures, between.attempt, sound.failures) == (1, 2, 0)
    slots = bench.until(lambda: len(found := list((bench.scratch / "workers").glob("*/slot-*"))) == 3 and found)
    assert _stop(worker) == 0
    assert not any(slot.exists() for slot in slots)


def test_a_lease_lives_as_long_as_its_slot_works(bench: Any) -> None:
    """A task that takes several leases keeps them, because the worker renews."""
    go = bench.scratch / "go"
    bench.tasks({"do": "wait", "until": str(go)}, lease=1.5)
    bench.start()
    bench.send()
    bench.until(lambda: _running(bench))
    bench.until(lambda: bench.rows("SELECT 1 FROM task WHERE lease > claimed_at + 3 * interval '1.5 s'"))
    go.touch()
    bench.until(lambda: bench.done(resend=False))
    assert bench.one("SELECT attempt FROM task").attempt == 1


def test_a_stopped_slot_loses_its_lease_but_convicts_no_item(bench: Any) -> None:
    go = bench.scratch / "go"
    bench.tasks({"do": "wait", "until": str(go), "seconds": 8}, lease=1.5)
    worker = bench.start()
    (slot,) = bench.until(lambda: _slot_pids(bench, worker))
    bench.send()
    bench.until(lambda: _running(bench))
    os.kill(slot, signal.SIGSTOP)
    overdue = "SELECT 1 FROM task WHERE lease < clock_timestamp() - interval '9 s'"
    bench.until(lambda: bench.rows(overdue))
    assert not is_gone(slot)
    os.kill(slot, signal.SIGCONT)
    go.touch()
    bench.until(lambda: bench.done(resend=False))
    assert bench.rows("SELECT * FROM death") == []
    assert _slot_pids(bench, worker) == [slot]


def test_sigterm_lets_a_running_task_finish(bench: Any) -> None:
    go = bench.scratch / "go"
    bench.tasks({"do": "wait", "until": str(go)})
    worker = bench.start(grace=600)
    bench.send()
    bench.until(lambda: _running(bench))
    worker.terminate()
    go.touch()
    assert worker.wait(PATIENCE) == 0
    assert bench.one("SELECT state, attempt FROM task") == ("done", 1)


def test_sigterm_gives_back_what_does_not_finish_in_time(bench: Any) -> None:
    bench.tasks({"do": "wait", "until": "/nonexistent"})
    worker = bench.start(grace=0.3)
    bench.send()
    bench.until(lambda: _running(bench))
    assert _stop(worker) == 0
    assert bench.one("SELECT state, failures, attempt FROM task") == ("pending", 0, 1)
    assert bench.rows("SELECT * FROM death") == []


def test_a_second_sigterm_does_not_wait(bench: Any) -> None:
    bench.tasks({"do": "wait", "until": "/nonexistent"})
    worker = bench.start(grace=600)
    bench.send()
    bench.until(lambda: _running(bench))
    worker.terminate()
    worker.send_signal(signal.SIGINT)
    assert worker.wait(PATIENCE) == 0
    assert bench.one("SELECT state FROM task").state == "pending"


def test_slots_die_with_their_supervisor(bench: Any) -> None:
    bench.tasks({"do": "wait", "until": "/nonexistent"})
    worker = bench.start(slots=2)
    bench.send()
    bench.until(lambda: _running(bench))
    pids = bench.until(lambda: len(found := _children(worker)) == 3 and found)
    (left,) = (bench.scratch / "workers").iterdir()
    worker.kill()
    worker.wait()
    bench.until(lambda: all(map(is_gone, pids)))
    bench.start("w2")
    bench.until(lambda: not left.exists())
    assert bench.rows("SELECT * FROM death") == []


def test_a_dead_reporter_is_replaced_and_metrics_outlive_it(bench: Any, port: int) -> None:
    """When the reporter is killed, another one registers as a new incarnation and signs off the old one, whose last
    frame is counted as lost: the calls of a job are a lower bound then. Deaths are reported and counted as before."""
    endpoint = Endpoint(port)

    def ended(outcome: str) -> float | None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{endpoint.port}/metrics", timeout=PATIENCE) as reply:
                text = reply.read().decode()
        except OSError:
            return None
        found = re.search(rf'^edbench_tasks_total{{outcome="{outcome}",phase="walk"}} (.*)$', text, re.M)
        return float(found.group(1)) if found else None

    bench.tasks({"do": "abort"}, {"do": "nothing"})
    worker = bench.start(metrics=endpoint)
    bench.until(bench.done)
    bench.until(lambda: ended("done") == 2)
    assert ended("died") == 1
    (reporter,) = set(_children(worker)) - set(_slot_pids(bench, worker))
    os.kill(reporter, signal.SIGKILL)
    bench.until(lambda: len(bench.rows("SELECT 1 FROM worker")) == 2)
    bench.until(lambda: bench.one("SELECT count(stopped_at) AS stopped FROM worker").stopped == 1)
    assert bench.one("SELECT frames_lost FROM worker WHERE stopped_at IS NOT NULL").frames_lost >= 1
    bench.until(lambda: ended("done") == 2)
    assert ended("died") == 1
    with bench.database.transaction() as conn:
        conn.execute("UPDATE task SET state = 'pending', attempt = 0 WHERE payload ->> 'do' = 'abort'")
    bench.until(bench.done)
    assert len(bench.rows("SELECT * FROM death")) == 2
    bench.until(lambda: ended("died") == 2)


def test_a_slot_that_hangs_outside_an_item_is_ended_and_its_task_charged(bench: Any) -> None:
    """Promise: a listing that never comes back costs the task an attempt, no item is convicted, and the log says what
    it was."""
    bench.tasks({"do": "wait", "until": "/nonexistent", "where": "between", "listing": "/source/deep"})
    bench.start(stall=1)
    bench.until(bench.done)
    assert bench.rows("SELECT * FROM death") == []
    assert bench.one("SELECT failures FROM task").failures == 1
    assert "has been listing /source/deep for" in bench.log()


@pytest.mark.parametrize("where", ["between", "item"])
def test_a_slot_that_cannot_be_killed_is_named_and_its_job_suspended(bench: Any, where: str) -> None:
    """Promise: the job says which slot does what since when; the task is free at once, its lease is renewed no more,
    nobody is convicted; after the mend a resumed job ends, on another slot; and the worker can still be stopped."""
    go = bench.scratch / "go"
    stuck = {"do": "wait", "until": str(go), "where": where, "seconds": 1, "listing": "/source/deep"}
    bench.tasks(stuck, lease=1.5)
    worker = bench.start(stall=1, unkillable=True)
    bench.send()
    row = bench.until(lambda: bench.rows("SELECT state, reason FROM job WHERE state = 'suspended'"))[0]
    what = "listing /source/deep" if where == "between" else "reading item 00000000-0000-0000-0000-000000000001"
    assert "worker w1: slot 0 (process " in row.reason
    assert f"has been {what} for" in row.reason
    assert "cannot be killed" in row.reason
    assert bench.one("SELECT state, failures FROM task") == ("pending", 0)
    with bench.database.transaction() as conn:
        states.request_resume(conn, bench.job)
    bench.start("w2")
    bench.until(bench.done)
    assert bench.rows("SELECT * FROM death") == []
    assert bench.one("SELECT attempt FROM task").attempt == 2
    assert _stop(worker) == 0


def test_what_a_slot_waits_for_is_reported_to_whoever_asks_for_the_job(bench: Any) -> None:
    """Promise: while it lasts, and only for the job that it holds up; a worker that is gone says nothing."""
    bench.tasks({"do": "nothing"})
    incarnation, text = uuid.uuid4(), "slot 0 (process 7) has been listing /source for 41 s"
    with bench.database.transaction() as conn:
        register(conn, NewWorker(incarnation=incarnation, name="w1", host="h", pid=1, boot_id="", slots=1, version="0"))
        waiting = json.dumps([{"job": str(bench.job), "text": text}])
        WORKERS.worker_seen(conn, incarnation=incarnation, waiting=waiting)
        assert WORKERS.worker_waits(conn, job=str(uuid.uuid4())) == []
        progress = jobs.progress(conn, bench.job)
        assert progress.waiting == (f"w1: {text}",)
        assert one_line(Pace(JobOptions()).snapshot(progress, 0.0, 0.0)).endswith(f"waiting: w1: {text}")
        job = jobs.get_job(conn, bench.job)
    row = Overview().row_of(alone(JobHandle(bench.database, job)))
    assert (row.state, row.reason) == ("running", f"waiting: w1: {text}")
    with bench.database.transaction() as conn:
        WORKERS.worker_stopped(conn, incarnation=incarnation)
        assert jobs.progress(conn, bench.job).waiting == ()


def _delivered(bench: Any) -> list[bytes]:
    """The paths of the calls that have arrived on the storage root."""
    parts = parts_directory(bench.scratch / "storage", bench.job).glob("*.calls")
    return sorted(path for part in parts for block in read_spool(part)[1] for path in block.paths)


def _tasks(bench: Any, *paths: str) -> None:
    (bench.scratch / "storage" / os.fsdecode(job_location(bench.job))).mkdir(parents=True)
    bench.tasks(*({"do": "nothing", "stat": path} for path in paths))


def test_a_worker_that_lives_on_delivers_when_the_job_is_over(bench: Any) -> None:
    _tasks(bench, "/", "/usr")
    bench.start(slots=2)
    bench.until(bench.done)
    assert not parts_directory(bench.scratch / "storage", bench.job).exists()
    with bench.database.transaction() as conn:
        conn.execute("UPDATE job SET state = 'completed'")
    incarnation = bench.one("SELECT incarnation FROM worker").incarnation
    done = parts_directory(bench.scratch / "storage", bench.job) / f"{incarnation.hex}.done"
    bench.until(done.exists)
    assert _delivered(bench) == [b"/", b"/usr"]


def test_a_worker_that_leaves_delivers_whatever_its_jobs_do(bench: Any) -> None:
    _tasks(bench, "/", "/usr")
    killed = bench.start()
    bench.until(bench.done)
    slots = children_of(psutil.Process(killed.pid))
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    bench.until(lambda: all(map(is_gone, slots)))
    assert _delivered(bench) == []
    later = bench.start("w2")
    bench.until(lambda: _delivered(bench) == [b"/", b"/usr"])
    with bench.database.transaction() as conn:
        conn.execute("UPDATE task SET state = 'pending', attempt = 0 WHERE payload ->> 'stat' = '/'")
    bench.until(bench.done)
    later.terminate()
    assert later.wait(PATIENCE) == 0
    assert _delivered(bench) == [b"/", b"/", b"/usr"]
    assert not any(Path(bench.scratch / "traces").iterdir())
