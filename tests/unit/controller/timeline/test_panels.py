"""controller.timeline: what becomes of counters of mounts, devices, arrays and stations."""

import itertools
import math
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_records import running_job

from controller.timeline.job_status import JobStatus
from controller.timeline.model import Panel, device_names, host_names, worker_names
from controller.timeline.panels import (
    QUEUE_HOLDS,
    Work,
    array_panels,
    block_panels,
    emulated_panels,
    read_share_panel,
    space_panels,
    wire_panels,
    work_panels,
    worker_panels,
)
from controller.timeline.read import pauses_of
from controller.timeline.readings import Axis, Counter, added, axis_of, gauge, ratio
from monitoring.aggregate import STEPS

AXIS = Axis(100.5, 106, 1)


def readings(values: Any) -> list[tuple[int, dict[str, Any]]]:
    return [(99 + n, values(n)) for n in range(8)]


def lines(panel: Panel) -> dict[str, list[float | None]]:
    return {series.id: list(series.values) for series in panel.series}


def wire(n: int) -> dict[str, Any]:
    read = {"ops": 10 * n, "queue_ms": 5 * n, "rtt_ms": 20 * n, "execute_ms": 30 * n}
    ops = {"READ": read, "WRITE": read | {"ops": 0}, "NULL": dict.fromkeys(read, 1)}
    return {"type": "nfs4", "version": "4.2", "storage": True, "ops": ops, "read_bytes": 250 * n}


@pytest.mark.parametrize(("produced", "word"), [(False, "discovered"), (True, "written")])
def test_what_a_production_writes_is_not_called_discovered(produced: bool, word: str) -> None:
    reported = readings(lambda n: {"raw_bytes": 0, "discovered_bytes": 1_000_000 * n, "elapsed_s": float(n)})
    volumes, items, _ = work_panels(AXIS, [Work(AXIS, reported, 100.5, over=True)], produced=produced)
    labels = [series.label for series in volumes.series]
    assert [label for label in labels if not label.startswith("raw")] == [f"{word}, now", f"{word}, since start"]
    assert (len(labels) == 2) is (len(items.series) == 1) is produced
    assert (lines(volumes)["discovered_now"][-1] or 0) > 0


def test_wire_counters_become_rates_and_mean_times() -> None:
    rates, times = wire_panels(AXIS, {"boot:filer:0:52": readings(wire)}, {})
    assert (rates.id, rates.kind, rates.title) == ("wire_1", "stacked", "Wire ops/second, filer (nfs4 4.2)")
    assert lines(rates) == {"READ": [10.0] * 6}
    assert (times.id, times.unit) == ("wire_1_ms", "ms")
    assert lines(times) == {"queue_ms": [1.0] * 6, "rtt_ms": [4.0] * 6, "execute_ms": [6.0] * 6}


def test_wire_read_share_counts_only_mounts_under_the_storage_root() -> None:
    other = readings(lambda n: wire(n) | {"storage": False})
    read: list[float | None] = [1000.0, 500.0, 0.0, None, 1000.0, 250.0]
    panel = read_share_panel(AXIS, {"a": readings(wire), "b": other}, read)
    assert panel is not None
    assert lines(panel) == {"share": [0.25, 0.5, None, None, 0.25, 1.0]}
    assert read_share_panel(AXIS, {"b": other}, read) is None


def test_block_devices_arrays_and_stations() -> None:
    moved, queue = block_panels(
        AXIS,
        {"boot:sda": readings(lambda n: {"read_bytes": 2_000_000 * n, "write_bytes": 0, "weighted_ms": 1500 * n})},
        {},
    )
    assert lines(moved) == {"read_bytes": [2.0] * 6, "write_bytes": [0.0] * 6}
    assert lines(queue) == {"depth": [1.5] * 6}
    (array,) = array_panels(AXIS, {"netapp": [(101, {"iops": 10}), (103, {"iops": 30, "note": "x"})]})
    assert lines(array)["iops"] == [None, 10.0, None, 30.0, None, None]


def test_space_and_inodes_of_a_file_system() -> None:
    ext4 = {"bytes": 100, "bytes_free": 40, "inodes": 9, "inodes_free": 8}
    whole = [("boot:sda", [(101, ext4), (103, ext4 | {"bytes_free": 30})]), ("boot:nas", [(101, ext4 | {"inodes": 0})])]
    space, inodes, other = space_panels(AXIS, dict(whole), {})
    assert (space.id, space.kind, space.unit) == ("space_1", "stacked", "B")
    assert lines(space) == {
        "used": [None, 60.0, 60.0, 70.0, 70.0, 70.0],  # a second that was missed is no hole
        "free": [None, 40.0, 40.0, 30.0, 30.0, 30.0],
    }
    assert (inodes.id, lines(inodes)["used"][1]) == ("space_1_inodes", 1.0)
    assert (other.id, other.title) == ("space_2", "Space of nas")


def test_stations_of_an_emulated_filer() -> None:
    station = {"servers": 2, "calls": 0, "busy_s": 0.0, "waited_s": 0.0}
    busy, wait = emulated_panels(
        AXIS,
        {
            "small": readings(
                lambda n: {"station": {"data": station | {"calls": 50 * n, "busy_s": n, "waited_s": 0.1 * n}}}
            )
        },
    )
    assert lines(busy) == {"data": [0.5] * 6}
    assert lines(wait)["data"] == pytest.approx([2.0] * 6)
    assert (busy.id, wait.id, wait.unit) == ("emulated_1", "emulated_1_wait", "ms")


START = 1_000_003.4

gaps = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 1_000)), min_size=2, max_size=60)
steps = st.sampled_from(STEPS[:4])


def readings_of_counters(parts: list[tuple[int, int]]) -> list[tuple[int, float]]:
    """A counter that never falls, read at irregular seconds from the start's on."""
    seconds = itertools.accumulate((gap for gap, _ in parts), initial=math.floor(START) - 1)
    values = itertools.accumulate((growth for _, growth in parts), initial=0)
    return [(second, float(value)) for second, value in zip(seconds, values, strict=True)]


def axis_over(found: list[tuple[int, float]], step: int) -> Axis:
    return Axis(START, found[-1][0] + 1, step)


@given(gaps, steps)
def test_growth_over_all_buckets_is_the_growth_of_the_counter(parts: list[tuple[int, int]], step: int) -> None:
    found = readings_of_counters(parts)
    axis = axis_over(found, step)
    rates = Counter(found).rates(axis.edges)
    widths = [high - low for low, high in itertools.pairwise(axis.edges)]
    assert sum((rate or 0.0) * width for rate, width in zip(rates, widths, strict=True)) == pytest.approx(
        found[-1][1] - found[0][1], rel=1e-9, abs=1e-6
    )


@given(gaps, steps)
def test_no_rate_is_beyond_what_was_read(parts: list[tuple[int, int]], step: int) -> None:
    found = readings_of_counters(parts)
    read = [(b - a) / (late - early) for (early, a), (late, b) in itertools.pairwise(found)]
    for rate in Counter(found).rates(axis_over(found, step).edges):
        if rate is not None:
            assert min(read) - 1e-6 <= rate <= max(read) + 1e-6


@given(gaps, steps, st.integers(0, 600))
def test_time_only_goes_forward_and_an_increment_is_the_end_of_the_whole(
    parts: list[tuple[int, int]], step: int, since: int
) -> None:
    found = readings_of_counters(parts)
    whole = axis_over(found, step)
    assert whole.t[0] == 0.0
    assert all(early < late for early, late in itertools.pairwise(whole.t))
    skipped = Axis(START, whole.end, step, min(since // step, len(whole.t)))
    assert skipped.t == whole.t[skipped.skipped :]
    rates = Counter(found).rates
    assert rates(skipped.edges) == rates(whole.edges)[skipped.skipped :]


@given(st.integers(0, 500_000), st.integers(10, 2_000), st.none() | st.floats(0, 500_000))
def test_an_axis_has_at_most_the_points_asked_for(seconds: int, points: int, since: float | None) -> None:
    """Short runs are drawn second by second, long ones in steps that call records are stored in."""
    axis = axis_of(START, START + seconds, None, points, since)
    assert len(axis.t) <= points or axis.step == STEPS[-1]
    assert axis.step in STEPS
    if since is not None:
        assert len(axis.edges) == 1 or axis.edges[1] - START > since


def test_nothing_is_reported_of_time_without_readings() -> None:
    rates = Counter([(12, 5.0), (14, 9.0)]).rates([10, 12, 13, 14, 15, 20, 25])
    assert rates == [None, None, 2.0, 2.0, None, None]


def test_a_counter_that_begins_again_does_not_count_backwards() -> None:
    rates = Counter([(0, 100.0), (1, 110.0), (2, 3.0), (3, 5.0)]).rates([1, 2, 3, 4])
    assert rates == [10.0, None, 2.0]


def test_late_calls_belong_to_the_nearest_bucket() -> None:
    """Frames of a job's last second may carry a later second; their calls are not lost."""
    axis = Axis(START, math.floor(START) + 10, 3)
    assert axis.bucket(math.floor(START) - 5) == 0
    assert axis.bucket(math.floor(START) + 50) == len(axis.t) - 1


def test_series_are_added_and_divided_where_they_are_known() -> None:
    assert added([[1.0, None, None], [2.0, 3.0, None]]) == [3.0, 3.0, None]
    assert ratio([1.0, None, 1.0, 0.0], [2.0, 1.0, 0.0, None]) == [0.5, None, None, None]


def test_growth_between_any_two_moments() -> None:
    """Evenly between readings, which may count as taken in the middle of their second; nothing outside them, and
    nothing across a counter that began anew."""
    seen = Counter([(10, 100), (20, 200), (21, 260)], taken=0.5)
    assert seen.grown(15.5, 16.5) == pytest.approx((10, 1))
    assert seen.grown(20.5, 21.0) == pytest.approx((30, 0.5))
    assert seen.grown(0, 100) == pytest.approx((160, 11))
    assert seen.grown(50, 60) == seen.grown(0, 5) == Counter([]).grown(0, 10) == (0.0, 0.0)
    assert Counter([(1, 500), (2, 600), (3, 40), (4, 50)]).grown(0, 10) == pytest.approx((110, 2))


SECONDS = Axis(100.5, 106, 1)


def test_means_within_buckets_and_nothing_where_nothing_was_read() -> None:
    assert gauge(SECONDS, [(99, 7.0), (101, 1.0), (103, 3.0), (106, 9.0)]) == [None, 1.0, None, 3.0, None, None]
    assert gauge(Axis(100.0, 106, 2), [(100, 1.0), (101, 3.0), (105, 5.0)]) == [2.0, None, 5.0]


def test_a_reading_holds_for_a_while() -> None:
    assert gauge(SECONDS, [(99, 7.0), (103, 3.0)], holds=2.0) == [7.0, 7.0, None, 3.0, 3.0, 3.0]
    late = Axis(100.5, 106, 1, skipped=4)
    assert gauge(late, [(99, 7.0), (103, 3.0)], holds=2.0) == [3.0, 3.0]
    assert gauge(SECONDS, [], holds=9.0) == [None] * 6
    assert gauge(SECONDS, [(100, 7.0)], holds=9.0, stops=[(101.9, 104.0)]) == [7.0, 7.0, None, None, 7.0, 7.0]


@pytest.mark.parametrize("every", [1, 17])
def test_a_queue_that_is_looked_at_seldom_is_drawn_without_holes(every: int) -> None:
    """With a million tasks that is every 17 seconds."""
    drawn = gauge(Axis(0.0, 100, 1), [(second, 5.0) for second in range(0, 100, every)], holds=QUEUE_HOLDS)
    assert drawn == [5.0] * 100


_BEGUN, _SLOTS = 1_000_000, 4


@given(st.lists(st.floats(0, 0.999), min_size=3, max_size=12))
def test_no_more_slots_are_busy_than_there_are(taken: list[float]) -> None:
    """All of them all the time, looked at once a second but at any moment of it: neighbouring looks lie up to two seconds apart."""
    moments = [_BEGUN + second + at for second, at in enumerate(taken)]
    readings = [
        (int(moment), {"busy_s": _SLOTS * (moment - _BEGUN), "taken": moment - int(moment)}) for moment in moments
    ]
    axis = Axis(start=_BEGUN, end=_BEGUN + len(taken), step=1)
    slots = next(panel for panel in worker_panels(axis, {"w1": readings}) if panel.id == "slots")
    known = [point for point in slots.series[0].values if point is not None]
    assert known
    assert all(abs(point - _SLOTS) < 1e-3 for point in known)


def test_a_device_of_the_only_host_has_its_own_name_alone() -> None:
    sources = ["b6d6a1e6:vda", "b6d6a1e6:/dev/vda:254:0", "b6d6a1e6:10.0.0.7:/export:0:52"]
    assert list(device_names(sources, {}).values()) == ["vda", "/dev/vda", "10.0.0.7:/export"]


def test_devices_of_several_hosts_name_their_host() -> None:
    """By its host name where a worker reported it, else by the source."""
    found = device_names(["aaaaaaaa:sda", "bbbbbbbb:sda"], {"aaaaaaaa": "rack1"})
    assert list(found.values()) == ["sda on rack1", "sda on bbbbbbbb"]


def test_two_devices_never_share_a_name() -> None:
    found = device_names(["b:tmpfs:0:51", "b:tmpfs:0:52"], {})
    assert list(found.values()) == ["tmpfs:0:51", "tmpfs:0:52"]


def test_workers_are_numbered_where_their_names_are_random() -> None:
    names = ["3f2a1b9c0d1e-1", "4a2a1b9c0d1e-1", "rack1-w2", "w12"]
    assert list(worker_names(names).values()) == ["worker 1 (3f2a1b)", "worker 2 (4a2a1b)", "rack1-w2", "worker 12"]


def test_host_names_come_from_the_workers() -> None:
    workers = {"w1": [(1, {"host": "b", "host_name": "rack1"})], "w2": [(1, {"host": "c"})]}
    assert host_names(workers) == {"b": "rack1"}


def status(
    *pauses: tuple[str, float, float | None], started: float | None = 100.0, finished: float | None = None
) -> Any:
    rows = [SimpleNamespace(state=s, reason=f"why {s}", started=a, finished=b) for s, a, b in pauses]
    return JobStatus(
        job=running_job(),
        started=started,
        finished=finished,
        now=999.0,
        phases=[],
        exceptions={},
        calls={},
        pauses=rows,
    )


PAUSED, LASTING = ("paused", 110.0, 130.0), ("paused", 150.0, None)


@pytest.mark.parametrize(
    ("statuses", "spans"),
    [
        ([status()], []),
        ([status(PAUSED, LASTING)], [("paused", 10.0, 30.0), ("paused", 50.0, None)]),
        # Only one of two stands still: the other runs.
        ([status(PAUSED), status()], []),
        ([status(PAUSED), status(("suspended", 120.0, 160.0))], [("suspended", 20.0, 30.0)]),
        # The other is over, or has not begun: nothing runs either.
        ([status(PAUSED), status(finished=120.0)], [("paused", 20.0, 30.0)]),
        ([status(PAUSED), status(started=125.0)], [("paused", 10.0, 25.0)]),
        ([status(PAUSED), status(started=None)], [("paused", 10.0, 30.0)]),
        # Both are over: that is no pause.
        ([status(finished=120.0), status(finished=130.0)], []),
        # Requeued: over meanwhile, and running again.
        ([status(("completed", 120.0, 200.0), finished=210.0)], [("completed", 20.0, 100.0)]),
    ],
)
def test_pauses_are_when_none_of_the_jobs_runs(
    statuses: list[JobStatus], spans: list[tuple[str, float, float | None]]
) -> None:
    found = pauses_of(statuses, 100.0)
    assert [(span.state, span.start_s, span.end_s) for span in found] == spans
    assert all(span.reason == f"why {span.state}" for span in found)
