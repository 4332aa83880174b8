"""Limits on what comes out of one loose file."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import DocumentError, ExceptionCode
from core.records import Limits
from worker.budget import Budget

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
    assert "1001 bytes would have come out of 10; the limit is 1000" in _refused(
        ExceptionCode.EXPANSION_LIMIT, budget.charge, 1
    )


def test_what_was_refused_is_not_on_the_account() -> None:
    """A dropped child takes no room from its smaller siblings."""
    budget = Budget(LIMITS, 10)
    budget.charge(400)
    _refused(ExceptionCode.EXPANSION_LIMIT, budget.charge, 5_000)
    budget.give_back(400)
    assert budget.spent == 0
    budget.foresee(1_000)
    budget.charge(1_000)


def test_an_announced_size_is_refused_before_a_byte_is_taken() -> None:
    """A bomb that announces itself is never written."""
    budget = Budget(LIMITS, 10)
    _refused(ExceptionCode.EXPANSION_LIMIT, budget.foresee, 1_001)
    assert budget.spent == 0
    budget.foresee(1_000)


def test_after_ten_drops_everything_is_refused() -> None:
    """A bomb of many members cannot have each of them inflated up to the limit."""
    budget = Budget(LIMITS, 10)
    for _ in range(10):
        _refused(ExceptionCode.EXPANSION_LIMIT, budget.charge, 2_000)
    assert "10 items" in _refused(ExceptionCode.EXPANSION_LIMIT, budget.foresee, 1)


def test_children_are_counted_against_their_own_limit() -> None:
    """A container of endless empty members ends with children_limit."""
    budget = Budget(LIMITS, 10)
    for _ in range(3):
        budget.count_child()
    _refused(ExceptionCode.CHILDREN_LIMIT, budget.count_child)


def test_a_range_goes_on_from_what_was_spent() -> None:
    """What was extracted before the range was cut counts."""
    budget = Budget(LIMITS, 10, spent=999)
    budget.charge(1)
    _refused(ExceptionCode.EXPANSION_LIMIT, budget.charge, 1)


@given(st.integers(0, 10_000), st.lists(st.tuples(st.integers(0, 3_000), st.booleans()), max_size=40))
@settings(max_examples=150, deadline=None, database=None)
def test_never_more_than_allowed_and_the_same_again(loose: int, steps: list[tuple[int, bool]]) -> None:
    """Whatever the order of children and drops, spent stays within 0 and the limit, and a re-run decides the same."""

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
