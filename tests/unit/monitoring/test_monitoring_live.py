"""monitoring.live: counters in shared memory, pages, and slots that die."""

import uuid
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.histogram import Histogram
from core.operations import MOST_BYTES, Op
from core.records import PHASES, Phase
from monitoring.live import PAGES, REGION_BYTES, LiveRecorder, RegionReader

JOBS = [uuid.UUID(int=n << 70 | n) for n in range(1, 5)]


def region() -> memoryview:
    return memoryview(bytearray(REGION_BYTES))


def test_growth_since_the_last_collect() -> None:
    buffer = region()
    recorder, reader = LiveRecorder(buffer), RegionReader(buffer)
    recorder.select(JOBS[0], Phase.WALK)
    recorder.record(Op.READ, 1, 5_000, 100, b"/f", 0)
    recorder.record(Op.READ, 1, 900_000, 50, b"/f", 5)
    (delta,) = reader.collect()
    assert (delta.job, delta.phase, delta.op) == (JOBS[0], Phase.WALK, Op.READ)
    assert (delta.calls, delta.bytes, delta.errors, delta.total_ns, delta.max_ns) == (2, 150, 1, 905_000, 900_000)
    expected = Histogram()
    expected.record(5_000, 100)
    expected.record(900_000, 50)
    assert delta.histogram == expected
    assert reader.collect() == []
    recorder.record(Op.READ, 1, 7_000, 0, b"/f", 0)
    (delta,) = reader.collect()
    assert (delta.calls, delta.bytes, delta.errors) == (1, 0, 0)
    assert 7_000 <= delta.max_ns <= 7_000 * 17 / 16  # not the largest so far: the bound of its bucket
    recorder.record(Op.READ, 1, 1 << 40, 0, b"/f", 0)
    assert reader.collect()[0].max_ns == 1 << 40


sizes = st.one_of(st.integers(0, 1 << 21), st.sampled_from(MOST_BYTES).flatmap(lambda n: st.integers(n, n + 1)))


@given(st.sampled_from(list(Op)), st.lists(st.tuples(st.integers(-5, 1 << 45), sizes), min_size=1, max_size=60))
def test_cells_are_those_of_the_histogram(op: Op, calls: list[tuple[int, int]]) -> None:
    """The arithmetic of buckets and sizes written out in `record` is that of core.histogram; of ops that move no bytes
    none has a size, whatever it is told, and none counts into another's block."""
    buffer = region()
    recorder, reader = LiveRecorder(buffer), RegionReader(buffer)
    recorder.select(JOBS[0], Phase.INDEX)
    expected = Histogram()
    for ns, nbytes in calls:
        recorder.record(op, 0, ns, nbytes, b"/f", 0)
        expected.record(max(ns, 0), nbytes if op in (Op.READ, Op.WRITE) else 0)
    (delta,) = reader.collect()
    assert (delta.op, delta.calls, delta.bytes) == (op, len(calls), sum(nbytes for _, nbytes in calls))
    assert delta.histogram == expected
    assert delta.max_ns == max(0, *(ns for ns, _ in calls))


keys = st.tuples(st.sampled_from(JOBS), st.sampled_from(PHASES))
steps = st.lists(
    st.one_of(
        st.tuples(st.just("select"), keys),
        st.tuples(st.just("record"), st.sampled_from(list(Op))),
        st.tuples(st.just("collect"), st.none()),
        st.tuples(st.just("reborn"), st.none()),
    ),
    max_size=120,
)


@given(steps)
def test_pages_never_mix_and_nothing_is_lost(script: list[tuple[str, object]]) -> None:
    """However a slot changes job and phase, collects fall and slots are replaced: each call is counted once, under
    the key it was made for, or (only when no page was free) as lost."""
    buffer = region()
    reader = RegionReader(buffer)
    made: Counter[object] = Counter()
    seen: Counter[object] = Counter()
    key: object = None
    # A full region is waited for: the reader collects while the slot sleeps, as the parent does.
    recorder = LiveRecorder(buffer, sleep=lambda _: take())

    def take() -> None:
        for delta in reader.collect():
            seen[(delta.job, delta.phase), delta.op] += delta.calls

    for what, value in script:
        if what == "select":
            key = value
            recorder.select(*value)  # type: ignore[misc]
        elif what == "record" and key is not None:
            recorder.record(value, 0, 1234, 1, b"/f", 0)  # type: ignore[arg-type]
            made[key, value] += 1
        elif what == "collect":
            take()
        elif what == "reborn":
            recorder, key = LiveRecorder(buffer, sleep=lambda _: take()), None
    take()
    assert seen == made
    assert reader.lost == 0


def test_without_a_reader_calls_are_counted_as_lost() -> None:
    buffer, now = region(), [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    recorder = LiveRecorder(buffer, wait_seconds=2.0, monotonic=lambda: now[0], sleep=sleep)
    for n in range(PAGES + 1):
        recorder.select(uuid.UUID(int=n + 1), Phase.WALK)
        recorder.record(Op.OPEN, 0, 1, 0, b"/f", 0)
    assert 2.0 <= now[0] <= 2.1
    reader = RegionReader(buffer)
    assert (sum(d.calls for d in reader.collect()), reader.lost) == (PAGES, 1)
    recorder.select(uuid.UUID(int=99), Phase.WALK)
    recorder.record(Op.OPEN, 0, 1, 0, b"/f", 0)
    assert [d.job.int for d in reader.collect()] == [99]


def test_a_page_is_used_again_only_after_its_final_state_was_read() -> None:
    buffer = region()
    recorder, reader = LiveRecorder(buffer, wait_seconds=0.0), RegionReader(buffer)
    for n in range(3 * PAGES):
        recorder.select(uuid.UUID(int=n + 1), Phase.WALK)
        recorder.record(Op.OPEN, 0, 1, 0, b"/f", 0)
        assert [d.job.int for d in reader.collect()] == [n + 1]
    assert reader.lost == 0


def test_wrong_region_size_is_refused() -> None:
    with pytest.raises(ValueError, match="bytes"):
        LiveRecorder(memoryview(bytearray(64)))
