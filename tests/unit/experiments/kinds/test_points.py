"""The order of points, the search for the knee, and what is derived from a run's tasks and samples."""

import dataclasses
from collections.abc import Sequence

import pytest
from experiment_runs import a_run, latency
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import UsageError
from experiments.kinds import Measure, Plan, checked, kind_of, knee, parse_bounds, shuffled, sweep
from experiments.result.schema import At
from experiments.workloads.discovery import ABOUT
from experiments.workloads.discovery.figures import Times, activity, first_and_last_done, used_between
from experiments.workloads.discovery.observed import Samples
from experiments.workloads.discovery.result import PointSpec, Run, merge_spans


def test_every_repeat_is_a_round_of_all_points_in_its_own_order() -> None:
    points = [PointSpec(1, workers, 4) for workers in range(1, 7)]
    order = shuffled(points, 3, seed=5)
    rounds = [[point for point, repeat in order if repeat == n] for n in range(3)]
    assert all(sorted(one) == points for one in rounds)
    assert [repeat for _, repeat in order] == [0] * 6 + [1] * 6 + [2] * 6
    assert order == shuffled(points, 3, seed=5) != shuffled(points, 3, seed=6)
    assert rounds[0] != rounds[1]


def _points(plan: Plan) -> Sequence[At]:
    return kind_of(plan, ABOUT).points()


def test_the_points_are_what_was_asked_for() -> None:
    up = sweep([PointSpec(1, 1, 2)], "workers", [4, 1, 4], repeats=1, seed=1)
    assert _points(up) == (PointSpec(1, 1, 2), PointSpec(1, 4, 2))
    out = sweep([PointSpec(1, 3, 4)], "databases", [2, 1], repeats=1, seed=1)
    assert _points(out) == (PointSpec(1, 3, 4), PointSpec(2, 3, 4))
    both = [PointSpec(1, 1, 2, setting=setting) for setting in ("fsync=none", "fsync=file")]
    varied = sweep(both, "workers", [1, 4], repeats=1, seed=1, name="scale-up")
    assert _points(varied) == tuple(dataclasses.replace(base, workers=n) for base in both for n in (1, 4))
    assert (varied.kind, varied.axis) == ("scale-up", "workers")
    slots = sweep([PointSpec(2, 1, 1), PointSpec(1, 1, 1)], "slots", [4, 1], repeats=1, seed=1)
    assert _points(slots) == tuple(PointSpec(*load) for load in ((2, 1, 1), (2, 1, 4), (1, 1, 1), (1, 1, 4)))
    with pytest.raises(UsageError, match="--databases"):
        checked([0, 1], "--databases")


def test_bounds_are_read_in_their_units() -> None:
    assert parse_bounds("read=20ms, write=0.5s,stat=7us") == {"read": 20_000.0, "write": 500_000.0, "stat": 7.0}
    for wrong in ("", "read", "read=20", "read=0ms", "reed=20ms", "read=20min"):
        with pytest.raises(UsageError, match="--max-p99"):
            parse_bounds(wrong)


def _storage(breaks_at: int) -> Measure:
    """A storage whose reads take 1 ms up to some load and 50 ms beyond."""

    def measure(spec: At, repeat: int) -> Run:
        slow = spec.workers >= breaks_at
        return a_run(10.0 / min(spec.workers, breaks_at), latency={"read": latency(50_000.0 if slow else 1_000.0)})

    return measure


@given(st.integers(1, 70), st.integers(1, 64))
@settings(max_examples=80, deadline=None)
def test_the_search_finds_the_knee_wherever_it_is(breaks_at: int, most: int) -> None:
    plan = knee([PointSpec(1, 1, 1)], "workers", {"read": 20_000.0}, most=most, repeats=1)
    found = kind_of(plan, ABOUT).run(_storage(breaks_at))
    order = [spec for spec in found.runs if isinstance(spec, PointSpec)]
    assert order == sorted(order)
    (one,) = found.knees
    if breaks_at == 1:
        assert one.knee is None
    else:
        assert one.knee is not None
        assert order[one.knee].workers == min(breaks_at - 1, most)
    plural = "s" if breaks_at > 1 else ""
    if breaks_at <= most:
        assert one.broken == f"read p99 50.00 ms over 20.00 ms at {breaks_at} worker{plural}"
    else:
        assert one.broken is None
    assert len(order) <= 15
    assert order[one.peak].workers == max((s.workers for s in order if s.workers <= breaks_at), default=1)


def test_each_setting_is_searched_for_its_own_knee() -> None:
    """One after the other: a knee names points of its own setting."""
    breaks = {"fsync=none": 6, "fsync=file": 3}
    starts = [PointSpec(1, 1, 1, setting=setting) for setting in breaks]

    def measure(spec: At, repeat: int) -> Run:
        assert isinstance(spec, PointSpec)
        return _storage(breaks[spec.setting or ""])(spec, repeat)

    kind = kind_of(knee(starts, "workers", {"read": 20_000.0}, most=8, repeats=2), ABOUT)
    assert kind.points() == [dataclasses.replace(start, workers=n) for start in starts for n in (1, 8)]
    found = kind.run(measure)
    points = list(found.runs)
    knees = [points[one.knee] for one in found.knees if one.knee is not None]
    assert knees == [PointSpec(1, at - 1, 1, setting=setting) for setting, at in breaks.items()]
    assert [found.knees[n].broken is not None for n in (0, 1)] == [True, True]


def test_neighbouring_tasks_of_a_slot_are_one_span() -> None:
    spans = [
        ("w1", 0, "expand", 1.0, 2.0),
        ("w1", 0, "walk", 0.0, 1.0),
        ("w1", 0, "expand", 2.05, 3.0),
        ("w1", 0, "expand", 4.0, 5.0),
        ("w1", 1, "expand", 1.0, 2.0),
    ]
    assert merge_spans(spans, gap=0.1) == (
        ("w1", 0, "walk", 0.0, 1.0),
        ("w1", 0, "expand", 1.0, 3.0),
        ("w1", 0, "expand", 4.0, 5.0),
        ("w1", 1, "expand", 1.0, 2.0),
    )


def test_first_and_last_done_show_a_straggler() -> None:
    spans = [
        ("w1", 0, "index", 0.0, 5.0),
        ("w1", 0, "finalise", 9.0, 10.0),
        ("w1", 1, "index", 0.0, 2.0),
        ("w1", 1, "index", 2.0, 9.0),
    ]
    assert first_and_last_done(spans) == (5.0, 9.0)
    assert first_and_last_done([]) == (None, None)


def test_counters_are_read_between_samples_by_proportion() -> None:
    readings = [(0.0, 0.0, 0.0), (10.0, 20.0, 5.0), (20.0, 20.0, 5.0)]
    assert used_between(readings, Times(5.0, 15.0), 0.0) == (10.0, 2.5)
    assert used_between(readings, Times(105.0, 115.0), 100.0) == (10.0, 2.5)


def test_activity_is_the_growth_between_samples() -> None:
    """Counters of two databases become what happened since the sample before, inside the run only."""
    samples = Samples(
        activity={"db1": [(9.0, 5, 50), (11.0, 7, 90), (12.0, 8, 90)], "db2": [(10.5, 0, 0), (11.0, 1, 2)]}
    )
    assert activity(samples, Times(10.0, 12.5)) == (
        (1.0, {"db1": {"commits": 2, "rows": 40}, "db2": {"commits": 1, "rows": 2}}),
        (2.0, {"db1": {"commits": 1, "rows": 0}}),
    )
