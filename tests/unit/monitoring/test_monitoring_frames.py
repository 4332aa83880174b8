"""monitoring.frames: what goes over the broker."""

from __future__ import annotations

import json
import uuid
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.histogram import CELLS, Histogram
from core.operations import Op
from core.records import Phase
from monitoring.frames import CounterDelta, Frame, FrameMaker, decode_frame, encode_frame, merge_deltas

big = st.integers(0, (1 << 63) - 1)
deltas = st.builds(
    CounterDelta,
    job=st.uuids(),
    phase=st.sampled_from(Phase),
    op=st.sampled_from(Op),
    calls=big,
    bytes=big,
    errors=big,
    total_ns=big,
    max_ns=big,
    histogram=st.dictionaries(st.integers(0, CELLS - 1), st.integers(1, 1000), max_size=5).map(Histogram),
)
frames = st.builds(
    Frame,
    worker=st.text(max_size=20),
    incarnation=st.uuids(),
    sequence=big,
    second=big,
    through=st.floats(0, 1e10),
    deltas=st.lists(deltas, max_size=4).map(tuple),
)

ONE = CounterDelta(
    job=uuid.UUID(int=1),
    phase=Phase.WALK,
    op=Op.STAT,
    calls=1,
    bytes=2,
    errors=0,
    total_ns=5000,
    max_ns=5000,
    histogram=Histogram({3: 1}),
)


@given(frames)
def test_round_trip(frame: Frame) -> None:
    assert decode_frame(encode_frame(frame)) == frame


@given(st.one_of(st.binary(max_size=40), st.binary(max_size=40).map(lambda b: b"\x01" + b)))
def test_garbage_is_a_value_error(data: bytes) -> None:
    """Anyone can write to the stream; the collector must not fall over it."""
    with pytest.raises(ValueError):  # noqa: PT011
        decode_frame(data)


@given(frames, st.data())
@settings(max_examples=60)
def test_cut_frames_are_refused(frame: Frame, data: st.DataObject) -> None:
    whole = encode_frame(frame)
    with pytest.raises(ValueError):  # noqa: PT011
        decode_frame(whole[: data.draw(st.integers(0, len(whole) - 1))])


@given(st.lists(st.floats(0, 50), min_size=1, max_size=30))
def test_seconds_and_sequence_are_unique_and_nothing_is_held_for_ever(times: list[float]) -> None:
    """However the clock runs, each frame has its own second (the table's key) and every call is in one frame."""
    maker = FrameMaker("w", uuid.UUID(int=9))
    made = [maker.frame([ONE], now, last=n == len(times) - 1) for n, now in enumerate(times)]
    sent = [frame for frame in made if frame]
    assert [frame.sequence for frame in sent] == list(range(1, len(sent) + 1))
    seconds = [frame.second for frame in sent]
    assert seconds == sorted(set(seconds))
    assert sum(d.calls for frame in sent for d in frame.deltas) == len(times)


@pytest.mark.parametrize(
    ("field", "value"),
    [("sequence", -1), ("second", 1 << 63), ("through", float("nan")), ("through", float("inf")), ("deltas", [[1]])],
)
def test_numbers_that_the_database_cannot_hold_are_refused(field: str, value: object) -> None:
    """One poisoned frame must not keep the collector from those behind it."""
    frame = FrameMaker("w", uuid.UUID(int=9)).frame([ONE], 7.5)
    assert frame is not None
    plain = json.loads(zlib.decompress(encode_frame(frame)[1:]))
    plain[field] = value
    with pytest.raises(ValueError, match=r"not|expected"):
        decode_frame(b"\x01" + zlib.compress(json.dumps(plain).encode()))


def test_a_frame_without_calls_is_made_too() -> None:
    """Its `through` is how the collector knows that nothing is missing."""
    frame = FrameMaker("w", uuid.UUID(int=9)).frame([], 7.5)
    assert frame is not None
    assert (frame.through, frame.deltas) == (7.5, ())


def test_merging_leaves_its_input_alone() -> None:
    """Deltas are shared with the metrics: adding up for a frame must not change them."""
    (both,) = merge_deltas([ONE, ONE])
    assert (both.calls, both.histogram.counts) == (2, {3: 2})
    assert ONE.histogram.counts == {3: 1}
