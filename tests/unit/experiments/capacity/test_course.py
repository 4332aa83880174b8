"""What is read out of a run of the order of its tasks, of what they ask for by and by, and of the end of a phase."""

from __future__ import annotations

import dataclasses

import pytest
from experiment_runs import a_run

from core.filer import load_filer
from core.filer.load import site_source
from experiments.capacity.course import MOST_SIZES, OWN, course, ending, queued, sizes
from experiments.capacity.filer_load import DATA, LINK, METADATA
from experiments.capacity.network import DATABASE
from experiments.workloads.discovery.phase_use import MOST_TASKS, CallUse, PhaseUse, thinned
from experiments.workloads.discovery.result import FilerSecond, Run, TaskSpan


def _use(seconds: list[float], **changes: object) -> PhaseUse:
    """Of tasks that were claimed in this order."""
    order = sorted((one, place) for place, one in enumerate(seconds))
    kept = thinned(order, MOST_TASKS)
    use = PhaseUse(
        database="db1", phase="expand", start_s=0.0, elapsed_s=100.0, tasks=len(seconds), busy_s=sum(seconds),
        task_s=tuple(one for one, _ in kept), calls={}, cpu_s={}, task_claims=tuple(place for _, place in kept),
    )  # fmt: skip
    return dataclasses.replace(use, **changes)  # type: ignore[arg-type]


def _observed(filer: list[FilerSecond], tasks: list[TaskSpan]) -> Run:
    base = a_run()
    return dataclasses.replace(base, series=dataclasses.replace(base.series, filer=tuple(filer), tasks=tuple(tasks)))


def _looks(until: int) -> list[FilerSecond]:
    """Metadata is busy for the first half of a minute, data for the second, a host throughout."""

    def look(at: int) -> dict[str, dict[str, float]]:
        busy = {"metadata": 0.8 if at <= until / 2 else 0.0, "data": 0.0 if at <= until / 2 else 0.5, "host 1": 0.1}
        return {name: {"utilisation": share} for name, share in busy.items()}

    return [(float(at), look(at)) for at in range(until + 1)]


def test_a_task_that_was_kept_for_several_is_as_long_as_it_was() -> None:
    """Of 2,000 tasks 400 are kept: the heaviest is still one of 2,000, and 200 times the mean one."""
    seconds = [1.0 + n / 2_000 for n in range(1_999)] + [300.0]
    found = sizes(_use(seconds))
    mean = sum(seconds) / len(seconds)
    assert len(found) == 2_000
    assert sum(found) == pytest.approx(2_000)
    assert max(found) == pytest.approx(300.0 / mean, rel=0.25)  # its neighbours are thought to rise to it
    assert sorted(found)[1_000] == pytest.approx(1.5 / mean, rel=0.25)


def test_tasks_stand_in_the_order_of_their_claims() -> None:
    """And of an older result, that has none, the largest first."""
    use = _use([2.0, 4.0, 1.0, 1.0])
    assert sizes(use) == (1.0, 2.0, 0.5, 0.5)
    assert sizes(dataclasses.replace(use, task_claims=())) == (2.0, 1.0, 0.5, 0.5)


def test_of_very_many_tasks_so_many_are_known() -> None:
    assert len(sizes(dataclasses.replace(_use([1.0, 2.0]), tasks=10 * MOST_SIZES))) == MOST_SIZES


def test_what_a_phase_asks_for_changes_with_its_course() -> None:
    """By parts of the slots' time, each over the mean: the sum of all is what it asks for in all."""
    site = load_filer(site_source("r1"))
    assert site is not None
    found = course(_observed(_looks(60), [("w1", 0, "expand", 0.0, 60.0)]), _use([60.0], elapsed_s=60.0), site.site)
    assert set(found) == {METADATA, DATA, OWN}
    assert not {LINK, DATABASE} & set(found)  # nothing was asked of these
    parts = len(found[METADATA])
    assert parts == 20
    assert found[METADATA] == pytest.approx((2.0,) * 10 + (0.0,) * 10, abs=0.01)
    assert found[DATA] == pytest.approx((0.0,) * 10 + (2.0,) * 10, abs=0.01)
    assert found[OWN] == pytest.approx((1.0,) * 20, abs=0.01)


def test_a_part_is_one_of_the_slots_time_and_not_of_the_clocks() -> None:
    """With three slots in the first half and one in the second, half of the work was over after a third of the time."""
    spans: list[TaskSpan] = [("w1", n, "expand", 0.0, 60.0 if n == 0 else 30.0) for n in range(3)]
    found = course(_observed(_looks(60), spans), _use([60.0, 30.0, 30.0], elapsed_s=60.0), None)
    zero = sum(share < 0.01 for share in found[METADATA])
    assert zero == pytest.approx(len(found[METADATA]) / 4, abs=1)


def test_of_a_few_samples_no_course_is_told() -> None:
    assert course(_observed(_looks(4), []), _use([4.0], elapsed_s=4.0), None) == {}
    assert course(_observed([], []), _use([60.0]), None) == {}


def test_how_long_slots_had_nothing_more_to_do_is_told_from_gaps() -> None:
    """From each slot's own last task to the end of the phase; another phase's are not looked at."""
    spans: list[TaskSpan] = [
        ("w1", 0, "expand", 0.0, 8.0), ("w1", 0, "expand", 9.0, 10.0), ("w1", 1, "expand", 0.0, 7.0), ("w1", 0, "index", 11.0, 30.0),
    ]  # fmt: skip
    assert ending(_observed([], spans), _use([10.0])) == 3.0
    assert ending(_observed([], []), _use([10.0])) == 0.0


def test_calls_waited_in_the_phase_that_samples_saw_them_wait_in() -> None:
    """And not in each as it has calls; where no sample tells, they are all there is to go by. A host's queue is none of the filer's."""
    calls = {"read": CallUse(calls=100, bytes=0, seconds=1.0)}
    phases = (
        _use([10.0], elapsed_s=10.0, calls=calls),
        _use([10.0], start_s=10.0, elapsed_s=10.0, phase="index", calls=calls),
    )
    counted = {name: {"mean_wait_us": 1_000.0, "calls": 2_000} for name in ("data", "host 1")}
    looks: list[FilerSecond] = [
        (at + 0.5, {"data": {"utilisation": 0.5, "wait_us": 0.0 if at < 10 else 9_000.0}}) for at in range(20)
    ]
    told = dataclasses.replace(_observed(looks, []), phases=phases, result={"filer": {"stations": counted}})
    assert queued(told) == pytest.approx([0.0, 2.0])
    blind = dataclasses.replace(told, series=dataclasses.replace(told.series, filer=()))
    assert queued(blind) == pytest.approx([1.0, 1.0])
