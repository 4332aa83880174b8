"""A Hypothesis state machine that drives the ledger's real SQL against a model of the protocol (design §3)."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from core.errors import ExceptionCode, TaskLost
from core.records import PHASES, ClaimedTask, ContainerCount, JobState, NewTask, Phase, TaskResult
from sql import bulk, jobs, ledger, states
from sql.queries import QUERIES


@dataclass
class ModelTask:
    """What the model believes of one task."""

    phase: Phase
    weight: int
    state: str = "pending"
    attempt: int = 0
    failures: int = 0


@dataclass
class Model:
    """What the model believes of the job."""

    state: JobState = JobState.RUNNING
    phase: Phase = Phase.WALK
    tasks: dict[int, ModelTask] = field(default_factory=dict)
    messages: list[int] = field(default_factory=list)
    items: set[uuid.UUID] = field(default_factory=set)
    finishes: int = 0
    attempts: list[ClaimedTask] = field(default_factory=list)  # that some slot holds, or believes to hold
    deaths: dict[tuple[int, int], uuid.UUID] = field(default_factory=dict)

    def open(self, phase: Phase) -> bool:
        return any(t.phase is phase and t.state != "done" for t in self.tasks.values())

    def back(self, state: str) -> int:
        """All tasks in `state` become pending."""
        moved = [t for t in self.tasks.values() if t.state == state]
        for task in moved:
            task.state = "pending"
        return len(moved)

    @property
    def out(self) -> int:
        return sum(t.state in ("dispatched", "running") for t in self.tasks.values())


_FOLLOW_ON = st.lists(st.tuples(st.sampled_from(PHASES[:3]), st.integers(0, 5)), max_size=2)


class LedgerMachine(RuleBasedStateMachine):
    """Slots, stale slots, a broker that loses and doubles messages, and a queue manager, in any order.

    Every rule is of use in every state (Hypothesis leaves out some rules in each run). Each finish adds 1 to one container count, so an effect that is doubled or lost shows as a wrong sum.
    """

    hands: Any  # set by the test

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()

    @initialize(weights=st.lists(st.integers(0, 5), min_size=1, max_size=4))
    def create(self, weights: list[int]) -> None:
        tasks = [NewTask(phase=Phase.WALK, weight=w, payload={}) for w in weights]
        self.job = self.hands.create(tasks)
        self.box = self.hands.item(self.job, b"box", container=True)
        with self.hands.database.transaction() as conn:
            bulk.insert_items(conn, self.job, [self.box])
        self._learn_tasks()

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
        m.messages += sent

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
        self._dispatch(limit)

    # Trouble

    @rule(what=st.sampled_from(["lost", "doubled", "not sent, it seems"]), data=st.data())
    def broker(self, what: str, data: st.DataObject) -> None:
        m = self.model
        if not m.messages:
            return
        message = data.draw(st.sampled_from(m.messages))
        if what == "lost":
            m.messages.remove(message)
        elif what == "doubled":
            m.messages.append(message)
        else:
            self._do(ledger.undispatch, [message])
            if m.tasks[message].state == "dispatched":
                m.tasks[message].state = "pending"

    def _expire(self, task: int) -> None:
        state = self.model.tasks[task].state
        column = {"dispatched": "deadline", "running": "lease"}[state]
        self.hands.run(f"UPDATE task SET {column} = now() - interval '1 s' WHERE id = %(id)s", id=task)
        returned = self._do(ledger.return_expired)
        assert (returned.dispatched, returned.running) == (int(state == "dispatched"), int(state == "running"))
        self.model.tasks[task].state = "pending"

    @rule(data=st.data())
    def time_passes(self, data: st.DataObject) -> None:
        """For one task: its message is late, or its lease runs out under its holder."""
        out = sorted(n for n, t in self.model.tasks.items() if t.state in ("running", "dispatched"))
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

    # Slots

    def _deliver(self, message: int) -> None:
        m = self.model
        number = m.messages.pop(message)
        task = m.tasks[number]
        claimed = self.hands.claim(number)
        good = task.state == "dispatched" and m.state is JobState.RUNNING and task.phase is m.phase
        assert (claimed is not None) is good
        if claimed is not None:
            task.state = "running"
            task.attempt += 1
            assert (claimed.id, claimed.attempt, claimed.phase) == (number, task.attempt, task.phase)
            m.attempts.append(claimed)

    def _attempt(self, data: st.DataObject) -> ClaimedTask | None:
        """One that some slot holds, or believes to hold, the latest first; there is a true one, if there can be."""
        m = self.model
        if not any(map(self._mine, m.attempts)):
            if not m.messages:
                self._dispatch(2)
            if m.messages:
                self._deliver(len(m.messages) - 1)
        return data.draw(st.sampled_from(m.attempts[::-1])) if m.attempts else None

    def _mine(self, claimed: ClaimedTask) -> bool:
        task = self.model.tasks[claimed.id]
        return task.state == "running" and task.attempt == claimed.attempt

    @rule(data=st.data())
    def deliver(self, data: st.DataObject) -> None:
        if not self.model.messages:
            self._dispatch(2)
        if self.model.messages:
            self._deliver(data.draw(st.integers(0, len(self.model.messages) - 1)))

    @rule(data=st.data(), follow_on=_FOLLOW_ON)
    def finish(self, data: st.DataObject, follow_on: list[tuple[Phase, int]]) -> None:
        """Also late, twice, and after another attempt took over: the slot cannot know."""
        claimed = self._attempt(data)
        if claimed is None:
            return
        new = [(p, w) for p, w in follow_on if PHASES.index(p) >= PHASES.index(claimed.phase)]
        self._finish(claimed, tuple(NewTask(phase=p, weight=w, payload={}) for p, w in new))

    def _finish(self, claimed: ClaimedTask, follow_on: tuple[NewTask, ...] = ()) -> None:
        m = self.model
        item = self.hands.item(self.job, b"of %d" % claimed.id, self.box.id)
        count = ContainerCount(item=self.box.id, announced=None, emitted=1, failed=0)
        mine = self._mine(claimed)
        try:
            self.hands.finish(claimed, TaskResult(items=(item,), containers=(count,), follow_on=follow_on))
        except TaskLost:
            assert not mine
            m.attempts.remove(claimed)
            return
        assert mine
        m.tasks[claimed.id].state = "done"
        m.items.add(item.id)
        m.finishes += 1
        self._learn_tasks()

    @rule(most=st.integers(1, 4))
    def work(self, most: int) -> None:
        """Some tasks in a row without trouble, so that runs get through the phases."""
        self._dispatch(most)
        for _ in range(len(self.model.messages)):
            self._deliver(0)
        for claimed in [c for c in self.model.attempts if self._mine(c)]:
            self._finish(claimed)

    @rule(data=st.data())
    def overtake(self, data: st.DataObject) -> None:
        """A slot is held up past its lease and another gets its task; the first still believes to have it."""
        claimed = self._attempt(data)
        m = self.model
        if claimed is not None and self._mine(claimed) and m.state is JobState.RUNNING:
            self._expire(claimed.id)
            self._dispatch(len(m.tasks))
            self._deliver(len(m.messages) - 1 - m.messages[::-1].index(claimed.id))

    @rule(data=st.data(), how=st.sampled_from(["released", "released", "failed"]), charged=st.booleans())
    def give_back(self, data: st.DataObject, how: str, charged: bool) -> None:
        claimed = self._attempt(data)
        if claimed is None:
            return
        m = self.model
        mine = self._mine(claimed)
        if how == "failed":
            assert self._do(ledger.fail, claimed.id, claimed.attempt, "boom", limit=2) is mine
        else:
            assert self._do(ledger.release, claimed.id, claimed.attempt, failed=charged) is mine
        m.attempts.remove(claimed)
        if mine:
            task = m.tasks[claimed.id]
            task.state = "pending"
            task.failures += how == "failed" or charged
            if how == "failed" and task.failures >= 2 and m.state in (JobState.RUNNING, JobState.PAUSING):
                self._suspended()

    @rule(data=st.data(), item=st.integers(0, 1), told=st.integers(1, 2))
    def die(self, data: st.DataObject, item: int, told: int) -> None:
        """A slot dies over an item; its supervisor reports that and gives the task back."""
        claimed = self._attempt(data)
        if claimed is None:
            return
        m = self.model
        m.attempts.remove(claimed)
        pair, victim = (claimed.id, claimed.attempt), uuid.UUID(int=item + 1)
        for _ in range(told):
            self._do(ledger.record_death, self.job, *pair, victim, ExceptionCode.KILLED_PARSER, "signal 6", "w1")
        m.deaths.setdefault(pair, victim)
        if self._do(ledger.release, *pair, failed=False):
            m.tasks[claimed.id].state = "pending"
        twice = {v for v in m.deaths.values() if list(m.deaths.values()).count(v) >= 2}
        assert set(self._do(ledger.convicted, self.job)) == twice

    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        claimed = self._attempt(data)
        if claimed is not None:
            pair = (claimed.id, claimed.attempt)
            assert self._do(ledger.renew, [pair]) == ({pair} if self._mine(claimed) else set())

    # What must always hold

    @invariant()
    def ledger_is_as_the_model_says(self) -> None:
        m = self.model
        with self.hands.database.transaction() as conn:
            tasks = conn.exec_driver_sql(
                "SELECT id, state, attempt, failures FROM task WHERE job = %(job)s", {"job": self.job}
            ).all()
            (job,) = conn.exec_driver_sql("SELECT state, phase FROM job WHERE id = %(job)s", {"job": self.job}).all()
            items = conn.exec_driver_sql("SELECT id FROM item WHERE parent = %(b)s", {"b": self.box.id}).scalars()
            emitted = conn.exec_driver_sql(
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
        self._do(ledger.return_expired)
        while not self._do(jobs.get_job, self.job).state.over:
            for task in self.hands.dispatch(self.job):
                self.hands.finish(self.hands.claim(task))
            self._do(states.advance, self.job)
        left = self.hands.value("SELECT count(*) FROM task WHERE job = %(job)s AND state <> 'done'", job=self.job)
        assert left == 0
        self._do(jobs.delete_rows, self.job)


def test_no_task_lost_no_effect_doubled_no_phase_closed_early(hands: Any) -> None:
    """Promise: the protocol holds under any order of claims, stale claims, doubled and lost messages, lost leases,
    late finishes, deaths, pauses, faults and barriers."""

    class Machine(LedgerMachine):
        pass

    Machine.hands = hands
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Machine,
        settings=settings(
            max_examples=80,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
