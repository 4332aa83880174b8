"""Limits on what comes out of one loose file."""

import math
import os
import signal
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from installation import until

from core.records import Limits
from readers.errors import DocumentError, ExceptionCode
from sql.ledger import Around, Death
from worker.costs import Allowance, Budget, Charges, count_sandbox, of_expand, of_items, processor_seconds

LIMITS = Limits(expansion_ratio=10.0, expansion_floor=1_000, extracted_bytes=50_000, children=3)


def _refused(code: ExceptionCode, act: object, *arguments: int) -> str:
    with pytest.raises(DocumentError) as caught:
        act(*arguments)  # type: ignore[operator]
    assert caught.value.code is code
    return caught.value.detail


@pytest.mark.parametrize(("loose", "allowed"), [(10, 1_000), (100, 1_000), (200, 2_000), (1_000_000, 50_000)])
def test_the_allowance_follows_floor_ratio_and_ceiling(loose: int, allowed: int) -> None:
    """Small files are never questioned below the floor; above it the ratio counts, and never more than the ceiling."""
    assert Budget(LIMITS, loose).allowed == allowed


def test_the_last_byte_is_allowed_and_one_more_is_not() -> None:
    """The limit itself may be reached; the message names what would come out and the limit."""
    budget = Budget(LIMITS, 10)
    budget.charge(1_000)
    assert "1001 bytes would have been extracted from 10; the limit is 1000" in _refused(
        ExceptionCode.EXPANSION_LIMIT, budget.charge, 1
    )


def test_what_was_refused_is_not_on_the_account() -> None:
    budget = Budget(LIMITS, 10)
    budget.charge(400)
    _refused(ExceptionCode.EXPANSION_LIMIT, budget.charge, 5_000)
    budget.give_back(400)
    assert budget.spent == 0
    budget.foresee(1_000)
    budget.charge(1_000)


def test_an_announced_size_is_refused_before_a_byte_is_taken() -> None:
    budget = Budget(LIMITS, 10)
    _refused(ExceptionCode.EXPANSION_LIMIT, budget.foresee, 1_001)
    assert budget.spent == 0
    budget.foresee(1_000)


def test_after_ten_drops_everything_is_refused() -> None:
    budget = Budget(LIMITS, 10)
    for _ in range(10):
        _refused(ExceptionCode.EXPANSION_LIMIT, budget.charge, 2_000)
    assert "10 items" in _refused(ExceptionCode.EXPANSION_LIMIT, budget.foresee, 1)


def test_ranges_share_what_is_left() -> None:
    """What was extracted before the ranges were cut counts, and together they take no more than the rest."""
    budget = Budget(LIMITS, 10)
    budget.charge(100)
    budget.count_child()
    one, other = budget.hand_over([2, 1])
    assert (one, other) == (Allowance(600, 1, 66_666), Allowance(300, 0, 33_333))
    _refused(ExceptionCode.EXPANSION_LIMIT, budget.charge, 1)
    range_ = Budget(LIMITS, 10, allowance=one)
    range_.charge(600)
    _refused(ExceptionCode.EXPANSION_LIMIT, range_.charge, 1)
    range_.count_child()
    _refused(ExceptionCode.CHILDREN_LIMIT, range_.count_child)


@given(
    st.builds(Allowance, st.integers(0, 10**12), st.integers(0, 10**7), st.integers(0, 10**5)),
    st.lists(st.integers(0, 10**10), max_size=30),
)
def test_shares_are_never_more_than_there_is(allowance: Allowance, weights: list[int]) -> None:
    shares = allowance.shared(weights)
    assert len(shares) == len(weights)
    for field in ("extracted", "children", "hand_ons"):
        assert sum(getattr(share, field) for share in shares) <= getattr(allowance, field)


@given(st.lists(st.tuples(st.lists(st.integers(1, 10**7), min_size=1, max_size=5), st.booleans()), max_size=9))
def test_what_is_handed_over_on_the_way_is_not_given_twice(portions: list[tuple[list[int], bool]]) -> None:
    """A task that hands on before its end keeps half of what it has, at least, and all together get no more than it had."""
    budget = Budget(LIMITS, 10**5)
    given = [0, 0, 0]
    for weights, more in portions:
        before = budget.allowed
        for share in budget.hand_over(weights, more=more):
            given = [a + b for a, b in zip(given, (share.extracted, share.children, share.hand_ons), strict=True)]
        assert not more or budget.allowed >= before // 2
    whole = Allowance.of(LIMITS, 10**5)
    assert all(g <= w for g, w in zip(given, (whole.extracted, whole.children, whole.hand_ons), strict=True))
    assert budget.allowed == whole.extracted - given[0]


def test_time_is_over_for_the_whole_loose_file() -> None:
    """The clock is not started anew for each child: more than the loose file may have, and no child is asked for."""
    clock = iter((0.0, 9.0, 10.0, 10.5))
    budget = Budget(Limits(loose_seconds=10.0, loose_seconds_per_mb=0), 10, clock=lambda: next(clock))
    budget.check()
    budget.check()
    _refused(ExceptionCode.TIME_LIMIT, budget.check)


def test_what_others_spent_is_not_left() -> None:
    """A range starts with what finished tasks have left of the seconds."""
    clock = iter((0.0, 2.0, 3.5))
    budget = Budget(Limits(), 10, seconds=3.0, clock=lambda: next(clock))
    budget.check()
    _refused(ExceptionCode.TIME_LIMIT, budget.check)


def test_where_memory_was_full_before_fewer_are_taken() -> None:
    budget = Budget(LIMITS, 10, room=2)
    for _ in range(2):
        budget.check()
        budget.count_child()
    _refused(ExceptionCode.MEMORY, budget.check)


def test_hand_ons_end() -> None:
    budget = Budget(Limits(hand_ons=3), 10)
    assert [budget.hand_on(2), budget.hand_on(2), budget.hand_on(), budget.hand_on()] == [True, False, True, False]


@given(st.integers(0, 10_000), st.lists(st.tuples(st.integers(0, 3_000), st.booleans()), max_size=40))
def test_never_more_than_allowed_and_the_same_again(loose: int, steps: list[tuple[int, bool]]) -> None:
    def run() -> list[bool]:
        budget, taken = Budget(LIMITS, loose), []
        for amount, announce in steps:
            try:
                budget.foresee(amount if announce else 0)
                budget.charge(amount)
                taken.append(True)
            except DocumentError:
                taken.append(False)
            assert 0 <= budget.spent <= budget.allowed
        return taken

    first = run()
    assert first == run()
    assert sum(amount for (amount, _), ok in zip(steps, first, strict=True) if ok) <= Budget(LIMITS, loose).allowed


LOOSE, INNER, OTHER = (uuid.UUID(int=n) for n in (100, 200, 300))
LIMITS_CHARGES = Limits(deaths=4, deaths_per_mb=1.0, loose_seconds=100.0, loose_seconds_per_mb=0.0)
TASK, ANOTHER = uuid.uuid4(), uuid.uuid4()


def _item(number: int) -> uuid.UUID:
    return uuid.UUID(int=number)


def _death(**fields: Any) -> Death:
    return Death(**fields, cause=ExceptionCode.TIMEOUT, detail="60 s")


def _died(*items: int, task: uuid.UUID = TASK, parent: uuid.UUID = LOOSE, seconds: float = 1.0) -> list[Death]:
    return [_death(task=task, item=_item(n), parent=parent, loose=LOOSE, seconds=seconds) for n in items]


def _charges(deaths: Sequence[Death], spent: dict[uuid.UUID, float] | None = None) -> Charges:
    return of_expand(LIMITS_CHARGES, TASK, deaths, spent or {})


def test_it_ends_behind_the_last_place_of_a_death() -> None:
    charges = _charges(_died(1, 1, 2, 2))
    stop = charges.stop(LOOSE, 10)
    for number in (0, 1):
        stop.check()
        charges.passed(_item(number))
    stop.check()
    charges.passed(_item(2))
    with pytest.raises(DocumentError, match="deaths_limit: 4 slots died while they read it; the limit is 4"):
        stop.check()


@pytest.mark.parametrize("deaths", [_died(1, 1, 2, 2, task=ANOTHER), _died(*[1, 2] * 4)])
def test_it_is_not_touched_any_more(deaths: list[Death]) -> None:
    stop = _charges(deaths).stop(LOOSE, 10)
    assert stop.reached


@pytest.mark.parametrize(
    ("items", "what", "size"),
    [((1, 1, 2), LOOSE, 10), ((1, 1, 2, 2), LOOSE, 1_000_000), ((1, 1, 2, 2), OTHER, 10), ((1, 2, 3), LOOSE, 10)],
)
def test_below_the_limits_nothing_is_stopped(items: tuple[int, ...], what: uuid.UUID, size: int) -> None:
    """A death counts once for each thing around the item."""
    assert _charges(_died(*items)).stop(what, size) is None


def test_a_container_within_is_stopped_by_itself() -> None:
    charges = _charges(_died(1, 1, 2, 2, parent=INNER))
    assert charges.stop(INNER, 10) is not None
    assert charges.stop(LOOSE, 5_000_000) is None


@pytest.mark.parametrize(
    ("deaths", "spent"),
    [(_died(1, seconds=60.0) + _died(2, seconds=40.0), {}), (_died(2, seconds=10.0), {LOOSE: 90.0})],
)
def test_seconds_of_deaths_and_of_finished_tasks_add_up(deaths: list[Death], spent: dict[uuid.UUID, float]) -> None:
    stop = _charges(deaths, spent).stop(LOOSE, 10)
    assert (stop.code, stop.reached) == (ExceptionCode.TIME_LIMIT, False)


def test_what_is_left_of_the_seconds() -> None:
    assert _charges(_died(1, seconds=25.0), {LOOSE: 50.0}).seconds_left(LOOSE, 10) == 25.0
    assert _charges(_died(1, 1, 2, 2)).seconds_left(LOOSE, 10) == math.inf


def test_full_memory_leaves_room_for_half() -> None:
    full = _death(task=TASK, item=None, loose=LOOSE, taken=1_000)
    assert _charges([full]).room(LOOSE) == 500
    assert _charges([full, _death(task=TASK, item=None, loose=LOOSE, taken=400)]).room(LOOSE) == 200
    assert _charges([_death(task=ANOTHER, item=None, loose=LOOSE, taken=400)]).room(LOOSE) is None
    assert _charges([full]).room(OTHER) is None


def test_items_with_rows() -> None:
    """Rows tell what is around: items of a stopped container are refused behind the last place, others are not, at
    whatever depth the deaths were."""
    loose, inner = Around(LOOSE, 5_000_000), Around(INNER, 10)
    around = {_item(n): [Around(_item(n), 1), inner, loose] for n in (1, 2, 3)}
    around[_item(4)] = [Around(_item(4), 1), loose]
    deaths = [_death(task=TASK, item=_item(n)) for n in (1, 1, 2, 2)]
    charges = of_items(LIMITS_CHARGES, TASK, deaths, {}, around)
    refused = [charges.refusal(_item(n)) for n in (1, 2, 3, 4)]
    assert [error and error.code for error in refused] == [
        ExceptionCode.TIMEOUT,
        ExceptionCode.TIMEOUT,
        ExceptionCode.DEATHS_LIMIT,
        None,
    ]
    assert of_items(LIMITS_CHARGES, ANOTHER, deaths, {}, around).refusal(_item(1)) is not None


@pytest.fixture
def spinning() -> Iterator[int]:
    """A process that takes a processor for as long as it gets one."""
    pid = os.fork()
    if not pid:
        while True:
            pass
    yield pid
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    count_sandbox(0)


def test_the_time_of_the_sandbox_counts(spinning: int) -> None:
    """This process waits, its sandbox works: the seconds go on."""
    count_sandbox(spinning)
    before = processor_seconds() - time.thread_time()
    until(lambda: processor_seconds() - time.thread_time() > before + 0.1, "the time of the box is counted")


def test_a_sandbox_that_is_gone_is_no_fault(spinning: int) -> None:
    count_sandbox(2**22 + 1)  # no process has this number
    assert processor_seconds() >= 0
