"""The window and its shares."""

import dataclasses
import subprocess
import sys
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from core.errors import BrokerFault
from core.records import JobState, Phase, Priority, TaskState
from queue_manager.dispatcher import Commons, Look, Outage, fair_share
from queue_manager.manager import (
    AFTER_SENDING_SECONDS,
    BARRIER_SECONDS,
    BUSY_SECONDS,
    IDLE_SECONDS,
    pause_after,
)
from queue_manager.metrics import QueueMetrics, QueueSample
from queue_manager.window import LEAST_FACTOR, MOST_FACTOR, WEIGHTS, Window, shares, widened
from sql.states import Demand


def _demand(dispatched: int, running: int, pending: int) -> Demand:
    return Demand(
        job=uuid.uuid4(),
        state=JobState.RUNNING,
        phase=Phase.WALK,
        dispatched=dispatched,
        running=running,
        pending=pending,
    )


_COUNT = st.integers(0, 12)


@given(st.integers(0, 60), st.lists(st.builds(_demand, _COUNT, _COUNT, _COUNT), max_size=5))
def test_shares_are_max_min_fair(window: int, demands: list[Demand]) -> None:
    """Promise: never over the window or a job's demand, nothing left unused, and nobody gets one more while
    somebody with fewer out wants one."""
    given_out = shares(window, demands)
    before = sum(d.dispatched + d.running for d in demands)
    total = sum(given_out.values())
    assert total == max(0, min(window - before, sum(d.pending for d in demands)))
    after = {d.job: d.dispatched + d.running + given_out.get(d.job, 0) for d in demands}
    for d in demands:
        assert given_out.get(d.job, 0) <= d.pending
        hungry = given_out.get(d.job, 0) < d.pending
        if hungry:
            for other in demands:
                if given_out.get(other.job, 0):
                    assert after[other.job] <= after[d.job] + 1


@given(st.integers(0, 60), st.integers(0, 9), st.builds(_demand, _COUNT, _COUNT, _COUNT), _COUNT)
def test_a_job_has_no_more_out_than_it_may(window: int, most: int, demand: Demand, others: int) -> None:
    """Promise of --index-streams: one job's limit binds that job alone, and what it leaves of the window is the others'."""
    limited = dataclasses.replace(demand, most_out=most)
    other = _demand(0, 0, others)
    given_out = shares(window, [limited, other])
    out = limited.dispatched + limited.running
    if most:
        assert given_out.get(limited.job, 0) <= max(0, most - out)
    free = max(0, window - out)
    want = min(limited.pending, max(0, most - out)) if most else limited.pending
    assert sum(given_out.values()) == min(free, want + others)


def test_the_window_is_at_least_twice_the_slots_and_grows_with_short_tasks() -> None:
    """Promise: long tasks have one waiting behind each; short ones have more, up to a bound; no slots, no window."""
    window = Window()
    assert window.size(0) == 0
    assert window.size(4) == 4 * LEAST_FACTOR
    now = 0.0
    for _ in range(300):
        now += 0.01
        window.note_sent(2, now)  # 200 a second
    assert 4 + 18 <= window.size(4) <= 4 + 22
    for _ in range(300):
        now += 0.01
        window.note_sent(50, now)  # 5,000 a second
    assert window.size(4) == 4 * MOST_FACTOR
    window.note_sent(0, now + 10)
    assert window.size(4) == 4 * LEAST_FACTOR


@given(st.integers(0, 120), st.lists(st.tuples(_COUNT, st.sampled_from(list(Priority))), min_size=1, max_size=5))
def test_priorities_are_shares(window: int, running: list[tuple[int, Priority]]) -> None:
    """Promise of --priority: where all have enough to do, the next task goes to the job with the fewest out for its weight;
    so nobody waits for ever, and a job that is alone has the whole window."""
    demands = [dataclasses.replace(_demand(0, out, 1_000), priority=priority) for out, priority in running]
    given_out = shares(window, demands)
    assert sum(given_out.values()) == max(0, window - sum(d.running for d in demands))
    for one in demands:
        for other in demands:
            if given_out.get(one.job, 0):
                before_last = one.running + given_out[one.job] - 1
                theirs = other.running + given_out.get(other.job, 0)
                assert before_last / WEIGHTS[one.priority] <= theirs / WEIGHTS[other.priority]


def test_a_high_job_has_four_times_the_tasks_of_a_normal_one() -> None:
    demands = [dataclasses.replace(_demand(0, 0, 1_000), priority=priority) for priority in Priority]
    assert [shares(42, demands)[d.job] for d in demands] == [2, 8, 32]


@given(st.integers(1, 16), st.integers(0, 20), st.integers(0, 8), st.integers(0, 8))
def test_reserved_slots_stay_free_of_other_clients_jobs(slots: int, reserved: int, running: int, waiting: int) -> None:
    """Promise of --reserve-slots: jobs of other clients have no more out than the other slots, one at least; the owner has
    the whole window, and two jobs that reserve everything do not stop each other."""
    owner = dataclasses.replace(_demand(0, 0, 50), client="Acme", reserve_slots=reserved)
    other = dataclasses.replace(_demand(0, running, 50), client="Brook", reserve_slots=slots)
    given_out = shares(2 * slots, [owner, dataclasses.replace(other, reserve_slots=0)], slots)
    assert given_out.get(other.job, 0) <= max(0, max(1, slots - reserved) - running if reserved else 2 * slots)
    both = shares(2 * slots, [owner, dataclasses.replace(other, running=0)], slots)
    assert both.get(owner.job, 0) >= 1 or slots == 0
    assert both.get(other.job, 0) >= 1
    same = shares(2 * slots, [owner, dataclasses.replace(other, client="Acme", running=0)], slots)
    assert sum(same.values()) == 2 * slots, "of the same client nothing is held back"


def test_slots_of_a_job_without_client_are_reserved_for_its_type() -> None:
    """Promise: an export waits for slots that are reserved for discoveries, another discovery does not."""
    owner = dataclasses.replace(_demand(0, 0, 1), type="discovery", reserve_slots=3)
    export = dataclasses.replace(_demand(0, 0, 50), type="export", client="Acme")
    discovery = dataclasses.replace(_demand(0, 0, 50), type="discovery", client="Acme")
    assert shares(8, [owner, export], 4) == {owner.job: 1, export.job: 1}
    assert shares(8, [owner, discovery], 4) == {owner.job: 1, discovery.job: 7}


def test_a_window_factor_binds_its_job_and_widens_the_window() -> None:
    """Promise of --window-factor: with 1 no message waits at the broker, with 8 seven a slot do, whatever the window."""
    one, eight = (dataclasses.replace(_demand(0, 0, 99), window_factor=factor) for factor in (1, 8))
    assert shares(widened(8, 4, [one]), [one], 4) == {one.job: 4}
    assert shares(widened(8, 4, [eight]), [eight], 4) == {eight.job: 32}
    other = _demand(0, 0, 99)
    assert shares(widened(8, 4, [one, other]), [one, other], 4) == {one.job: 4, other.job: 4}


_WANTS = st.dictionaries(st.sampled_from(["db1", "db2", "db3", "db4"]), st.integers(0, 50), max_size=4)


@given(_WANTS, st.integers(0, 64))
def test_shares_are_fair_and_nothing_is_wasted(wants: dict[str, int], window: int) -> None:
    """Promise: nobody gets more than it wants or waits for nothing, the window is used up while anybody wants more,
    and nobody is given less than another unless it wants less."""
    shares = {name: fair_share(name, wants, window) for name in wants}
    busy = [name for name, want in wants.items() if want]
    assert all(shares[name] <= wants[name] for name in wants)
    if window == 0:
        assert not any(shares.values())
        return
    assert all(shares[name] >= 1 for name in busy)
    assert sum(shares.values()) <= max(window, len(busy))
    if sum(wants.values()) >= window:
        assert sum(shares.values()) >= window
    hungry = [name for name in busy if shares[name] < wants[name]]
    for name in hungry:
        assert shares[name] + 1 >= max(shares.values())


def test_a_database_without_work_takes_nothing_from_the_others() -> None:
    """Promise: alone with work, a database has the whole window; once another has some, half."""
    commons = Commons()
    assert commons.share("db1", 100, 16) == 16
    assert commons.share("db2", 0, 16) == 0
    assert commons.share("db1", 100, 16) == 16
    assert commons.share("db2", 100, 16) == 8
    assert commons.share("db1", 100, 16) == 8
    assert commons.share("db2", 2, 16) == 2
    assert commons.share("db1", 100, 16) == 14
    commons.forget("db2")
    assert commons.share("db1", 100, 16) == 16


def test_a_queue_manager_brings_what_it_manages_with() -> None:
    code = "import sys, queue_manager.main; print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    packages = {name.partition(".")[0] for name in shown.stdout.split()}
    assert packages >= {"psycopg2", "kombu", "redis"}
    assert not packages & {
        "prometheus_client",
        "wsgiref",
        "sqlalchemy",
        "pydantic",
        "numpy",
        "lxml",
        "tantivy",
        "fastapi",
    }


def _pauses(look: Look) -> list[float]:
    pause = 0.0
    return [pause := pause_after(look, pause) for _ in range(10)]


def test_no_pause_while_there_is_much_to_do() -> None:
    """Promise: a whole round of slots refilled, or a phase changed, is followed by a look at once; otherwise a
    short pause lets some tasks end."""
    assert pause_after(Look(sent=8, out=8, pending=9, slots=8, changed=False), 0.5) == 0.0
    assert pause_after(Look(sent=0, out=0, pending=0, slots=8, changed=True), 0.5) == 0.0
    assert pause_after(Look(sent=3, out=8, pending=9, slots=8, changed=False), 0.5) == AFTER_SENDING_SECONDS


def test_a_steady_job_is_looked_at_when_half_of_its_messages_are_gone() -> None:
    """Promise: a look for each round of tasks, not many for each task, and no slot waits for one: the pause is half of what the
    messages at the broker last. Where a slot may be without a task, or nothing more is pending, the next look follows as fast as ever."""
    steady = Look(sent=4, out=12, pending=9, slots=8, changed=False)
    assert pause_after(steady, 0.0, 0.04) == pytest.approx(0.04)  # 8 wait, 4 end in 40 ms: they last 80
    assert pause_after(steady, 0.0, 0.01) == AFTER_SENDING_SECONDS
    assert pause_after(steady, 0.0, 10.0) == BUSY_SECONDS
    assert pause_after(Look(sent=1, out=1, pending=9, slots=1, changed=False), 0.0, 0.06) == pytest.approx(0.03)
    for out, pending in ((7, 9), (12, 0)):
        look = Look(sent=4, out=out, pending=pending, slots=8, changed=False)
        assert pause_after(look, 0.0, 10.0) == AFTER_SENDING_SECONDS


def test_waiting_costs_little() -> None:
    """Promise: the end of a phase is seen within 20 ms of its last task; waiting for many or for long tasks costs ten
    looks a second and an idle installation two."""
    assert set(_pauses(Look(sent=0, out=1, pending=0, slots=8, changed=False))) == {BARRIER_SECONDS}
    several = _pauses(Look(sent=0, out=8, pending=0, slots=8, changed=False))
    assert several == sorted(several)
    assert (several[0], several[-1]) == (BARRIER_SECONDS, BUSY_SECONDS)
    assert pause_after(Look(sent=0, out=2, pending=0, slots=8, changed=False), BUSY_SECONDS) == 2 * BARRIER_SECONDS
    for out, most in ((8, BUSY_SECONDS), (0, IDLE_SECONDS)):
        pauses = _pauses(Look(sent=0, out=out, pending=out, slots=8, changed=False))
        assert pauses == sorted(pauses)
        assert pauses[0] == AFTER_SENDING_SECONDS
        assert pauses[-1] == most


def test_jobs_of_a_database_are_added_up_and_only_the_active_one_shows_them() -> None:
    """A second queue manager that waits for the lock shows that it does, and nothing that would count double."""
    metrics = QueueMetrics(["db1", "db2"])
    for phase, oldest in ((Phase.EXPAND, 2.0), (Phase.EXPAND, 5.0), (Phase.INDEX, 1.0)):
        tasks = {TaskState.PENDING: 3, TaskState.DISPATCHED: 0, TaskState.RUNNING: 2}
        sample = QueueSample(phase=phase, tasks=tasks, oldest_pending_seconds=oldest)
        for name in ("db1", "db2"):
            metrics.of[name].queue = (*metrics.of[name].queue, sample)
    for name, numbers in metrics.of.items():
        numbers.active = name == "db1"
        numbers.server = {"commits": 10, "rows": 5}
        numbers.lease_expiries = 4
    metrics.timers.timer("db1")(5_000_000)
    registry = CollectorRegistry()
    registry.register(metrics)

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, labels)

    assert value("edbench_queue_tasks", database="db1", phase="expand", state="pending") == 6
    assert value("edbench_queue_tasks", database="db1", phase="index", state="running") == 2
    assert value("edbench_queue_tasks", database="db1", phase="walk", state="running") == 0
    assert value("edbench_queue_tasks", database="db2", phase="index", state="running") is None
    assert value("edbench_queue_oldest_pending_seconds", database="db1") == 5.0
    assert value("edbench_database_commits_total", database="db1") == 10
    assert value("edbench_database_rollbacks_total", database="db1") is None
    assert value("edbench_database_commits_total", database="db2") is None
    assert value("edbench_queue_manager_active", database="db2") == 0
    assert value("edbench_queue_lease_expiries_total", database="db2") == 4
    assert value("edbench_database_transaction_seconds_count", database="db1") == 1


def test_databases_of_a_run_count_with_those_of_their_servers_and_stay_counted() -> None:
    metrics = QueueMetrics(["db1", "db2"])
    registry = CollectorRegistry()
    registry.register(metrics)

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, labels)

    for numbers in metrics.of.values():
        numbers.active, numbers.dispatched, numbers.server = True, 7, {"commits": 10}
    tasks = {TaskState.PENDING: 3, TaskState.DISPATCHED: 0, TaskState.RUNNING: 2}
    with metrics.of_run(["db1"]) as run:
        run["db1"].active, run["db1"].slots, run["db1"].dispatched = True, 4, 5
        run["db1"].server = {"commits": 0, "rows": 3}
        run["db1"].queue = (QueueSample(phase=Phase.EXPAND, tasks=tasks, oldest_pending_seconds=2.0),)
        assert value("edbench_queue_tasks", database="db1", phase="expand", state="pending") == 3
        assert value("edbench_queue_slots", database="db1") == 4
        assert value("edbench_queue_dispatched_total", database="db1") == 12
        assert value("edbench_queue_dispatched_total", database="db2") == 7
        run["db1"].server = {"commits": 20, "rows": 3}
    assert value("edbench_database_commits_total", database="db1") == 30
    assert value("edbench_database_rows_total", database="db1") == 3
    assert value("edbench_queue_dispatched_total", database="db1") == 12
    assert value("edbench_queue_slots", database="db1") == 0
    assert value("edbench_queue_tasks", database="db1", phase="expand", state="pending") == 0


def test_one_line_for_its_begin_and_one_for_its_end(caplog: pytest.LogCaptureFixture) -> None:
    """Promise: an outage of hours fills no log, and attempts become rarer up to a bound."""
    outage = Outage("the broker")
    now = 100.0
    waits = []
    for _ in range(50):
        waits.append(outage.failed(BrokerFault("cannot reach the broker"), now))
        assert not outage.due(now)
        now += waits[-1]
        assert outage.due(now)
    assert outage.on
    assert outage.over()
    assert not outage.over()
    assert [r.getMessage() for r in caplog.records] == [
        "cannot reach the broker; retrying until it answers",
        "the broker answers again after 50 attempts",
    ]
    assert waits == sorted(waits)
    assert waits[-1] <= 2.0
