"""The dispatcher, look by look, against a real database and a real broker."""

import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from installation import until
from statements import statements_of

from core.errors import BrokerFault
from core.job_types import JobType
from core.records import JobOptions, JobState, Phase, Priority, TaskOrder
from queue_manager.dispatcher import Commons, Dispatcher, Sender, order_key
from queue_manager.metrics import DatabaseNumbers
from sql import jobs, ledger, states
from sql.findings import TaskResult
from sql.session import Database


class _Rig:
    """A dispatcher and hands for its job: the fixtures of this directory."""

    mailbox: Any
    create_job: Callable[..., uuid.UUID]
    add_slots: Callable[[int], uuid.UUID]
    states_of: Callable[[uuid.UUID], dict[str, int]]

    def __init__(self, database: Database, dispatcher: Dispatcher, numbers: DatabaseNumbers | None = None) -> None:
        self.database = database
        self.dispatcher = dispatcher
        self.numbers = numbers or DatabaseNumbers()

    def look(self) -> Any:
        self.dispatcher.count_slots()
        return self.dispatcher.look()

    def work(self, message: tuple[uuid.UUID, uuid.UUID]) -> bool:
        """Claim and finish as a slot would; whether there was something to claim."""
        with self.database.transaction() as conn:
            claimed = ledger.claim(conn, *message, uuid.uuid4(), "w", 0)
        if claimed is None:
            return False
        with self.database.transaction() as conn:
            ledger.finish(conn, claimed, TaskResult())
        return True

    def state(self, job: uuid.UUID) -> JobState:
        with self.database.transaction() as conn:
            return jobs.get_job(conn, job).state

    def run(self, sql: str) -> None:
        with self.database.transaction() as conn:
            conn.execute(sql)


@pytest.fixture
def rig(
    database: Database, broker_url: str, mailbox: Any, create_job: Any, add_slots: Any, states_of: Any
) -> Iterator[_Rig]:
    """A dispatcher on a held connection."""
    sender = Sender(broker_url, "db1")
    numbers = DatabaseNumbers()
    with database.listen() as held:
        made = _Rig(database, Dispatcher(held, sender, "db1", numbers=numbers), numbers)
        made.mailbox, made.create_job, made.add_slots, made.states_of = mailbox, create_job, add_slots, states_of
        yield made
    sender.close()


def test_a_look_fills_the_window_largest_first(rig: _Rig) -> None:
    """Promise: twice the slots are out, no more; the messages name database, job and task, largest task first; what
    was claimed and finished is refilled."""
    job = rig.create_job(20)
    assert rig.look().sent == 0  # no worker, no window
    rig.add_slots(2)
    assert rig.look().sent == 4
    assert rig.look().sent == 0
    messages = rig.mailbox.take()
    with rig.database.transaction() as conn:
        weights = [
            conn.execute("SELECT weight FROM task WHERE id = %(id)s", {"id": m[1]}).scalar_one() for m in messages
        ]
    assert {m[0] for m in messages} == {job}
    assert weights == [19, 18, 17, 16]
    assert rig.states_of(job) == {"dispatched": 4, "pending": 16}
    assert rig.work(messages[0])
    assert rig.look().sent


def test_jobs_share_the_window_in_turns(rig: _Rig) -> None:
    """Promise: a small job does not wait behind a big one, neither in the window nor in the queue."""
    big, small = rig.create_job(50), rig.create_job(50)
    rig.add_slots(4)
    assert rig.look().sent == 8
    assert rig.states_of(big)["dispatched"] == rig.states_of(small)["dispatched"] == 4
    assert {job for job, _ in rig.mailbox.take()[:2]} == {big, small}


@pytest.mark.parametrize(
    "options",
    [
        JobOptions(),
        JobOptions(most_tasks=3),
        JobOptions(window_factor=1, reserve_slots=2),
        JobOptions(window_factor=8, phase_slots={Phase.WALK: 13, Phase.INDEX: 1}),
    ],
)
def test_the_simulation_sends_in_the_same_order(rig: _Rig, options: JobOptions) -> None:
    """Promise: with workers that do nothing, queue manager and simulation send the same tasks in the same order, however users
    distribute them."""
    pytest.importorskip("simulate")
    sizes = (17, 30)
    real = [rig.create_job(size, options) for size in sizes]
    rig.add_slots(4)
    sent: list[tuple[int, int]] = []
    while len(sent) < sum(sizes):
        rig.look()
        for message in rig.mailbox.take():
            with rig.database.transaction() as conn:
                query = "SELECT weight, phase FROM task WHERE id = %(id)s"
                task = conn.execute(query, {"id": message[1]}).one()
            if task.phase == Phase.WALK:  # one job may be at its end before the other
                sent.append((real.index(message[0]), task.weight))
            assert rig.work(message)
    assert sent == simulated_order(sizes, options)


def test_a_fair_job_sends_tasks_by_their_random_ids(rig: _Rig) -> None:
    """Promise of --task-order fair: SQL and `order_key`, which the simulation calls, agree, and weights decide nothing."""
    job = rig.create_job(40, JobOptions(task_order=TaskOrder.FAIR))
    rig.add_slots(2)
    with rig.database.transaction() as conn:
        tasks = conn.execute("SELECT id, weight FROM task WHERE job = %(job)s", {"job": job}).all()
    sent = []
    while len(sent) < len(tasks):
        rig.look()
        for message in rig.mailbox.take():
            sent.append(message[1])
            assert rig.work(message)
    assert sent == [task.id for task in sorted(tasks, key=lambda task: order_key(task, TaskOrder.FAIR))]
    assert sent != [task.id for task in sorted(tasks, key=order_key)]


def simulated_order(sizes: tuple[int, ...], options: JobOptions) -> list[tuple[int, int]]:
    """Jobs with so many tasks each, of weights from 0 as `create_job` has them, simulated without demands on 4 slots."""
    from simulate.engine import Engine
    from simulate.site import load_site
    from simulate.tasks import COLUMNS, JobLoad, Task

    site = load_site("r1")
    named = {}
    loads = []
    for job, size in enumerate(sizes):
        tasks = tuple(Task(weight, job * 1_000 + weight + 1, 1, [0.0] * COLUMNS) for weight in range(size))
        named |= {task.id: (job, task.weight) for task in tasks}
        phases = ((Phase.WALK, tasks),)
        loads.append(JobLoad(phases=phases, items=size, discovered_bytes=0, options=options))
    trace = Engine(site, loads, workers=1, databases=1, note_order=True).run()
    return [named[task] for task in trace.dispatched]


def test_index_streams_bind_the_phase_index_of_one_job(rig: _Rig) -> None:
    """Promise: of a job with two streams two index tasks are out, however many slots stand idle, and one more for each that
    is done; its other phases, and other jobs, have the whole window."""
    job = rig.create_job(20, JobOptions(index_streams=2))
    rig.add_slots(4)
    assert rig.look().sent == 8, "phase walk is not bound"
    rig.run("UPDATE task SET state = 'pending', phase = 'index'")
    rig.run("UPDATE job SET phase = 'index'")
    rig.mailbox.take()
    assert rig.look().sent == 2
    assert rig.look().sent == 0
    assert rig.work(rig.mailbox.take()[0])
    assert rig.look().sent == 1
    other = rig.create_job(20)
    assert rig.look().sent == 6
    assert rig.states_of(other)["dispatched"] == 6
    assert rig.states_of(job) == {"dispatched": 2, "pending": 17, "done": 1}


def test_a_job_is_brought_to_its_end(rig: _Rig) -> None:
    """Promise: looks alone cross every barrier: walk, finalise, completed."""
    job = rig.create_job(3)
    rig.add_slots(2)

    def over() -> bool:
        rig.look()
        for message in rig.mailbox.take():
            assert rig.work(message)
        return rig.state(job).over

    until(over, "the job is over")
    assert rig.state(job) is JobState.COMPLETED


def test_lost_messages_are_sent_again_after_their_deadline(rig: _Rig) -> None:
    """Promise: a broker that forgot its messages costs time, not tasks; late messages of before claim nothing
    twice."""
    rig.create_job(2, JobOptions(dispatch_seconds=600))
    rig.add_slots(2)
    rig.look()
    lost = rig.mailbox.take()
    assert len(lost) == 2
    rig.run("UPDATE task SET deadline = now() - interval '1 second'")
    again: list[tuple[uuid.UUID, uuid.UUID]] = []

    def both() -> bool:
        rig.look()
        again.extend(rig.mailbox.take())
        return len(again) >= 2

    until(both, "both are sent again")
    assert sorted(again) == sorted(lost)
    assert rig.work(again[0])
    assert not rig.work(again[0])
    assert (rig.numbers.slots, rig.numbers.dispatched) == (2, 4)
    assert rig.numbers.unclaimed == 2
    assert rig.numbers.lease_expiries == 0


def test_a_broker_that_was_started_again_gets_everything_again(rig: _Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Promise: nobody waits for dispatch deadlines when the broker tells that it is another one."""
    rig.create_job(2)
    rig.add_slots(2)
    rig.look()
    lost = rig.mailbox.take()
    monkeypatch.setattr(rig.dispatcher, "_epoch", "the run id of a server that died")
    monkeypatch.setattr(rig.dispatcher, "_next_epoch", 0.0)
    rig.look()
    assert sorted(rig.mailbox.take()) == sorted(lost)


def test_without_a_broker_tasks_stay_pending(
    database: Database,
    create_job: Callable[..., uuid.UUID],
    add_slots: Any,
    states_of: Any,
    caplog: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Promise: sending to nobody undoes the marks, says so once, and is not tried at every look."""
    job = create_job(3)
    add_slots(2)
    now, tried = [1_000.0], []

    class Trying(Sender):
        def send(self, tasks: Any, not_on: Any) -> None:
            tried.append(now[0])
            super().send(tasks, not_on)

        def epoch(self) -> str:
            tried.append(now[0])
            return super().epoch()

    monkeypatch.setattr("queue_manager.dispatcher.time", SimpleNamespace(monotonic=lambda: now[0]))
    sender = Trying("redis://:x@127.0.0.1:1/0", "db1")
    with database.listen() as held:
        rig = _Rig(database, Dispatcher(held, sender, "db1"))
        for _ in range(20):
            assert rig.look().sent == 0
            assert states_of(job) == {"pending": 3}
            now[0] += 0.1
    assert 3 <= len(tried) <= 6  # in two seconds, with longer and longer pauses
    assert sum("retrying" in r.getMessage() for r in caplog.records) == 1
    for _ in range(2):  # a sender that failed once tries again like a fresh one
        with pytest.raises(BrokerFault, match="broker"):
            sender.send([(uuid.uuid4(), uuid.uuid4())], {})
    sender.close()


def test_pauses_and_cancellations_are_settled(rig: _Rig) -> None:
    """Promise: the queue manager makes pausing paused and cancelling cancelled once nothing runs."""
    paused, cancelled = rig.create_job(1), rig.create_job(1)
    rig.add_slots(2)
    rig.look()
    claims = []
    for message in rig.mailbox.take():
        with rig.database.transaction() as conn:
            claims.append(ledger.claim(conn, *message, uuid.uuid4(), "w", 0))
    with rig.database.transaction() as conn:
        assert [states.request_pause(conn, paused) for _ in range(2)] == [JobState.PAUSING] * 2
        assert states.request_cancel(conn, cancelled) is JobState.CANCELLING
    rig.look()
    assert (rig.state(paused), rig.state(cancelled)) == (JobState.PAUSING, JobState.CANCELLING)
    for claimed in claims:
        assert claimed is not None
        with rig.database.transaction() as conn:
            ledger.finish(conn, claimed, TaskResult())
    rig.look()
    assert (rig.state(paused), rig.state(cancelled)) == (JobState.PAUSED, JobState.CANCELLED)


def test_a_successor_sends_what_its_predecessor_only_marked(rig: _Rig) -> None:
    """Promise: a queue manager killed between marking and sending costs no deadline."""
    job = rig.create_job(2)
    rig.add_slots(2)
    with rig.database.transaction() as conn:
        assert len(ledger.dispatch(conn, job, 2)) == 2
    assert rig.look().sent == 0
    rig.dispatcher.begin()
    assert rig.look().sent == 2
    assert len(rig.mailbox.take()) == 2


def test_two_thousand_messages_are_a_few_exchanges(rig: _Rig) -> None:
    """Promise: marking and sending is not what limits an installation (`make bench` has messages a second): neither
    the database nor the broker is asked once a task. The broker reads 16 kB at a time, and a message has about one."""
    rig.create_job(2_000)
    rig.add_slots(1_000)
    before = rig.mailbox.client.info("stats")["total_reads_processed"]
    with statements_of(rig.database) as asked:
        assert rig.look().sent == 2_000
    assert len(asked) < 40, asked
    assert rig.mailbox.client.info("stats")["total_reads_processed"] - before < 1_000
    assert rig.mailbox.client.llen("edbench.db1") == 2_000


def test_phases_pass_in_consecutive_looks(rig: _Rig) -> None:
    """Promise: a look that changed a job says so, so that the next one follows at once."""
    job = rig.create_job(0)
    rig.add_slots(1)
    assert rig.look().changed
    with rig.database.transaction() as conn:
        assert jobs.get_job(conn, job).phase is Phase.FINALISE
    assert rig.look().sent


def test_databases_with_work_share_the_window(
    database: Database, broker_url: str, create_job: Callable[..., uuid.UUID], add_slots: Any
) -> None:
    """Promise: slots serve all databases, so two with work send half a window each, and one alone all of it."""
    add_slots(4)
    create_job(40)
    commons = Commons()
    sender = Sender(broker_url, "db1")
    with database.listen() as held:
        dispatcher = Dispatcher(held, sender, "db1", commons)
        commons.share("db2", 40, 8)
        assert dispatcher.look().sent == 4
        commons.share("db2", 0, 8)
        assert dispatcher.look().sent >= 4
    sender.close()


_TASKS = 100
_PRIORITIES = {  # the least first: who is older has no precedence
    JobType.DISCOVERY: Priority.LOW,
    JobType.EXTRACTION: Priority.NORMAL,
    JobType.PROCESSING: Priority.NORMAL,
    JobType.EXPORT: Priority.HIGH,
}


def test_tasks_of_a_high_job_are_handed_out_before_those_of_a_low_one(rig: _Rig) -> None:
    """Though that one is older; the low one is not starved, and all of them end. Each message is done before the next look,
    so what is out is what the look before sent."""
    rig.add_slots(10)  # a window of 20 at least
    made = {
        rig.create_job(_TASKS, JobOptions(priority=priority, of_type=_choice(kind))): kind
        for kind, priority in _PRIORITIES.items()
    }
    rig.run("UPDATE task SET phase = j.phase FROM job j WHERE j.id = task.job")  # the first of each type
    order: list[JobType] = []
    while JobState.RUNNING in (found := {rig.state(job) for job in made}):
        assert found <= {JobState.RUNNING, JobState.COMPLETED}
        rig.look()
        for message in rig.mailbox.take():
            order.append(made[message[0]])
            assert rig.work(message)
    handed = Counter(order[:20])
    last = {kind: len(order) - 1 - order[::-1].index(kind) for kind in _PRIORITIES}
    behind = Counter(order[: last[JobType.EXPORT] + 1])
    for normal in (JobType.EXTRACTION, JobType.PROCESSING):
        assert handed[JobType.EXPORT] > 2 * handed[normal] > 2 * handed[JobType.DISCOVERY] > 0
        assert last[JobType.EXPORT] < last[normal] < last[JobType.DISCOVERY]
        assert behind[JobType.DISCOVERY] < behind[normal] < behind[JobType.EXPORT]


def _choice(kind: JobType) -> Any:
    if kind is JobType.DISCOVERY:
        return None
    return pytest.importorskip("production.options").ProductionChoice(type=kind, out=f"/{kind}")
