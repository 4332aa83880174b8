"""A Hypothesis state machine that drives the ledger's real SQL against a model of the protocol (design §3).

The server may crash at any time and come back as it was at any earlier commit that was not flushed, while slots and
messages stay as they are: they know of claims, and of tasks, that never were."""

import uuid
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from lost_commits import LostCommits

from core.errors import TaskLost
from core.records import PHASES, ClaimedTask, JobState, NewTask, Phase
from readers.errors import ExceptionCode
from sql import bulk, deletion, jobs, ledger, states
from sql.findings import ContainerCount, TaskResult
from sql.interface import QUERIES
from sql.ledger import LEDGER, Death


@dataclass
class ModelTask:
    """What the model believes of one task."""

    phase: Phase
    weight: int
    state: str = "pending"
    token: uuid.UUID | None = None  # of the claim that has it
    attempt: int = 0
    failures: int = 0


@dataclass
class Model:
    """What the model believes of the job's rows."""

    state: JobState = JobState.RUNNING
    phase: Phase = Phase.WALK
    tasks: dict[uuid.UUID, ModelTask] = field(default_factory=dict)
    items: set[uuid.UUID] = field(default_factory=set)
    finishes: int = 0
    deaths: dict[tuple[uuid.UUID, uuid.UUID], uuid.UUID] = field(default_factory=dict)

    def open(self, phase: Phase) -> bool:
        return any(t.phase is phase and t.state != "done" for t in self.tasks.values())

    def back(self, state: str) -> None:
        """All tasks in `state` become pending."""
        for task in self.tasks.values():
            if task.state == state:
                task.state = "pending"

    @property
    def out(self) -> int:
        return sum(t.state in ("dispatched", "running") for t in self.tasks.values())


_FOLLOW_ON = st.lists(st.tuples(st.sampled_from(PHASES[:3]), st.integers(0, 5)), max_size=2)


class LedgerMachine(RuleBasedStateMachine):
    """Slots, stale slots, a broker that loses and doubles messages, and a queue manager, in any order.

    Every rule is of use in every state (Hypothesis leaves out some rules in each run). Each finish adds 1 to one
    container count, so an effect that is doubled or lost shows as a wrong sum. No two tasks weigh the same: ids are
    random, and a run has to go the same way again."""

    hands: Any  # set by the test
    model: Model
    commits: LostCommits[Model]

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.messages: list[uuid.UUID] = []
        self.claims: list[ClaimedTask] = []  # that some slot holds, or believes to hold
        self.made = 0

    @initialize(weights=st.lists(st.integers(0, 5), min_size=1, max_size=4))
    def create(self, weights: list[int]) -> None:
        self.job = self.hands.create([self._task(Phase.WALK, w) for w in weights])
        self.box = self.hands.item(self.job, b"box", container=True)
        with self.hands.database.transaction() as conn:
            bulk.insert_items(conn, self.job, [self.box])
        self.commits = LostCommits(self.hands.database, self.job)
        self._learn_tasks()
        self._committed(durable=True)

    def _task(self, phase: Phase, weight: int) -> NewTask:
        self.made += 1
        return NewTask(phase=phase, weight=1_000 * weight - self.made, payload={"made": self.made})

    def _committed(self, *, durable: bool = False) -> None:
        """The model follows from the ledger now; `durable`: so it does after any crash to come."""
        self.commits.note(self.model, durable=durable)

    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        """The server is killed and comes back as it was at a commit since the last that was flushed."""
        self.model = self.commits.crash(data.draw(st.integers(0, len(self.commits) - 1)))

    def _learn_tasks(self) -> None:
        """New tasks get their ids from the database."""
        sql = "SELECT id, phase, weight, state FROM task WHERE job = %(job)s"
        for row in self.hands.rows(sql, job=self.job):
            if row.id not in self.model.tasks:
                assert row.state == "pending"
                self.model.tasks[row.id] = ModelTask(phase=Phase(row.phase), weight=row.weight)

    def _do(self, function: Any, *arguments: Any, **named: Any) -> Any:
        with self.hands.database.transaction() as conn:
            return function(conn, *arguments, **named)

    # The queue manager

    def _dispatch(self, limit: int) -> None:
        m = self.model
        sent = self.hands.dispatch(self.job, limit)
        pending = sorted((-t.weight, n) for n, t in m.tasks.items() if t.state == "pending" and t.phase is m.phase)
        expected = [n for _, n in pending[:limit]] if m.state is JobState.RUNNING else []
        assert sent == expected
        for task in sent:
            m.tasks[task].state = "dispatched"
        self.messages += sent
        if sent:
            self._committed()

    def _settled(self) -> JobState:
        if self.model.state is JobState.PAUSING:
            self.model.back("dispatched")
            if not self.model.out:
                self.model.state = JobState.PAUSED
        return self.model.state

    @rule(limit=st.integers(1, 4))
    def look(self, limit: int) -> None:
        """Settle, advance, dispatch."""
        m = self.model
        before = m.state, m.phase
        assert self._do(states.settle, self.job) is self._settled()
        result = self._do(states.advance, self.job)
        if m.state is not JobState.RUNNING or m.open(m.phase):
            assert result is None
        else:
            self._learn_tasks()
            m.phase = next((p for p in PHASES[PHASES.index(m.phase) + 1 :] if m.open(p)), m.phase)
            if m.open(m.phase):
                assert result is m.phase
            else:
                assert m.phase is Phase.FINALISE
                assert result is JobState.COMPLETED
                m.state = JobState.COMPLETED
        self._committed(durable=before != (m.state, m.phase))
        self._dispatch(limit)

    # Trouble

    @rule(what=st.sampled_from(["lost", "doubled", "not sent, it seems"]), data=st.data())
    def broker(self, what: str, data: st.DataObject) -> None:
        if not self.messages:
            return
        message = data.draw(st.sampled_from(self.messages))
        if what == "lost":
            self.messages.remove(message)
        elif what == "doubled":
            self.messages.append(message)
        else:
            self._do(LEDGER.undispatch, tasks=[message])
            task = self.model.tasks.get(message)
            if task is not None and task.state == "dispatched":
                task.state = "pending"
            self._committed()

    def _expire(self, task: uuid.UUID) -> None:
        state = self.model.tasks[task].state
        column = {"dispatched": "deadline", "running": "lease"}[state]
        self.hands.run(f"UPDATE task SET {column} = now() - interval '1 s' WHERE id = %(id)s", id=task)
        returned = self._do(LEDGER.return_expired)
        assert (returned.dispatched, returned.running) == (int(state == "dispatched"), int(state == "running"))
        self.model.tasks[task].state = "pending"
        self._committed()

    @rule(data=st.data())
    def time_passes(self, data: st.DataObject) -> None:
        """For one task: its message is late, or its lease runs out under its holder."""
        tasks = self.model.tasks
        out = sorted(
            (n for n, t in tasks.items() if t.state in ("running", "dispatched")), key=lambda n: tasks[n].weight
        )
        if out:
            self._expire(data.draw(st.sampled_from(out)))

    def _suspended(self) -> None:
        self.model.state = JobState.SUSPENDED
        self.model.back("dispatched")

    @rule(fault=st.booleans())
    def stop_or_resume(self, fault: bool) -> None:
        """A person, or a fault, stops a job that runs; one that is stopped goes on."""
        m = self.model
        if m.state is JobState.RUNNING and fault:
            assert self._do(states.suspend, self.job, "filer gone")
            self._suspended()
        elif m.state is JobState.RUNNING:
            m.state = JobState.PAUSING
            assert self._do(states.request_pause, self.job) is self._settled()
        elif not m.state.over:
            assert self._do(states.request_resume, self.job) is JobState.RUNNING
            m.state = JobState.RUNNING
            m.back("dispatched")
            for task in m.tasks.values():
                task.failures = 0 if task.state != "done" else task.failures
        self._committed(durable=True)

    # Slots

    def _deliver(self, message: int) -> None:
        claimed = self._claim(self.messages.pop(message), uuid.uuid4())
        if claimed is not None:
            self.claims.append(claimed)

    def _claim(self, number: uuid.UUID, token: uuid.UUID) -> ClaimedTask | None:
        m = self.model
        task = m.tasks.get(number)  # None: it was inserted by a transaction that is lost
        claimed: ClaimedTask | None = self.hands.claim(number, self.job, token)
        if task is None:
            assert claimed is None
            return None
        mine = task.state == "running" and task.token == token
        good = task.state == "dispatched" and m.state is JobState.RUNNING and task.phase is m.phase
        assert (claimed is not None) is (good or mine)
        if claimed is not None:
            task.state, task.token = "running", token
            task.attempt += not mine
            found = (claimed.id, claimed.token, claimed.attempt, claimed.phase)
            assert found == (number, token, task.attempt, task.phase)
            self._committed()
        return claimed

    def _held(self, data: st.DataObject) -> ClaimedTask | None:
        """One that some slot holds, or believes to hold, the latest first; there is a true one, if there can be."""
        if not any(map(self._mine, self.claims)):
            if not self.messages:
                self._dispatch(2)
            if self.messages:
                self._deliver(len(self.messages) - 1)
        return data.draw(st.sampled_from(self.claims[::-1])) if self.claims else None

    def _mine(self, claimed: ClaimedTask) -> bool:
        task = self.model.tasks.get(claimed.id)
        return task is not None and task.state == "running" and task.token == claimed.token

    @rule(data=st.data())
    def ask_again(self, data: st.DataObject) -> None:
        """A slot that did not hear what became of its claim asks again with the same token."""
        claimed = self._held(data)
        if claimed is not None:
            again = self._claim(claimed.id, claimed.token)
            assert again is None or again.payload == claimed.payload

    @rule(data=st.data())
    def deliver(self, data: st.DataObject) -> None:
        if not self.messages:
            self._dispatch(2)
        if self.messages:
            self._deliver(data.draw(st.integers(0, len(self.messages) - 1)))

    @rule(data=st.data(), follow_on=_FOLLOW_ON)
    def finish(self, data: st.DataObject, follow_on: list[tuple[Phase, int]]) -> None:
        """Also late, twice, and after another claim took over: the slot cannot know."""
        claimed = self._held(data)
        if claimed is None:
            return
        new = [(p, w) for p, w in follow_on if PHASES.index(p) >= PHASES.index(claimed.phase)]
        self._finish(claimed, tuple(self._task(p, w) for p, w in new))

    def _finish(self, claimed: ClaimedTask, follow_on: tuple[NewTask, ...] = ()) -> None:
        m = self.model
        item = self.hands.item(self.job, b"of " + claimed.id.bytes, self.box.id)
        count = ContainerCount(item=self.box.id, announced=None, emitted=1, failed=0)
        mine = self._mine(claimed)
        try:
            self.hands.finish(claimed, TaskResult(items=(item,), containers=(count,), follow_on=follow_on))
        except TaskLost:
            assert not mine
            self.claims.remove(claimed)
            return
        assert mine, "the work of one claim passed for another's"
        m.tasks[claimed.id].state = "done"
        m.items.add(item.id)
        m.finishes += 1
        self._learn_tasks()
        self._committed()

    @rule(most=st.integers(1, 4))
    def work(self, most: int) -> None:
        """Some tasks in a row without trouble, so that runs get through the phases."""
        self._dispatch(most)
        for _ in range(len(self.messages)):
            self._deliver(0)
        for claimed in list(self.claims):
            if self._mine(claimed):
                self._finish(claimed)

    @rule(data=st.data())
    def overtake(self, data: st.DataObject) -> None:
        """A slot is held up past its lease and another gets its task; the first still believes to have it."""
        claimed = self._held(data)
        m = self.model
        if claimed is not None and self._mine(claimed) and m.state is JobState.RUNNING:
            self._expire(claimed.id)
            self._dispatch(len(m.tasks))
            self._deliver(len(self.messages) - 1 - self.messages[::-1].index(claimed.id))

    @rule(data=st.data(), how=st.sampled_from(["released", "released", "failed"]), charged=st.booleans())
    def give_back(self, data: st.DataObject, how: str, charged: bool) -> None:
        claimed = self._held(data)
        if claimed is None:
            return
        m = self.model
        mine = self._mine(claimed)
        if how == "failed":
            assert self._do(ledger.fail, claimed.id, claimed.token, "boom") is mine
        else:
            assert self._do(ledger.release, claimed.id, claimed.token, failed=charged) is mine
        self.claims.remove(claimed)
        if mine:
            task = m.tasks[claimed.id]
            task.state = "pending"
            task.failures += how == "failed" or charged
            if how == "failed" and task.failures >= 2 and m.state in (JobState.RUNNING, JobState.PAUSING):
                self._suspended()
            self._committed(durable=True)

    @rule(data=st.data(), item=st.integers(0, 1), reported=st.integers(1, 2))
    def die(self, data: st.DataObject, item: int, reported: int) -> None:
        """A slot dies over an item; its supervisor reports that and gives the task back."""
        claimed = self._held(data)
        if claimed is None:
            return
        m = self.model
        self.claims.remove(claimed)
        pair, victim = (claimed.id, claimed.token), uuid.UUID(int=item + 1)
        for _ in range(reported):
            death = Death(task=claimed.id, item=victim, cause=ExceptionCode.KILLED_PARSER, detail="signal 6")
            self._do(ledger.record_death, self.job, claimed.phase, claimed.token, death, "w1")
        m.deaths.setdefault(pair, victim)
        if self._do(ledger.release, *pair, failed=False):
            m.tasks[claimed.id].state = "pending"
        self._committed(durable=True)
        twice = {v for v in m.deaths.values() if list(m.deaths.values()).count(v) >= 2}
        assert set(self._do(ledger.convicted, self.job)) == twice

    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        claimed = self._held(data)
        if claimed is not None:
            pair = (claimed.id, claimed.token)
            assert self._do(ledger.renew, [pair]) == ({pair} if self._mine(claimed) else set())

    # What must always hold

    @invariant()
    def ledger_is_as_the_model(self) -> None:
        m = self.model
        with self.hands.database.transaction() as conn:
            tasks = conn.execute(
                "SELECT id, state, attempt, failures FROM task WHERE job = %(job)s", {"job": self.job}
            ).all()
            (job,) = conn.execute("SELECT state, phase FROM job WHERE id = %(job)s", {"job": self.job}).all()
            items = conn.execute("SELECT id FROM item WHERE parent = %(b)s", {"b": self.box.id}).scalars()
            emitted = conn.execute(
                "SELECT coalesce(sum(emitted), 0) FROM container_count WHERE item = %(b)s", {"b": self.box.id}
            ).scalar_one()
            assert set(items) == m.items
        assert {row.id: tuple(row)[1:] for row in tasks} == {
            n: (t.state, t.attempt, t.failures) for n, t in m.tasks.items()
        }
        assert tuple(job) == (m.state, m.phase)
        for earlier in PHASES[: PHASES.index(m.phase)]:
            assert not m.open(earlier), "a phase was closed early"
        assert emitted == m.finishes == sum(t.state == "done" for t in m.tasks.values()), (
            "an effect was lost or doubled"
        )

    def teardown(self) -> None:
        """Whatever happened, the job can be brought to its end, with every task done."""
        if not hasattr(self, "job"):
            return
        m = self.model
        if m.state is not JobState.RUNNING and not m.state.over:
            self.stop_or_resume(fault=False)
        self.hands.run(
            "UPDATE task SET lease = now() - interval '1 s' WHERE job = %(job)s AND state = 'running'", job=self.job
        )
        self.hands.run(QUERIES["undispatch_job"].sql, job=self.job)
        self._do(LEDGER.return_expired)
        while not self._do(jobs.get_job, self.job).state.over:
            for task in self.hands.dispatch(self.job):
                self.hands.finish(self.hands.claim(task))
            self._do(states.advance, self.job)
        left = self.hands.value("SELECT count(*) FROM task WHERE job = %(job)s AND state <> 'done'", job=self.job)
        assert left == 0
        deletion.delete_rows(self.hands.database, self.job)


def test_no_task_lost_no_effect_doubled_no_phase_closed_early(hands: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Promise: the protocol holds under any order of claims, stale claims, doubled and lost messages, lost leases,
    late finishes, deaths, pauses, faults, barriers and crashes of the server that lose its last commits."""

    class Machine(LedgerMachine):
        pass

    Machine.hands = hands
    monkeypatch.setattr(ledger, "FAILURES_LIMIT", 2)
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Machine,
        settings=settings(
            max_examples=60,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
