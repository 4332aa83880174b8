"""Which intervals of a discovery are judged for steadiness, and by what."""

import dataclasses
from collections.abc import Callable

import pytest
from result_packages import START, job

from core.operations import Op
from experiments.workloads.discovery.figures import steadiness, times_of
from experiments.workloads.discovery.observed import JobTables

SECONDS = 160.0  # 40 a phase


def changed(change: Callable[[dict[str, object]], dict[str, object]]) -> JobTables:
    """Every row of calls through `change`."""
    whole = job(SECONDS)
    table = whole.tables["call_seconds"]
    rows = tuple(tuple(change(dict(zip(table.columns, row, strict=True))).values()) for row in table.rows)
    return dataclasses.replace(whole, tables=whole.tables | {"call_seconds": dataclasses.replace(table, rows=rows)})  # type: ignore[arg-type]


def late(row: dict[str, object]) -> bool:
    """In the second half of its phase."""
    second = row["second"]
    assert isinstance(second, int)
    return (second - START) % 40 >= 20


def test_each_phase_is_judged_by_itself() -> None:
    whole = job(SECONDS)
    found = steadiness([whole], times_of([whole]))
    assert [(one.what, one.start_s, one.seconds, one.steady) for one in found] == [
        (phase, 40.0 * number + 4, 32.0, True) for number, phase in enumerate(("walk", "expand", "index", "finalise"))
    ]
    spans = whole.tables["phase_spans"]
    short = dataclasses.replace(spans, rows=(("walk", START, START + 15, 0.0), *spans.rows[1:]))
    cut = dataclasses.replace(whole, tables=whole.tables | {"phase_spans": short})
    assert [one.what for one in steadiness([cut], times_of([cut]))] == ["expand", "index", "finalise"]
    both = steadiness([whole, whole], times_of([whole, whole]))
    assert [one.what for one in both][:1] == ["db1 walk"]


def test_a_storage_that_slows_down_in_a_phase_is_found() -> None:
    """Half the calls in the second half of index: that phase drifts, and no other."""
    slower = changed(lambda row: row | {"calls": 5} if row["phase"] == "index" and late(row) else row)
    found = steadiness([slower], times_of([slower]))
    assert [one.what for one in found if not one.steady] == ["index"]
    (drift,) = [one.drift for one in found if one.what == "index"]
    assert drift < -0.4


def test_another_mix_of_calls_is_no_drift() -> None:
    """Ten reads of 1 ms a second, then five writes of 2 ms: as much is done, in half as many calls."""

    def mixed(row: dict[str, object]) -> dict[str, object]:
        of_late = row["op"] == Op.WRITE.value
        calls = (5 if of_late else 10) if late(row) == of_late else 0
        return row | {"calls": calls, "total_ns": calls * (2_000_000 if of_late else 1_000_000)}

    table = changed(mixed)
    found = steadiness([table], times_of([table]))
    assert all(one.steady for one in found)
    assert found[0].rate == pytest.approx(7.5)  # of calls of the mean weight
