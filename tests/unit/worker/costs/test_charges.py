"""What a loose file may still cost: deaths and seconds of all its tasks."""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from typing import Any

import pytest

from core.records import Limits
from readers.errors import DocumentError, ExceptionCode
from sql.costs import Around, Death
from worker.costs import Charges, of_expand, of_items

LOOSE, INNER, OTHER = (uuid.UUID(int=n) for n in (100, 200, 300))
LIMITS = Limits(deaths=4, deaths_per_mb=1.0, loose_seconds=100.0, loose_seconds_per_mb=0.0)
TASK, ANOTHER = uuid.uuid4(), uuid.uuid4()


def _item(number: int) -> uuid.UUID:
    return uuid.UUID(int=number)


def _death(**fields: Any) -> Death:
    return Death(**fields, cause=ExceptionCode.TIMEOUT, detail="60 s")


def _died(*items: int, task: uuid.UUID = TASK, parent: uuid.UUID = LOOSE, seconds: float = 1.0) -> list[Death]:
    return [_death(task=task, item=_item(n), parent=parent, loose=LOOSE, seconds=seconds) for n in items]


def _charges(deaths: Sequence[Death], spent: dict[uuid.UUID, float] | None = None) -> Charges:
    return of_expand(LIMITS, TASK, deaths, spent or {})


def test_below_the_limits_nothing_is_stopped() -> None:
    """Three deaths of four; and larger containers may cost more."""
    assert _charges(_died(1, 1, 2)).stop(LOOSE, 10) is None
    assert _charges(_died(1, 1, 2, 2)).stop(LOOSE, 1_000_000) is None
    assert _charges(_died(1, 1, 2, 2)).stop(OTHER, 10) is None


def test_it_ends_behind_the_last_place_of_a_death() -> None:
    """What was passed unharmed is taken again; behind the last place nothing is."""
    charges = _charges(_died(1, 1, 2, 2))
    stop = charges.stop(LOOSE, 10)
    assert stop is not None
    for number in (0, 1):
        stop.check()
        charges.passed(_item(number))
    stop.check()
    charges.passed(_item(2))
    with pytest.raises(DocumentError, match="deaths_limit: 4 slots died while they read it; the limit is 4"):
        stop.check()


@pytest.mark.parametrize("deaths", [_died(1, 1, 2, 2, task=ANOTHER), _died(*[1, 2] * 4)])
def test_it_is_not_touched_any_more(deaths: list[Death]) -> None:
    """By a task in which nobody died of it, or when slots go on dying on the way to the last place."""
    stop = _charges(deaths).stop(LOOSE, 10)
    assert stop is not None
    assert stop.reached


def test_a_container_within_is_stopped_by_itself() -> None:
    """The deaths of its children are its own; the large loose file around it has room for them."""
    charges = _charges(_died(1, 1, 2, 2, parent=INNER))
    assert charges.stop(INNER, 10) is not None
    assert charges.stop(LOOSE, 5_000_000) is None


def test_a_death_counts_once_for_each_thing_around() -> None:
    """The loose file is the parent of its own children."""
    assert _charges(_died(1, 2, 3)).stop(LOOSE, 10) is None


@pytest.mark.parametrize(
    ("deaths", "spent"),
    [(_died(1, seconds=60.0) + _died(2, seconds=40.0), {}), (_died(2, seconds=10.0), {LOOSE: 90.0})],
)
def test_seconds_of_deaths_and_of_finished_tasks_add_up(deaths: list[Death], spent: dict[uuid.UUID, float]) -> None:
    """Two deaths at the deadline may be enough."""
    stop = _charges(deaths, spent).stop(LOOSE, 10)
    assert stop is not None
    assert (stop.code, stop.reached) == (ExceptionCode.TIME_LIMIT, False)


def test_what_is_left_of_the_seconds() -> None:
    """Less what finished tasks and deaths took; on the way to the last place nobody looks at the clock."""
    assert _charges(_died(1, seconds=25.0), {LOOSE: 50.0}).seconds_left(LOOSE, 10) == 25.0
    assert _charges(_died(1, 1, 2, 2)).seconds_left(LOOSE, 10) == math.inf


def test_full_memory_leaves_room_for_half() -> None:
    """Of what the attempt had taken; only this task knows how its items filled the memory."""
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
    charges = of_items(LIMITS, TASK, deaths, {}, around)
    refused = [charges.refusal(_item(n)) for n in (1, 2, 3, 4)]
    assert [error and error.code for error in refused] == [
        ExceptionCode.TIMEOUT,
        ExceptionCode.TIMEOUT,
        ExceptionCode.DEATHS_LIMIT,
        None,
    ]
    assert of_items(LIMITS, ANOTHER, deaths, {}, around).refusal(_item(1)) is not None
