"""controller.timeline over the database of a job that real workers did."""

import itertools
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from installation import until
from statements import add_row

from benchmarks.driver import bare_job
from controller.browse.counts import count_job
from controller.databases import JobHandle
from controller.labels.jobs import DATABASE_AWAY, PAUSED, SUSPENDED, WORKERS_CHANGED, disturbances, elapsed_note
from controller.timeline.read import read_timeline
from core.records import JobOptions
from monitoring.aggregate import STEPS
from sql import jobs, states
from sql.connection import Connection
from sql.session import Database


def value(handle: JobHandle, sql: str) -> Any:
    with handle.database.transaction() as conn:
        return conn.execute(sql, {"job": handle.id}).scalar_one()


def series(timeline: dict[str, Any], panel: str) -> dict[str, list[float | None]]:
    (found,) = [p for p in timeline["panels"] if p["id"] == panel]
    return {s["id"]: s["values"] for s in found["series"]}


def test_a_real_job_leaves_its_seconds(handle: JobHandle) -> None:
    """Queue, progress and database from the queue manager, workers from their reporters, the host's kernel beside."""
    with handle.database.transaction() as conn:
        rows = conn.execute('SELECT kind, source, job, "values" FROM observation ORDER BY second').all()
    kinds: dict[str, Any] = {row.kind: row for row in rows}
    assert {"queue", "progress", "database", "worker"} <= set(kinds)
    assert kinds["queue"].job == kinds["progress"].job == handle.id
    assert kinds["worker"].job is None
    counts = count_job(handle)
    last = kinds["progress"].values
    assert last["items"] == counts.items
    assert last["exceptions"] == sum(row.exceptions for row in counts.exceptions)
    worker = kinds["worker"].values
    assert worker["slots"] == 2
    assert worker["cpu_s"] > 0
    assert worker["busy_s"] > 0
    assert worker["rss_bytes"] > 10_000_000
    assert worker["host_used_s"] > worker["cpu_s"]
    assert worker["database_s"][handle.database.name] > 0


def test_the_timeline_adds_up_to_the_job(handle: JobHandle) -> None:
    found = read_timeline([handle]).to_json()
    counts = count_job(handle)
    json.dumps(found, allow_nan=False)
    assert found["job"] == str(handle.id)
    assert [span["phase"] for span in found["phases"]] == [phase.value for phase in JobOptions().phases]
    assert found["pauses"] == []
    assert found["totals"]["items"] == counts.items
    assert found["totals"]["calls"] == value(handle, "SELECT sum(calls) FROM call_second WHERE job = %(job)s")
    assert sum(found["exceptions"]["by_code"].values()) == sum(row.exceptions for row in counts.exceptions)
    assert (found["progress"], found["eta_s"]) == (1.0, None)
    assert found["limit"]["evidence"], "the bottleneck, or that none is known, stays when the job is over"
    assert found["step_s"] == 1.0  # so each bucket is a second
    assert all(early < late for early, late in itertools.pairwise(found["t"]))
    calls = series(found, "calls")
    assert sum(sum(v or 0 for v in values) for values in calls.values()) == pytest.approx(found["totals"]["calls"])
    assert sum(v or 0 for v in series(found, "items")["items"]) == pytest.approx(counts.items, abs=0.01)
    assert {f"latency_{op}" for op in calls} | {"space_1"} <= {panel["id"] for panel in found["panels"]}
    since = series(found, "gb_per_hour")["discovered_since_start"]
    assert since[-1] is not None
    assert since[-1] > 0
    for panel in found["panels"]:
        assert all(len(s["values"]) == len(found["t"]) for s in panel["series"])


def test_an_increment_is_the_end_of_the_whole(handle: JobHandle) -> None:
    whole = read_timeline([handle]).to_json()
    middle = whole["t"][len(whole["t"]) // 2]
    part = read_timeline([handle], since=middle).to_json()
    assert part["t"] == whole["t"][len(whole["t"]) // 2 :]
    for panel in ("calls", "items", "gb_per_hour", "queue", "database_commits"):
        for name, values in series(part, panel).items():
            assert values == series(whole, panel)[name][-len(values) :], (panel, name)


def test_a_long_run_is_drawn_from_fewer_points(handle: JobHandle) -> None:
    found = read_timeline([handle], points=1).to_json()
    assert found["step_s"] > 1
    assert len(found["t"]) == 1
    assert found["totals"] == read_timeline([handle]).to_json()["totals"]


@pytest.fixture
def running(database: Database) -> JobHandle:
    """A job 20 s into its index phase, whose slots spend nearly all of their time in storage calls."""
    with database.transaction() as conn:
        job = bare_job(conn, "j", workers=1, slots=4)
        conn.execute("UPDATE job SET phase = 'index', first_claim_at = clock_timestamp() - interval '30 seconds'")
        conn.execute("INSERT INTO job_phase SELECT id, 'index', first_claim_at + interval '10 seconds' FROM job")
        now = int(conn.execute("SELECT extract(epoch FROM first_claim_at) FROM job").scalar_one()) + 30
        for n in range(32):
            second = now - 31 + n
            worker = {"cpu_s": 0.5 * n, "run_queue_s": 0.01 * n, "busy_s": 3.9 * n, "database_s": {"db1": 0.2 * n}}
            place = {"host": "h", "processors": 2, "slots": 4, "memory_bytes": 10}
            work = {"items": 10 * n, "raw_bytes": 1000 * n, "discovered_bytes": 2000 * n, "indexed_bytes": 0}
            sums = {"open": 3, "done": 1, "weight_open": 60, "weight_done": 20, "items_indexed": 0}
            sums |= {"index_bytes": 0, "index_written_bytes": 0}
            clocks = {"phase": "index", "elapsed_s": n - 1.0, "phase_s": max(0, n - 11), "containers": 0}
            for kind, owner, values in (
                ("worker", None, worker | place),
                ("progress", job, work | sums | clocks | {"exceptions": 0}),
                ("queue", job, {"pending": 7, "dispatched": 4, "running": 4}),
            ):
                add_row(conn, "observation", second=second, kind=kind, source="s", job=owner, values=values)
            counts = {"calls": 100, "bytes": 0, "errors": 0, "total_ns": 3_400_000_000, "max_ns": 9, "p50_ns": 5}
            for step in (1, STEPS[-1]):
                at = {"job": job, "step": step, "second": second if step == 1 else n * step, "op": 3}
                row = at | counts | {"p95_ns": 6, "p99_ns": 7, "histogram": b""}
                add_row(conn, "call_step", **row)
        return JobHandle(database, jobs.get_job(conn, job))


_LATER = (
    "UPDATE job SET first_claim_at = first_claim_at + make_interval(secs => %(s)s)",
    "UPDATE job_phase SET started_at = started_at + make_interval(secs => %(s)s)",
    *(
        f"UPDATE {table} SET second = second + {by} WHERE {of}"  # in two goes: no row may meet its neighbour on the way
        for table, of in (("observation", "true"), ("call_step", "step = 1"))
        for by in ("1000000000", "%(s)s - 1000000000")
    ),
)


def _thirty_seconds_old(running: JobHandle) -> None:
    """As the fixture left the job, however long ago that was: a machine that is busy may take its time in between."""
    with running.database.transaction() as conn:
        age = conn.execute("SELECT extract(epoch FROM clock_timestamp() - first_claim_at) FROM job").scalar_one()
        for statement in _LATER:
            conn.execute(statement, {"s": int(age) - 30})


def _read_in_time(running: JobHandle) -> dict[str, Any]:
    """The timeline of that moment; nothing when it took a second to read."""
    _thirty_seconds_old(running)
    found = read_timeline([running]).to_json()
    return found if found["now_s"] < 31.2 else {}


def test_a_running_job_names_its_bottleneck_and_when_it_may_end(running: JobHandle) -> None:
    """From what was observed, without counting tasks; the seconds that are still coming in are left out."""
    found = until(lambda: _read_in_time(running), "it is read in time")
    assert found["state"] == "running"
    assert found["limit"]["who"] == "storage", found["limit"]
    assert "87 % of their busy time" in found["limit"]["verdict"]
    assert "25 % CPU" in found["limit"]["verdict"]
    assert found["progress"] == 0.25
    assert found["eta_s"] == pytest.approx(60, abs=10)
    assert found["phases"] == [{"phase": "index", "start_s": pytest.approx(10, abs=1), "end_s": None}]
    assert found["t"][-1] <= found["now_s"] - 1.5
    assert series(found, "slots")["s"][-1] == pytest.approx(3.9)
    assert series(found, "queue")["pending"][-1] == 7
    assert series(found, "gb_per_hour")["raw_now"][-1] == pytest.approx(0.0036)
    assert found["labels"] == []


def test_a_job_that_is_over_keeps_the_bottleneck_of_its_longest_phase(running: JobHandle) -> None:
    """All of the phase counts, not the last ten seconds, in which slots may have run out of work; pauses do not."""
    with running.database.transaction() as conn:
        conn.execute("UPDATE job SET state = 'completed', finished_at = first_claim_at + interval '31 seconds'")
        conn.execute("UPDATE job_phase SET finished_at = started_at + interval '20 seconds'")
    found = read_timeline([running]).to_json()["limit"]
    assert found["who"] == "storage", found
    assert found["verdict"].startswith(
        "In the index phase (100 % of this run) the bottleneck was the storage: slots spent "
    )
    assert "25 % CPU" in found["verdict"]


def test_pauses_stand_on_the_axis_and_survive_a_reload(running: JobHandle) -> None:
    job, began = running.id, time.monotonic()
    _thirty_seconds_old(running)
    with running.database.transaction() as conn:
        states.request_pause(conn, job)
        conn.execute("UPDATE job SET stopped_at = stopped_at - interval '12 seconds'")
        states.request_resume(conn, job)
    slack = 1 + time.monotonic() - began
    start, end = pytest.approx(18, abs=slack), pytest.approx(30, abs=slack)
    ended = {"state": "paused", "reason": None, "start_s": start, "end_s": end}
    assert read_timeline([running]).to_json()["pauses"] == [ended]
    with running.database.transaction() as conn:
        states.suspend(conn, job, "no space left")
    found = read_timeline([running]).to_json()
    assert found["pauses"][0] == ended
    last = found["pauses"][1]
    assert (last["state"], last["reason"], last["end_s"]) == ("suspended", "no space left", None)
    assert last["start_s"] == pytest.approx(found["now_s"], abs=0.01)
    assert read_timeline([running], since=last["start_s"]).to_json()["pauses"] == found["pauses"]


def test_a_job_that_no_slot_has_claimed_is_an_empty_timeline(running: JobHandle) -> None:
    with running.database.transaction() as conn:
        conn.execute("UPDATE job SET first_claim_at = NULL")
    found = read_timeline([running]).to_json()
    assert (found["t"], found["panels"], found["progress"]) == ([], [], None)


def test_several_jobs_are_one_timeline(handle: JobHandle) -> None:
    one, two = read_timeline([handle]).to_json(), read_timeline([handle, handle]).to_json()
    assert two["t"] == one["t"]
    assert two["totals"]["calls"] == 2 * one["totals"]["calls"]
    for op, values in series(one, "calls").items():
        assert series(two, "calls")[op] == [2 * v for v in values if v is not None]
    assert series(two, "latency_read") == series(one, "latency_read")
    assert series(two, "worker_cpu") == series(one, "worker_cpu")


_STOPPED = """
INSERT INTO job_pause (job, state, reason, started_at, finished_at)
SELECT id, %(state)s, %(reason)s, first_claim_at, first_claim_at + interval '30 s' FROM job WHERE id = %(job)s
"""


@pytest.fixture
def conn(handle: JobHandle) -> Iterator[Connection]:
    """A transaction that is taken back: the finished job is other tests' too."""
    with handle.database.transaction() as made:
        yield made
        made.raw.rollback()


def test_a_quiet_run_has_none(conn: Connection, handle: JobHandle) -> None:
    assert disturbances(conn, handle.id) == []


@pytest.mark.parametrize(("state", "reason", "label"), [("paused", None, PAUSED), ("suspended", "EIO", SUSPENDED)])
def test_a_job_that_stood_still_states_for_how_long(
    conn: Connection, handle: JobHandle, state: str, reason: str | None, label: str
) -> None:
    assert elapsed_note(conn, handle.id) == ""
    conn.execute(_STOPPED, {"job": handle.id, "state": state, "reason": reason})
    (shown,) = disturbances(conn, handle.id)
    assert shown.startswith(f"{label} for 30 s")
    assert ("EIO" in shown) == (state == "suspended")
    noted = "with 30 s of suspension" if state == "suspended" else "less 30 s of pauses"
    assert elapsed_note(conn, handle.id) == noted


@pytest.mark.parametrize(("ended", "seconds", "label"), [("5 s", 3, True), ("1 h", 3, False), ("5 s", 0.2, False)])
def test_an_outage_of_the_database_is_on_the_label(
    conn: Connection, handle: JobHandle, ended: str, seconds: float, label: bool
) -> None:
    """One that touched the job's course, and was longer than a connection that is made again."""
    conn.execute("UPDATE job SET first_claim_at = finished_at - interval '10 s'")
    for later in "0", "-0.1 s":  # two queue managers noted it
        conn.execute(
            "INSERT INTO outage (ended_at, seconds)"
            f" SELECT first_claim_at + interval '{ended}' + interval '{later}', {seconds} FROM job"
        )
    shown = [line for line in disturbances(conn, handle.id) if line.startswith(DATABASE_AWAY)]
    assert len(shown) == label
    assert all("for 3.1 s" in line for line in shown)


def test_other_workers_than_at_the_beginning(conn: Connection, handle: JobHandle) -> None:
    """Resumed with another worker: more did its tasks than it was planned with."""
    one = "UPDATE task SET worker = 'another' WHERE id = (SELECT id FROM task WHERE job = %(job)s ORDER BY id LIMIT 1)"
    conn.execute(one, {"job": handle.id})
    assert [line.split(":")[0] for line in disturbances(conn, handle.id)] == [WORKERS_CHANGED]


def test_a_worker_that_left_before_the_end(conn: Connection, handle: JobHandle) -> None:
    early = "UPDATE worker SET stopped_at = j.finished_at - interval '1 ms' FROM job j WHERE j.id = %(job)s"
    conn.execute(early, {"job": handle.id})
    (shown,) = disturbances(conn, handle.id)
    (name,) = conn.execute("SELECT DISTINCT worker FROM task WHERE job = %(job)s", {"job": handle.id}).scalars()
    assert f"{name} (0.0 s before it) left before its end" in shown
    conn.execute("UPDATE job SET first_claim_at = finished_at - interval '1 min'")
    conn.execute("UPDATE worker SET stopped_at = NULL, seen_at = j.finished_at - interval '12 s' FROM job j")
    (shown,) = disturbances(conn, handle.id)
    assert f"{name} (not seen for 12.0 s) left before its end" in shown


def test_workers_that_left_between_a_job_and_its_requeue(conn: Connection, handle: JobHandle) -> None:
    """Other jobs ran then, on workers of the same names. A job that was held goes on with those that are left."""
    conn.execute("UPDATE job SET first_claim_at = finished_at - interval '1 h' WHERE id = %(job)s", {"job": handle.id})
    over = """
    INSERT INTO job_pause (job, state, started_at, finished_at)
    SELECT id, state, finished_at - interval '50 min', finished_at - interval '10 min' FROM job WHERE id = %(job)s
    """
    conn.execute(over, {"job": handle.id})
    left = "UPDATE worker SET stopped_at = j.finished_at - %(before)s::interval FROM job j WHERE j.id = %(job)s"
    conn.execute(left, {"job": handle.id, "before": "30 min"})
    assert disturbances(conn, handle.id) == []
    for held, before in (False, "5 min"), (True, "30 min"):
        conn.execute("UPDATE job_pause SET state = 'held' WHERE %(held)s", {"held": held})
        conn.execute(left, {"job": handle.id, "before": before})
        assert [line.split(":")[0] for line in disturbances(conn, handle.id)] == [WORKERS_CHANGED]


def test_workers_that_left_a_job_that_stands_still(conn: Connection, handle: JobHandle) -> None:
    stood = """
    WITH job AS (
        UPDATE job SET state = 'suspended', reason = 'ENOSPC', stopped_at = finished_at, finished_at = NULL
        WHERE id = %(job)s RETURNING stopped_at
    ) UPDATE worker SET stopped_at = job.stopped_at + interval '1 ms' FROM job
    """
    conn.execute(stood, {"job": handle.id})
    assert [line.split(",")[0] for line in disturbances(conn, handle.id)] == [SUSPENDED]  # for how long is not known
