"""core.histogram: buckets, merging, percentiles and the sparse encoding."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.histogram import BUCKETS, CELLS, LIMIT_NS, OVERFLOW, Histogram, bucket_bounds, bucket_of, merged
from core.operations import SIZES, size_class

durations = st.one_of(st.integers(0, 1 << 12), st.integers(0, 1 << 37), st.integers(0, 1 << 50))
histograms = st.dictionaries(st.integers(0, CELLS - 1), st.integers(1, 1 << 60), max_size=40).map(Histogram)


def of(values: list[int]) -> Histogram:
    out = Histogram()
    for value in values:
        out.record(value)
    return out


def test_buckets_join_without_gap_and_are_narrow() -> None:
    end = 0
    for bucket in range(OVERFLOW):
        low, high = bucket_bounds(bucket)
        assert low == end
        assert bucket_of(low) == bucket_of(high - 1) == bucket
        assert bucket == 0 or (high - low) * 16 <= low
        end = high
    assert end == LIMIT_NS == 1 << 43
    assert bucket_of(end) == bucket_of(1 << 60) == OVERFLOW


@given(st.lists(durations, min_size=1, max_size=200), st.floats(0, 100))
def test_percentile_is_within_half_a_bucket(values: list[int], percent: float) -> None:
    got = of(values).percentile(percent, max(values))
    rank = max(1, -int(-(percent * len(values)) // 100))
    exact = sorted(values)[rank - 1]
    if exact < LIMIT_NS:
        assert abs(got - exact) <= max(512, exact / 31)
    elif percent < 100:
        assert got == LIMIT_NS
    else:
        assert got == max(values)


def test_a_percentile_over_a_minute_is_not_the_largest_value() -> None:
    """Calls of 71 s and one of 104 s: the median is 71 s, as is everything but the maximum."""
    found = of([71_000_000_000] * 9 + [104_000_000_000])
    assert abs(found.percentile(50, 104_000_000_000) - 71_000_000_000) <= 71_000_000_000 / 31
    assert found.percentile(100, 104_000_000_000) == 104_000_000_000


@given(st.lists(st.lists(durations, max_size=50), max_size=5))
def test_merging_equals_recording_together(groups: list[list[int]]) -> None:
    """Seconds, slots and hosts add up to what one recorder would have seen."""
    assert merged(of(group) for group in groups) == of([value for group in groups for value in group])


@given(histograms)
def test_encoding_round_trip(histogram: Histogram) -> None:
    assert Histogram.decode(histogram.encode()) == histogram


@given(st.binary(max_size=30))
def test_bad_bytes_are_refused_or_valid(data: bytes) -> None:
    try:
        histogram = Histogram.decode(data)
    except ValueError:
        return
    assert all(0 <= cell < CELLS and n > 0 for cell, n in histogram.cells.items())
    assert all(0 <= bucket < BUCKETS and n > 0 for bucket, n in histogram.counts.items())


@pytest.mark.parametrize("data", [b"\x80", b"\x01", b"\xff\xff\xff\x7f\x01", b"\x01\x00"])
def test_cut_and_impossible_encodings_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="histogram"):
        Histogram.decode(data)


def test_without_calls() -> None:
    assert Histogram().percentile(99) == 0


@given(histograms, histograms, st.integers(0, 1 << 40))
def test_an_encoding_is_never_stale(one: Histogram, other: Histogram, ns: int) -> None:
    found = Histogram.decode(one.encode())
    found.add(other)
    found.record(ns)
    assert (
        Histogram.decode(found.encode())
        == Histogram(found.cells)
        == merged([one, other, Histogram({bucket_of(ns): 1})])
    )


@given(histograms, st.integers(0, 1 << 36))
def test_several_percentiles_at_once_are_those_one_by_one(histogram: Histogram, max_ns: int) -> None:
    percents = (50, 95, 99, 100)
    assert histogram.percentiles(percents, max_ns) == [histogram.percentile(p, max_ns) for p in percents]


def test_sizes_have_bounds_and_names() -> None:
    bounds = {0: 0, 1: 1, 4_096: 1, 4_097: 2, 65_536: 2, 65_537: 3, 1_048_576: 3, 1_048_577: 4, 1 << 40: 4}
    assert {nbytes: size_class(nbytes) for nbytes in bounds} == bounds
    assert len(SIZES) == 5


@given(st.lists(st.tuples(durations, st.integers(0, 1 << 21)), max_size=100))
def test_calls_by_size_are_those_of_that_size_and_the_whole_is_all_of_them(calls: list[tuple[int, int]]) -> None:
    found = Histogram()
    for ns, nbytes in calls:
        found.record(ns, nbytes)
    found = Histogram.decode(found.encode())
    classes = sorted({size_class(nbytes) for _, nbytes in calls} - {0})
    assert found.by_size() == {
        SIZES[size]: of([ns for ns, nbytes in calls if size_class(nbytes) == size]) for size in classes
    }
    assert list(found.by_size()) == [SIZES[size] for size in classes]
    whole = of([ns for ns, _ in calls])
    assert (found.total, dict(found.counts)) == (len(calls), whole.cells)
    assert found.percentiles((50, 99)) == whole.percentiles((50, 99))


def test_what_was_stored_before_there_were_sizes_tells_nothing_of_them() -> None:
    before = Histogram.decode(bytes.fromhex("5001500a"))  # 1 call in bucket 80, 10 in bucket 160
    assert (before.counts, before.by_size()) == ({80: 1, 160: 10}, {})
    before.record(5_000, 100)
    assert {size: one.total for size, one in before.by_size().items()} == {"to 4 KiB": 1}
    assert before.total == 12
