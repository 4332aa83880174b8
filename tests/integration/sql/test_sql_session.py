"""Sessions against a real server: durability, faults, forks, held connections."""

import os
import re
import signal
import subprocess
import sys
import threading
import uuid
from pathlib import Path

import psutil
import psycopg2
import pytest
from installation import PATIENCE, until
from sql_interfaces import STATEMENTS

from core.errors import DatabaseFault, UsageError
from sql.connection import Connection, Plans
from sql.interface import Query
from sql.session import Database


def test_nothing_connects_at_construction() -> None:
    """Promise: a Database may be made before a fork and for a server that is not there yet; the fault comes at
    the first transaction and is transient."""
    database = Database("db1", "postgresql+psycopg2://nobody@127.0.0.1:1/none")
    with pytest.raises(DatabaseFault, match="database db1") as caught, database.transaction():
        pass
    assert caught.value.transient


def test_durability_is_per_transaction(database: Database) -> None:
    """Promise: ledger transactions do not wait for the log, changes of job and phase do."""
    with database.transaction() as conn:
        assert conn.execute("SHOW synchronous_commit").scalar_one() == "off"
    with database.transaction(durable=True) as conn:
        assert conn.execute("SHOW synchronous_commit").scalar_one() == "on"
    with database.transaction() as conn:
        assert conn.execute("SHOW synchronous_commit").scalar_one() == "off"


def test_an_exception_rolls_back(database: Database) -> None:
    """Promise: what a block did before it raised is gone, and the exception arrives as it was."""

    def fail() -> None:
        with database.transaction() as conn:
            conn.execute("CREATE TABLE left_over (n int)")
            raise KeyError("x")

    with pytest.raises(KeyError):
        fail()
    with database.transaction() as conn:
        assert conn.execute("SELECT to_regclass('left_over')").scalar_one() is None


def test_a_statements_own_error_is_not_a_fault(database: Database) -> None:
    with pytest.raises(psycopg2.ProgrammingError), database.transaction() as conn:
        conn.execute("SELECT nothing_of_that_name")


def test_a_wrong_password_is_a_lasting_fault(database: Database) -> None:
    """Promise: retrying a refused login is pointless, and the line says where to mend it."""
    wrong = Database("db1", re.sub("//(.*?):", r"//\1:wrong", database.url))
    with pytest.raises(DatabaseFault, match="EDBENCH_DATABASES") as caught, wrong.transaction():
        pass
    assert not caught.value.transient


def test_another_dialect_is_refused() -> None:
    """Promise: there is one SQL dialect; a URL of another is a usage error."""
    with pytest.raises(UsageError, match=r"postgresql\+psycopg2"), Database("db1", "sqlite://").transaction():
        pass


def test_an_exhausted_pool_is_transient(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Promise: waiting for a connection of one's own process is no reason to suspend a job, and what was returned serves the
    next."""
    monkeypatch.setattr("sql.session.CONNECT_SECONDS", 0.1)
    own = Database("db1", database.url, pool_size=1)
    with (
        own.transaction(),
        own.transaction(),
        pytest.raises(DatabaseFault, match="no free") as caught,
        own.transaction(),
    ):
        pass
    assert caught.value.transient
    with own.transaction() as conn:
        assert conn.execute("SELECT 1").scalar_one() == 1
    own.dispose()


def test_a_killed_session_is_transient_and_the_next_transaction_works(database: Database) -> None:
    """Promise: after the server ended the connection (admin shutdown), one transaction fails, no more."""

    def lose_the_session() -> None:
        with database.transaction() as conn:
            pid = conn.execute("SELECT pg_backend_pid()").scalar_one()
            with Database("other", database.url).transaction() as other:
                other.execute("SELECT pg_terminate_backend(%(pid)s)", {"pid": pid})
            conn.execute("SELECT 1")

    with pytest.raises(DatabaseFault) as caught:
        lose_the_session()
    assert caught.value.transient
    assert caught.value.__cause__ is not None
    with database.transaction() as conn:
        assert conn.execute("SELECT 1").scalar_one() == 1


def test_a_forked_child_does_not_use_its_parents_socket(database: Database) -> None:
    """Promise: both sides of a fork can go on with the same object."""
    with database.transaction() as conn:
        mine = conn.execute("SELECT pg_backend_pid()").scalar_one()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with database.transaction() as conn:
                os.write(write, str(conn.execute("SELECT pg_backend_pid()").scalar_one()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        theirs = int(pipe.read())
    os.waitpid(child, 0)
    assert theirs != mine
    with database.transaction() as conn:
        assert conn.execute("SELECT pg_backend_pid()").scalar_one() == mine


def test_only_one_connection_has_the_lock_and_it_dies_with_it(database: Database) -> None:
    """Promise: one active queue manager a database, and the next one gets its turn when it is gone."""
    with database.listen() as second:
        with database.listen() as first:
            assert first.try_lock(7)
            with first.transaction(durable=True) as conn:  # a transaction's end does not give it up
                conn.execute("SELECT 1")
            assert not second.try_lock(7)
        # The server ends the first one's process when it notices that it is gone.
        until(lambda: second.try_lock(7), "the lock is free")


def test_a_notification_ends_the_wait(database: Database) -> None:
    """Promise: NOTIFY wakes a waiting listener at the commit; without one it waits its time."""
    with database.listen() as held:
        held.subscribe("edbench_tasks")
        assert not held.wait(0.0)

        def notify() -> None:
            with database.transaction() as conn:
                conn.execute("SELECT pg_notify('edbench_tasks', '')")

        thread = threading.Timer(0.1, notify)
        thread.start()
        assert held.wait(PATIENCE)
        thread.join()
        assert not held.wait(0.0)


def test_a_held_connection_that_died_reports_it(database: Database) -> None:
    """Promise: who lost its lock cannot write on: every use of the dead connection is a transient fault."""
    with database.listen() as held:
        with held.transaction() as conn:
            pid = conn.execute("SELECT pg_backend_pid()").scalar_one()
        with database.transaction() as conn:
            conn.execute("SELECT pg_terminate_backend(%(pid)s)", {"pid": pid})

        def wait_until_it_shows() -> None:
            until(lambda: held.wait(0.1), "it shows")  # the server's farewell may be read before the end of the stream

        with pytest.raises(DatabaseFault) as caught:
            wait_until_it_shows()
        assert caught.value.transient
        with pytest.raises(DatabaseFault), held.transaction() as conn:
            conn.execute("SELECT 1")


def test_a_held_connection_found_dead_while_waiting_is_given_up_quietly(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """Promise: the fault is all that is said; a log with a traceback of the pool's would look like a defect."""

    def wait_until_it_dies() -> None:
        with database.listen() as held:
            with held.transaction() as conn:
                pid = conn.execute("SELECT pg_backend_pid()").scalar_one()
            with database.transaction() as conn:
                conn.execute("SELECT pg_terminate_backend(%(pid)s)", {"pid": pid})
            until(lambda: held.wait(0.1), "it shows")

    with pytest.raises(DatabaseFault):
        wait_until_it_dies()
    assert caplog.records == []


def test_a_full_disk_is_a_lasting_fault(database: Database) -> None:
    """Promise: the server's disk_full state, as it really arrives, suspends rather than retries."""
    with pytest.raises(DatabaseFault, match="disk is full") as caught, database.transaction() as conn:
        conn.execute("DO $$ BEGIN RAISE 'no space' USING ERRCODE = 'disk_full'; END $$")
    assert not caught.value.transient


def test_errors_of_the_raw_driver_are_translated_too(database: Database) -> None:
    """Promise: code that uses psycopg2's cursor directly gets the same faults."""
    read_only = "DO $$ BEGIN RAISE 'no' USING ERRCODE = 'read_only_sql_transaction'; END $$"
    with pytest.raises(DatabaseFault), database.transaction() as conn:
        conn.raw.cursor().execute(read_only)
    with pytest.raises(psycopg2.errors.UndefinedTable), database.transaction() as conn:
        conn.raw.cursor().execute(f'SELECT * FROM "{uuid.uuid4()}"')


_STOPPED = """
import os, signal, sys
from core.errors import DatabaseFault
from sql.session import Database

try:
    with Database("db1", sys.argv[1], silent_seconds=1).transaction() as conn:
        conn.execute("UPDATE held_row SET n = n + 1")
        os.kill(os.getpid(), signal.SIGSTOP)
except DatabaseFault as fault:
    sys.exit(7 if fault.transient else str(fault))
"""


def test_what_a_stopped_process_holds_is_let_go(database: Database) -> None:
    """Promise: nobody waits for ever for the row that a process locked before it was stopped; once it goes on, its
    transaction is known to be lost."""
    with database.transaction() as conn:
        conn.execute("CREATE TABLE held_row (n int); INSERT INTO held_row VALUES (0)")
    child = subprocess.Popen([sys.executable, "-c", _STOPPED, database.url], cwd=Path(__file__).parents[3])
    try:
        watched = psutil.Process(child.pid)
        until(lambda: watched.status() == psutil.STATUS_STOPPED, "it is stopped")
        with database.transaction() as conn:
            conn.execute(f"SET LOCAL lock_timeout = '{PATIENCE}s'; UPDATE held_row SET n = n + 10")
        child.send_signal(signal.SIGCONT)
        assert child.wait(PATIENCE) == 7
    finally:
        child.kill()
        child.wait()
    with database.transaction() as conn:
        assert conn.execute("SELECT n FROM held_row").scalars().all() == [10]


_PREPARED = "SELECT count(*) FROM pg_prepared_statements"
_ADD = Query("add", "Adds.", "SELECT %(one)s::int + %(other)s::int * 2 %% 3 + %(one)s::int")


def _added(conn: Connection) -> int:
    return int(_ADD.run(conn, one=1, other=5).scalar_one())


def test_what_a_session_runs_again_is_prepared_once(database: Database) -> None:
    """Promise: a task's statements are not parsed and planned for each task; the answers are the same."""
    own = Database("db1", database.url, repeats=True)
    prepared = []
    for _ in range(4):
        with own.transaction() as conn:
            assert _added(conn) == 3
            prepared.append(conn.execute(_PREPARED).scalar_one())
    own.dispose()
    assert prepared == [0, 1, 1, 1]


def test_plans_are_renewed_after_ten_seconds(database: Database) -> None:
    """Promise: a plan that was made while a table was small is gone soon after it has grown, and so is what the server keeps of it."""
    own, now, names = Database("db1", database.url, repeats=True), [100.0], []
    for seconds in (0, 0, 9, 2, 0, 9, 2, 0):
        now[0] += seconds
        with own.transaction() as conn:
            if not names:
                conn.raw.plans = Plans(lambda: now[0])
            assert _added(conn) == 3
            names.append(conn.execute("SELECT string_agg(name, ',') FROM pg_prepared_statements").scalar_one())
    own.dispose()
    first, second, third = names[1], names[4], names[7]
    assert names == [None, first, first, first, second, second, second, third]
    assert len({None, first, second, third}) == 4


def test_a_failed_transaction_leaves_no_doubt_about_what_is_prepared(database: Database) -> None:
    """Promise: where the statement that was being prepared failed, the next transactions work."""
    divide = Query("divide", "Divides.", "SELECT 6 / %(by)s::int")
    own = Database("db1", database.url, repeats=True)
    seen = []
    for by in (3, 0, 3, 3, 0, 3, 3):
        try:
            with own.transaction() as conn:
                seen.append(divide.run(conn, by=by).scalar_one())
        except psycopg2.errors.DivisionByZero:
            seen.append(None)
    own.dispose()
    assert seen == [2, None, 2, 2, None, 2, 2]


def test_every_statement_can_be_prepared(database: Database) -> None:
    """Promise: none fails when a session runs it again, because the server cannot see what type a parameter has. Those that make or
    use tables of their transaction are for one use."""
    refused = {}
    for name, query in STATEMENTS.items():
        plans = Plans()
        plans.sent_for(query.sql)
        prepare, _, _ = plans.sent_for(query.sql).rpartition("; EXECUTE ")
        try:
            with database.transaction() as conn:
                conn.raw.cursor().execute(prepare.replace("%%", "%"))
        except psycopg2.errors.UndefinedTable:
            continue
        except psycopg2.Error as error:
            if not query.sql.startswith(("CREATE TEMP", "CREATE UNIQUE INDEX", "SET LOCAL")):
                refused[name] = str(error)
    assert not refused
