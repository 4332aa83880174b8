"""What a run does follows from seed and number, and every fault has its turn."""

from pathlib import Path

import pytest
from chaos import kinds
from chaos.faults import ALL, FAMILIES, chosen
from chaos.plan import Course, Reach, RunPlan, goes_with, plan_run
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UsageError

COURSES = [kind.course for kind in kinds.ALL]
PLANNED = [
    ("k", [("b", "claimed", 0.617), ("b", "claimed", 0.56), ("b", "work", 0.829), ("b", "work", 0.322)]),
    ("k", [("a", "committed", 0.52)]),
    ("k", [("c", "claim", 0.848)]),
]
BY_NAME = {reach.name: reach for reach in ALL}


def _plan(seed: int, number: int) -> RunPlan:
    return plan_run(seed, number, ALL, COURSES)


def test_a_plan_is_the_same_on_every_machine() -> None:
    faults = [Reach(name="a"), Reach(name="b", times=4, one_phase=True), Reach(name="c", moments=("claim",))]
    courses = [Course(name="k", phases=("walk", "expand")), Course(name="d", phases=("walk",), moments=("commit",))]
    reported = [
        (plan.kind, [(s.fault, s.aim.moment, round(s.aim.position, 3)) for s in plan.strikes])
        for plan in (plan_run(5, number, faults, courses) for number in range(3))
    ]
    assert reported == PLANNED


@given(seed=st.integers(), number=st.integers(0, 10_000))
def test_the_same_seed_and_number_plan_the_same_run(seed: int, number: int) -> None:
    assert _plan(seed, number) == _plan(seed, number)
    assert _plan(seed, number) != _plan(seed + 1, number)


@given(seed=st.integers(), number=st.integers(0, 10_000))
def test_a_plan_can_be_carried_out(seed: int, number: int) -> None:
    plan = _plan(seed, number)
    kind = next(kind for kind in kinds.ALL if kind.name == plan.kind)
    for strike in plan.strikes:
        reach = BY_NAME[strike.fault]
        assert goes_with(reach, kind.course)
        assert 0 <= strike.aim.position < 1
        assert strike.aim.phase in ("", *kind.phases)
        if kind.moments:
            assert strike.aim.moment in kind.moments
        if reach.moments:
            assert strike.aim.moment in reach.moments


@given(seed=st.integers())
def test_every_fault_has_its_turn(seed: int) -> None:
    for turn in range(2):
        numbers = range(turn * len(ALL), (turn + 1) * len(ALL))
        assert {_plan(seed, number).strikes[0].fault for number in numbers} == set(BY_NAME)


def test_what_spoils_the_source_comes_alone() -> None:
    plans = [_plan(3, number) for number in range(2_000)]
    paired = [plan for plan in plans if len({strike.fault for strike in plan.strikes}) > 1]
    assert len(paired) > 100
    assert not any(BY_NAME[strike.fault].alone for plan in paired for strike in plan.strikes)


def test_faults_are_chosen_by_family_and_by_name() -> None:
    assert chosen("all") == list(ALL)
    assert chosen("broker,database") == [*FAMILIES["database"], *FAMILIES["broker"]]
    assert chosen("slot-killed,database-killed") == chosen("database-killed,slot-killed")
    assert set(FAMILIES) >= {"processes", "database", "broker", "network", "storage", "disks", "limits", "source"}


@pytest.mark.parametrize("text", ["", "earthquake", "all,earthquake", ","])
def test_an_unknown_fault_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"slot-killed"):
        chosen(text)


def test_every_fault_is_in_the_documentation() -> None:
    """With what it is, word for word."""
    text = (Path(__file__).parents[2] / "docs" / "dev" / "faults.md").read_text(encoding="utf-8")
    assert [fault.name for fault in ALL if f"| `{fault.name}` | {fault.what} |" not in text] == []
    assert [kind.name for kind in kinds.ALL if f"`{kind.name}`" not in text] == []
