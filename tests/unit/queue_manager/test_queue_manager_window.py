"""The window and its shares."""

from __future__ import annotations

import dataclasses
import uuid

from hypothesis import given
from hypothesis import strategies as st

from core.records import JobState, Phase, Priority
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
    """As documented; and a low one has some."""
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
