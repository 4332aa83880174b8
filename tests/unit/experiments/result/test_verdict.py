"""What a result may claim."""

from typing import Any

import pytest
from experiment_runs import a_run
from experiment_runs import points as points_of

from controller.labels.rules import CACHED, advice_on
from controller.observe.place_kind import caches_itself
from core.mounts import parse_mountinfo
from experiments.result.schema import CallTime, Knee
from experiments.result.verdict import labels_of, sentence
from experiments.result.verdict import limits_of as limits_of_any
from experiments.result.verdict import warnings_of as warnings_of_any
from experiments.workloads.discovery import ABOUT
from experiments.workloads.discovery.result import SHARE, NullUse, Point, PointSpec, Run
from experiments.workloads.discovery.wording import cached, warnings_of


def _points(*runs: Run) -> tuple[Point, ...]:
    return points_of({PointSpec(1, n, 4): [run] for n, run in enumerate(runs, 1)})


def limits_of(runs: list[Run]) -> tuple[str, ...]:
    return limits_of_any(ABOUT, runs)


def _line(kind: str, points: tuple[Point, ...], labels: tuple[str, ...], where: str, knee: Knee | None) -> str:
    return "; ".join(
        [*labels, sentence(ABOUT, kind, "workers", points, where=where, pace="", found=[knee] if knee else ())]
    )


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({}, 0),
        ({"null_elapsed_s": 10.0 / 1.31}, 0),
        ({"null_elapsed_s": 10.0 / 1.29}, 1),
        ({"null_elapsed_s": None, "worker_cpu": 0.80}, 0),
        ({"null_elapsed_s": None, "worker_cpu": 0.81}, 1),
        ({"null_elapsed_s": None, "run_queue_share": 0.10}, 0),
        ({"null_elapsed_s": None, "run_queue_share": 0.11, "call_time_s": 0.3}, 1),
        ({"null_elapsed_s": None, "run_queue_share": None}, 0),
        ({"null_elapsed_s": None, "worker_cpu": 0.9, "run_queue_share": 0.5, "call_time_s": 0.3}, 2),
        ({"null_elapsed_s": 12.0}, 1),
    ],
)
def test_each_bound_limits_on_its_own(changes: dict[str, Any], reasons: int) -> None:
    """GENERATOR-LIMITED at exactly the bounds of design §4, with a reason for each that is broken."""
    assert len(limits_of([a_run(10.0, **changes)])) == reasons


def test_with_a_pair_the_storage_share_decides_alone() -> None:
    """8.6 s against 3.1 s: two thirds are the storage's, though slots waited for a processor meanwhile."""
    slow = {"null_elapsed_s": 3.1, "worker_cpu": 0.9, "run_queue_share": 0.2}
    assert limits_of([a_run(8.6, **slow)]) == ()
    (point,) = points_of({PointSpec(1, 1, 4): [a_run(8.6, **slow), a_run(9.0, **slow), a_run(8.0, **slow)]})
    share = point.figures.get(SHARE)
    assert None not in (share.low, share.high)
    assert [round(value or 0, 3) for value in (share.low, share.median, share.high)] == [0.613, 0.64, 0.656]
    (shown,) = limits_of([a_run(10.0, null_elapsed_s=8.0, worker_cpu=0.1)])
    assert shown == "the storage share is 20 % (under 23 %)"


def test_waits_for_a_processor_limit_only_who_is_not_in_calls_anyway() -> None:
    """Without a pair: 0.2 s of waits for each second of calls say nothing where slots are in calls nearly always."""
    slow = {"null_elapsed_s": None, "run_queue_share": 0.2}  # slots were in tasks for 1 s
    assert limits_of([a_run(8.6, **slow, call_time_s=0.9, run_queue_s=0.18)]) == ()
    assert len(limits_of([a_run(8.6, **slow, call_time_s=0.6, run_queue_s=0.12)])) == 1
    time = CallTime(call_s=0.6, service_s=0.57, queue_s=None, processor_s=0.03, exact=False, dominated={})
    assert limits_of([a_run(8.6, **slow, call_time_s=0.6, run_queue_s=0.12, call_time=time)]) == ()


def test_one_odd_repeat_does_not_limit_a_point() -> None:
    unpaired = [a_run(worker_cpu=cpu, null_elapsed_s=None) for cpu in (0.9, 0.5, 0.5)]
    assert limits_of(unpaired) == ()
    assert limits_of([a_run(10.0, null_elapsed_s=null) for null in (9.0, 3.0, 3.0)]) == ()


def test_cached_is_three_times_all_caches() -> None:
    points = _points(a_run(discovered=3_000), a_run(discovered=9_000))
    assert not cached(points, 1_000)
    assert cached(points, 1_001)


def test_cached_counts_each_byte_once() -> None:
    def group(kind: str, copies: int) -> tuple[Point, ...]:
        reported = {"discovered_bytes": 3_000, "kind": kind, "databases": 2, "source_copies": copies}
        return _points(a_run(result=reported))

    assert cached(group("simultaneous", 1), 501)
    assert not cached(group("simultaneous", 1), 500)
    assert not cached(group("simultaneous", 2), 1_000)
    assert not cached(group("sharded", 1), 1_000)


def test_what_is_not_known_is_a_label_with_what_to_do() -> None:
    points = _points(a_run(null_elapsed_s=None), a_run(6.0))
    labels = labels_of(points, [None, None], cached=False, undeclared=True)
    assert labels == ("FILER CACHE UNDECLARED", "NO BASELINE at 1 of 2 points")
    undeclared, unpaired = advice_on(labels)
    assert undeclared.startswith("FILER CACHE UNDECLARED: ")
    assert "--filer-cache" in undeclared
    assert unpaired.startswith("NO BASELINE: ")
    assert labels_of(points[:1], [None], cached=False) == ("NO BASELINE",)


def test_every_label_states_what_to_do() -> None:
    points = _points(a_run(null_elapsed_s=9.5), a_run(null_elapsed_s=None))
    labels = labels_of(points, ["EMULATED FILER titan, scale 1/8"] * 2, cached=True, undeclared=True)
    assert len(advice_on(labels)) == len(labels) == 5
    assert advice_on(["latencies are closed-loop"]) == []


@pytest.mark.parametrize(
    ("kind", "source", "may"),
    [("ext4", "/dev/vda1", False), ("tmpfs", "tmpfs", False), ("nfs4", "filer:/v", True), ("fuse", "something", True)],
)
def test_a_filer_may_cache_where_storage_is_not_local(kind: str, source: str, may: bool) -> None:
    """Local storage has no cache but this host's; a type that nobody knows may be anything."""
    mounts = parse_mountinfo(f"20 1 0:5 / / rw - {kind} {source} rw\n")
    assert caches_itself("/somewhere", mounts) is may
    assert caches_itself("/somewhere", [])


def test_labels_come_before_any_figure() -> None:
    points = _points(a_run(null_elapsed_s=9.5), a_run(6.0))
    labels = labels_of(points, ["EMULATED FILER titan, scale 1/8"] * 2, cached=True)
    line = _line("scale-up", points, labels, "local storage (ext4)", None)
    assert line.startswith(
        f"EMULATED FILER titan, scale 1/8; {CACHED}; GENERATOR-LIMITED at 1 of 2 points; scale-up on"
    )
    assert "600.0 GB/hour discovered at 2 workers; 360.0 GB/hour discovered at 1 worker" in line


def test_groups_of_points_are_named_in_words() -> None:
    """Points on one database and on two: "on 1, 4" would say nothing."""
    points = points_of({PointSpec(d, w, 4): [a_run()] for d, w in ((1, 10), (1, 30), (2, 30))})
    line = _line("r1", points, (), "local storage (ext4)", None)
    assert "r1 on local storage (ext4): 1 database: " in line
    assert "; 2 databases: " in line


def test_a_factor_wants_five_repeats_and_a_difference() -> None:
    def points(*means: float) -> tuple[Point, ...]:
        return points_of({PointSpec(1, n, 4): [a_run(s + k / 10) for k in range(5)] for n, s in enumerate(means, 1)})

    line = _line("scale-up", points(10.0, 6.0), (), "local storage (ext4)", None)
    assert "2 workers, 1.65 x [1.59 – 1.70] that of 1" in line
    line = _line("scale-up", points(10.0, 10.0), (), "here", None)
    assert "2 workers, no difference from 1 worker: [0.97 – 1.03] x" in line


def test_a_clean_result_has_no_label() -> None:
    """Nothing stands before the sentence, and cached is its own label's first word otherwise."""
    points = _points(a_run(), a_run(5.0))
    assert labels_of(points, [None, None], cached=False) == ()
    assert labels_of(points, [None, None], cached=True) == (CACHED,)
    assert _line("scale-up", points, (), "network storage (nfs4)", None).startswith("scale-up on network storage")


def test_the_knee_states_what_broke() -> None:
    points = _points(a_run(), a_run(5.0))
    knee = Knee(bounds_us={"read": 1.0}, peak=1, knee=0, broken="read p99 5.00 ms over 1.00 ms at 2 workers")
    line = _line("knee", points, (), "x", knee)
    assert "peak 720.0 GB/hour discovered at 2 workers" in line
    assert "at 1 worker stays within all bounds" in line
    assert line.endswith("read p99 5.00 ms over 1.00 ms at 2 workers")
    none = Knee(bounds_us={}, peak=0, knee=None, broken="broke")
    assert "no load stays within the bounds: broke" in _line("knee", points, (), "x", none)


def test_each_setting_has_its_knee_in_the_first_line() -> None:
    runs = {PointSpec(1, n, 4, setting=f"fsync={policy}"): [a_run()] for policy in ("none", "file") for n in (1, 2)}
    knees = [Knee(bounds_us={}, peak=n + 1, knee=n, broken=None) for n in (0, 2)]
    line = sentence(ABOUT, "knee", "workers", points_of(runs), where="x", pace="", found=knees)
    assert line.startswith("knee on x: fsync=none: peak ")
    assert "; fsync=file: peak " in line


def test_warnings_say_what_is_missing() -> None:
    """Few repeats, short runs, no pair, lost records and runs that found different items are told; else nothing."""
    long = [a_run(700.0) for _ in range(5)]
    good = points_of({PointSpec(1, 1, 4): long})
    assert [*warnings_of_any(good, no_baseline=None), *warnings_of(good)] == []
    odd = a_run(5.0, null_elapsed_s=None, result={"discovered_bytes": 1, "items": 99, "calls_complete": False})
    null = NullUse(portions=2, held_bytes=1, discarded_bytes=1, items=1, discovered_bytes=1)
    points = points_of({PointSpec(1, 1, 4): [a_run(10.0, null=null)], PointSpec(1, 2, 4): [odd]}, 600.0)
    shown = "\n".join([*warnings_of_any(points, no_baseline="no memory"), *warnings_of(points)])
    for part in ("1 repeat a point", "10 min", "lower bound", "not find the same items"):
        assert part in shown
    assert "1 of 2 runs have no null baseline: no memory" in shown
    assert "null storage took up to 2 portions of under 60 s each" in shown
    assert "1 null baselines did not find the items" in shown
    assert "no run has a null baseline: no" in "".join(warnings_of_any(_points(odd), no_baseline="no memory"))
