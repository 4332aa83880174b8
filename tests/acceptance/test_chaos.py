"""What is killed, stopped or taken away in the middle costs nothing: each ends with zero differences."""

from __future__ import annotations

import os
import random
import signal

import psutil
from installation import Bench, until


def _kill(victim: psutil.Process) -> bool:
    try:
        victim.kill()
    except psutil.NoSuchProcess:
        return False
    return True


def test_killed_slots(bench: Bench) -> None:
    """SIGKILL of random slots, in expand and in index."""
    process = bench.discover("--workers", "2", "--slots", "2")
    chance = random.Random(11)
    killed = 0
    for phase, done in (("expand", 1), ("expand", 3), ("index", 1), ("index", 3)):
        bench.until_tasks(process, phase, done)
        slots = bench.slots(process)
        killed += bool(slots) and _kill(chance.choice(slots))
    bench.end(process)
    assert killed >= 3
    assert bench.verify()["differences"] == 0


def test_a_killed_worker(bench: Bench) -> None:
    """SIGKILL of a whole worker: its slots die with it, its leases run out, another takes over."""
    process = bench.discover("--workers", "2", "--slots", "2", "--lease-seconds", "3")
    bench.until_tasks(process, "expand", 1)
    victim = bench.supervisors(process)[0]
    slots = victim.children()
    assert _kill(victim)
    until(lambda: not any(s.is_running() and s.status() != psutil.STATUS_ZOMBIE for s in slots), "slots die with it")
    bench.end(process)
    assert bench.verify()["differences"] == 0


def test_a_killed_broker_comes_back_empty(bench: Bench) -> None:
    """The broker only carries messages: losing all of them loses nothing."""
    process = bench.discover("--workers", "2", "--slots", "2", "--dispatch-seconds", "3")
    bench.until_tasks(process, "expand", 1)
    os.kill(bench.addresses().broker.pid, signal.SIGKILL)
    bench.end(process)
    assert bench.verify()["differences"] == 0


def test_a_killed_queue_manager(bench: Bench) -> None:
    """Another queue manager takes the lock and goes on."""
    process = bench.discover("--workers", "2", "--slots", "2")
    bench.until_tasks(process, "expand", 1)
    (victim,) = bench.processes(process, "queue_manager")
    assert _kill(victim)
    bench.end(process)
    assert bench.verify()["differences"] == 0


def test_postgresql_killed(bench: Bench) -> None:
    """The database stopped hard and started again: tasks are finished again behind their fence."""
    process = bench.discover("--workers", "2", "--slots", "2", "--lease-seconds", "5")
    bench.until_tasks(process, "expand", 2)
    os.kill(bench.addresses().server_of("db1").pid, signal.SIGKILL)
    bench.end(process)
    assert bench.verify()["differences"] == 0


def test_a_stopped_slot_that_wakes_up_late_changes_nothing(bench: Bench) -> None:
    """SIGSTOP past the lease, SIGCONT after another attempt has the task: the fence drops what it did."""
    process = bench.discover("--workers", "2", "--slots", "1", "--lease-seconds", "1")

    def stopped() -> psutil.Process | None:
        assert process.poll() is None, "the job was over before a slot could be stopped in a task"
        for slot in bench.slots(process):
            slot.suspend()
            running = bench.query("SELECT worker FROM task WHERE state = 'running' AND phase IN ('expand', 'index')")
            name = slot.parent().cmdline()[slot.parent().cmdline().index("--name") + 1]
            if any(row.worker == name for row in running) and slot.num_threads() >= 1 and _is_slot(slot):
                return slot
            slot.resume()
        return None

    victim = until(stopped, "a slot stopped in a task")
    lost = bench.query("SELECT id, attempt FROM task WHERE state = 'running'")
    until(
        lambda: (
            bench.query(
                f"SELECT 1 FROM task WHERE (id, attempt) IN (({lost[0].id}, {lost[0].attempt})) AND state = 'running'"
            )
            == []
        ),
        "its lease has run out",
    )
    victim.resume()
    bench.end(process)
    assert bench.verify()["differences"] == 0


def _is_slot(candidate: psutil.Process) -> bool:
    """A slot, not the worker's reporter: only slots talk to the broker."""
    return bool([c for c in candidate.net_connections() if c.status == psutil.CONN_ESTABLISHED])


def test_pause_and_resume_give_the_same_result(bench: Bench) -> None:
    """Paused from another command, resumed later: nothing is done twice, nothing is missing."""
    process = bench.discover("--workers", "1", "--slots", "2")
    bench.until_tasks(process, "expand", 1)
    bench.edbench("pause", "last")
    bench.end(process)
    assert "paused" in bench.edbench("jobs").stdout
    bench.edbench("resume", "last")
    assert bench.verify()["differences"] == 0


def test_interrupted_job_is_paused_and_goes_on(bench: Bench) -> None:
    """Ctrl-C: exit status 130, the job paused, nothing left running; `resume` ends it."""
    process = bench.discover("--workers", "1", "--slots", "2")
    bench.until_tasks(process, "expand", 1)
    process.send_signal(signal.SIGINT)
    assert "resume" in bench.end(process, 130)
    until(lambda: not bench.leftovers(), "nothing left running", 60)
    bench.edbench("resume", "last", "--workers", "2")
    assert bench.verify()["differences"] == 0


def test_a_killed_command_leaves_nothing_running_and_its_job_goes_on(bench: Bench) -> None:
    """SIGKILL of `discover` itself: services and workers end, `resume` takes the job up."""
    process = bench.discover("--workers", "2", "--slots", "2", "--lease-seconds", "3")
    bench.until_tasks(process, "expand", 1)
    process.kill()
    process.communicate()
    until(lambda: not bench.leftovers(), "nothing left running", 60)
    bench.edbench("resume", "last", "--workers", "2")
    assert bench.verify()["differences"] == 0
