"""A calibration as a network: nothing of the work is lost or made, however it is cut and dealt out."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UsageError
from core.filer import load_filer
from core.records import FINALISE_LIST, FINALISE_SHARES
from experiments.capacity.agreement import agreement
from experiments.capacity.assemble import Question, assemble
from experiments.capacity.calibration import Calibration, calibrate
from experiments.capacity.course import MOST_SIZES, PROCESSORS
from experiments.capacity.filer_load import LINK
from experiments.capacity.network import DATABASE, TASKS, Phase
from experiments.capacity.predict import Predictor, Span, network_of, runs
from experiments.capacity.reference import read_reference
from experiments.capacity.simulation import batched
from experiments.capacity.units import unit_sizes
from sql.recut import TASKS_A_SLOT, _parts

CALIBRATION: Calibration = calibrate(read_reference(), "the reference", filer_given=False)


def _moved(question: Question) -> float:
    """Seconds that all jobs ask of the link."""
    network = assemble(CALIBRATION, question, random.Random(1))
    return sum(_link(phase) for job in network.jobs for phase in job.phases)


def _link(phase: Phase) -> float:
    """Seconds that all units of a phase ask of it."""
    weights = phase.weights or (1.0,)
    return phase.demands.get(LINK, 0.0) * sum(weights) / len(weights) * phase.units


@given(
    workers=st.integers(1, 60),
    slots=st.integers(1, 4),
    databases=st.integers(1, 3),
    shard=st.booleans(),
    times=st.sampled_from([1.0, 3.0, 9.0]),
)
def test_the_same_bytes_go_over_the_link(workers: int, slots: int, databases: int, shard: bool, times: float) -> None:
    one = _moved(Question(workers=1, databases=1, slots=1))
    question = Question(workers=workers, databases=databases, slots=slots, shard=shard, times=times)
    expected = one * times * (1 if shard else databases)
    assert _moved(question) == pytest.approx(expected, rel=1e-6)


@given(slots=st.integers(1, 400), seed=st.integers(0, 1000), times=st.sampled_from([0.5, 1.0, 7.0]))
def test_units_are_cut_for_the_slots(slots: int, seed: int, times: float) -> None:
    for phase in CALIBRATION.phases:
        units, sizes = unit_sizes(
            phase,
            slots,
            random.Random(seed),
            items=CALIBRATION.items,
            discovered=CALIBRATION.discovered_bytes,
            bytes_share=0.2,
            times=times,
        )
        assert units == len(sizes)
        assert sum(sizes) == pytest.approx(len(sizes))
        assert min(sizes) >= 0.0
        if slots == 1 and times == 1.0 and phase.name != "finalise":
            assert sizes == phase.sizes


def test_more_slots_have_more_tasks_but_a_loose_file_stays_whole() -> None:
    expand = next(phase for phase in CALIBRATION.phases if phase.name == "expand")

    def cut(slots: int) -> tuple[float, ...]:
        return unit_sizes(
            expand,
            slots,
            random.Random(0),
            items=CALIBRATION.items,
            discovered=CALIBRATION.discovered_bytes,
            bytes_share=0.2,
            times=1.0,
        )[1]

    assert len(cut(1)) < len(cut(8)) <= len(cut(16))
    heaviest = max(0.8 * items / CALIBRATION.items for items, _ in expand.heaviest)
    assert max(cut(16)) / len(cut(16)) >= heaviest


@pytest.mark.parametrize("slots", [1, 3, 40])
def test_finalise_is_cut_as_the_ledger_cuts_it(slots: int) -> None:
    """Into parts of one share, once there are slots for them: the ledger's own numbers."""
    finalise = next(phase for phase in CALIBRATION.phases if phase.name == "finalise")
    units, _ = unit_sizes(
        dataclasses.replace(finalise, tasks=1, sizes=(1.0,)),
        slots,
        random.Random(0),
        items=CALIBRATION.items,
        discovered=CALIBRATION.discovered_bytes,
        bytes_share=0.2,
        times=1.0,
    )
    assert units == len(_parts({FINALISE_LIST: [*FINALISE_SHARES]}, TASKS_A_SLOT * slots))


@pytest.mark.parametrize(("streams", "tasks"), [(None, 6), (3, 6), (1, 2), (5, 10)])
def test_index_tasks_that_were_put_together_stay_so(streams: int | None, tasks: int) -> None:
    """As many for each stream, whatever the slots, or for each slot where there is no limit of streams; and the other way round."""
    phases = tuple(
        dataclasses.replace(phase, sizes=(1.0,) * 6) if phase.name == "index" else phase for phase in CALIBRATION.phases
    )
    measured = dataclasses.replace(CALIBRATION, phases=phases, index_streams=3, index_tasks=6)
    free = dataclasses.replace(measured, index_streams=None, index_tasks=2 * 2)  # by 2 workers of a slot

    def units(asked: int | None, measured: Calibration = measured) -> int:
        question = Question(workers=10, databases=1, slots=4, index_streams=asked)
        (job,) = assemble(measured, question, random.Random(0)).jobs
        return next(phase.units for phase in job.phases if phase.name == "index")

    assert units(streams) == tasks
    assert units(0) > 2 * tasks
    if streams is not None:
        assert units(streams, free) == 2 * streams


@pytest.mark.parametrize("shard", [False, True])
def test_a_data_set_of_any_size_takes_as_much_to_assemble(shard: bool) -> None:
    """Promise: 42 million tasks are told by a bounded number of sizes, with the bytes of all of them, also where they are put
    together for the simulation."""
    one, times = _moved(Question(workers=1, databases=1, slots=1)), 2_000_000.0
    question = Question(workers=30, databases=2, slots=2, shard=shard, times=times)
    assert _moved(question) == pytest.approx(one * times * (1 if shard else 2), rel=1e-3)
    network = assemble(CALIBRATION, question, random.Random(0))
    phases = [phase for job in network.jobs for phase in job.phases]
    assert max(phase.units for phase in phases) > 1_000_000
    assert max(len(phase.weights) for phase in phases) <= 2 * MOST_SIZES
    put_together = batched(network, 1_500)
    assert sum(_link(phase) for job in put_together.jobs for phase in job.phases) == pytest.approx(
        sum(map(_link, phases)), rel=1e-6
    )


def test_own_hosts_have_own_processors() -> None:
    shared = assemble(CALIBRATION, Question(workers=3, databases=2, slots=2, one_host=True), random.Random(0))
    own = assemble(CALIBRATION, Question(workers=3, databases=2, slots=2), random.Random(0))
    assert shared.own_processors is None
    assert PROCESSORS in {station.name for station in shared.stations}
    assert DATABASE not in shared.jobs[0].phases[1].demands
    assert own.own_processors is not None
    assert DATABASE in own.jobs[0].phases[1].demands


@pytest.mark.parametrize(("workers", "databases", "slots"), [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_nobody_at_work_is_refused(workers: int, databases: int, slots: int) -> None:
    with pytest.raises(UsageError, match="a prediction needs at least 1"):
        Question(workers=workers, databases=databases, slots=slots)


def test_the_calibrated_points_come_back() -> None:
    """The model is not fitted to elapsed times, so that it gives them again says that nothing is missing."""
    predictor = Predictor(CALIBRATION, filer_changed=False)
    for point in CALIBRATION.measured:
        found = predictor(Question(workers=point.workers, databases=1, slots=1, one_host=True))
        assert found.elapsed_s.value == pytest.approx(point.elapsed_s[0], rel=0.05)
        assert found.elapsed_s.holds(point.elapsed_s[0])


def test_the_same_question_has_the_same_answer() -> None:
    question = Question(workers=5, databases=2, slots=2)
    assert runs(CALIBRATION, question, 2) == runs(CALIBRATION, question, 2)


def test_the_further_from_the_calibration_the_wider() -> None:
    predictor = Predictor(CALIBRATION, filer_changed=False)
    spans = [predictor(Question(workers=n, databases=1, slots=1, times=20.0), 1).elapsed_s for n in (2, 64)]
    assert _width(spans[0]) < _width(spans[1])


def test_the_more_data_the_wider() -> None:
    """Or the less: files of another data set are not those that were measured."""
    predictor = Predictor(CALIBRATION, filer_changed=False)
    widths = [
        _width(predictor(Question(workers=2, databases=1, slots=1, times=times), 1).elapsed_s)
        for times in (1.0, 8.0, 64.0, 1 / 64)
    ]
    assert widths[0] < widths[1] < widths[2] == pytest.approx(widths[3])


def _width(span: Span) -> float:
    assert span.interval is not None
    return span.interval[1] / span.interval[0]


def test_what_the_page_says_no_prediction_has() -> None:
    """docs/capacity-model.md: a queue manager and databases on the filer are in the simulation, and `predict` sets neither."""
    found = assemble(CALIBRATION, Question(workers=3, databases=2, slots=2), random.Random(0))
    assert (found.dispatch_s, found.window) == (0.0, None)
    assert not found.databases_on_filer
    page = (Path(__file__).parents[4] / "docs" / "capacity-model.md").read_text()
    assert "sent too slowly is never found" in page
    assert page.index("## What it leaves out") < page.index("- The queue manager")


def test_a_faster_filer_and_a_full_one() -> None:
    """A hundred workers on titan are held back by it; on a filer far above them they are not."""
    predictor = Predictor(CALIBRATION, filer_changed=True)
    titan, flash = load_filer("titan"), load_filer("nas-10g")
    slow = predictor(Question(workers=100, databases=1, slots=1, filer=titan, times=20.0), 1)
    fast = predictor(Question(workers=100, databases=4, slots=1, filer=flash, times=20.0), 1)
    assert slow.limit.startswith("filer")
    assert fast.gb_per_hour_discovered.value > 4 * slow.gb_per_hour_discovered.value


def test_few_tasks_are_named_as_the_limit() -> None:
    found = Predictor(CALIBRATION, filer_changed=True)(
        Question(workers=200, databases=1, slots=1, filer=load_filer("nas-10g")), 3
    )
    assert found.limit == TASKS


@pytest.mark.parametrize("databases", [1, 2])
def test_simulation_and_mean_values_agree(databases: int) -> None:
    """Within 5 %, on the pipeline's own network with what the analysis cannot have taken out."""
    question = Question(workers=8, databases=databases, slots=1, one_host=True, times=50.0)
    found = agreement(network_of(CALIBRATION, question, 0))
    assert found is not None
    assert abs(found.apart) < 0.05
