"""The database is killed again and again just after a claim, and comes back without its last commits.

With `synchronous_commit = off` those are lost: a slot goes on with a claim, and with a task, that the database has never
heard of, and the same task is given to another. Nothing of that may be lost, counted twice, or found twice. Run by
`make test-chaos`: each waits for three recoveries."""

import contextlib
import os
import signal
from pathlib import Path

import psycopg2
import pytest
from installation import Bench, until
from servers import superuser_url

CRASHES = 3
UNLUCKY = 12  # as many, should none have lost a claim yet: on a busy machine something else may have flushed it
_SOON = ("--lease-seconds", "3", "--dispatch-seconds", "3")
_WRITER = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"
_A_SLOTS_BACKEND = "SELECT max(pid) AS pid FROM pg_stat_activity WHERE application_name LIKE 'edbench %%/%%'"


def _lose_commits(bench: Bench) -> None:
    """Nothing but the job itself is to flush anything, so that each crash has bad luck."""
    until(lambda: bench.query("SELECT 1 FROM job"), "there is a job")
    with contextlib.closing(psycopg2.connect(superuser_url(bench.scratch))) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute("ALTER SYSTEM SET autovacuum = off")
            cursor.execute("ALTER SYSTEM SET bgwriter_lru_maxpages = 0")
            cursor.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")
            cursor.execute("SELECT pg_reload_conf()")
    _stop_writer(bench)


def _stop_writer(bench: Bench) -> None:
    """It writes the commits that nobody waits for: after 0.2 s, and here 10 s after a start, which leaves time for this."""
    _signal_writer(bench, signal.SIGSTOP)


def _signal_writer(bench: Bench, number: int) -> None:
    ((writer,),) = until(lambda: bench.query(_WRITER), "the database answers")
    os.kill(writer, number)


def _kill_server(bench: Bench) -> None:
    """With all its processes at once, as when the machine's power fails."""
    server = bench.addresses().server_of("db1").pid
    children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    for pid in (server, *map(int, children)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    until(lambda: bench.addresses().server_of("db1").pid != server, "it is started again")


def _kill_backend(bench: Bench) -> None:
    """One process of it, as the kernel does for want of memory: the server ends all others and recovers by itself."""
    ((backend,),) = until(lambda: bench.query(_A_SLOTS_BACKEND), "it answers")
    os.kill(backend, signal.SIGKILL)
    until(lambda: not bench.query("SELECT 1"), "it is down")


@pytest.mark.parametrize(
    ("phase", "slots", "kill"),
    [("index", 1, _kill_server), ("expand", 2, _kill_server), ("index", 1, _kill_backend)],
    ids=["index", "expand", "one-backend"],
)
def test_commits_that_are_lost_cost_nothing(bench: Bench, small: Path, phase: str, slots: int, kill: object) -> None:
    """Each time a slot has done the work of a claim that is lost then. The job ends by itself, or with one `resume`, and
    nothing differs from the manifest."""
    hold = bench.hold(f"{phase}-end", 0)
    bench.env["EDBENCH_OBSERVE"] = "off"  # what is observed is flushed every second, and with it all before
    process = bench.discover("--workers", "1", "--slots", str(slots), *_SOON, corpus=small)
    _lose_commits(bench)
    claims = f"SELECT worker, slot, claimed_at FROM task WHERE phase = '{phase}' AND state = 'running'"
    lost = crash = 0
    while crash < CRASHES or (not lost and crash < UNLUCKY):
        crash += 1
        hold.until_reached(process)
        before = bench.query(claims)
        assert callable(kill)
        kill(bench)
        _stop_writer(bench)
        known = bench.query("SELECT worker, slot, claimed_at FROM task")
        lost += any(claim not in known for claim in before)
        hold.after(crash)
    _signal_writer(bench, signal.SIGCONT)  # or the server would wait for it at its end
    hold.let_go()
    bench.end(process, None)
    if process.returncode:
        bench.edbench("job", "resume", "last")
    assert bench.verify()["differences"] == 0
    assert lost, "no claim was lost: this was no test"
