"""monitoring.frames: what goes over the broker."""

import uuid
import zlib
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_records import delta

from core.errors import UsageError
from core.histogram import CELLS, Histogram
from core.operations import Op
from core.records import Phase
from monitoring.aggregate import array
from monitoring.broker import connect
from monitoring.frames import VERSION, CounterDelta, Frame, FrameMaker, decode_frame, encode_frame, merge_deltas
from monitoring.host_samplers import HostSampling
from monitoring.observations import BLOCK, WORKER, Observation

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

ONE = delta([5_000], op=Op.STAT)


@given(frames)
def test_round_trip(frame: Frame) -> None:
    assert decode_frame(encode_frame(frame)) == frame


@given(st.one_of(st.binary(max_size=40), st.binary(max_size=40).map(lambda b: VERSION + b)))
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
    plain = msgspec.msgpack.decode(zlib.decompress(encode_frame(frame)[1:]))
    plain[field] = value
    with pytest.raises(ValueError, match="not a frame"):
        decode_frame(VERSION + zlib.compress(msgspec.msgpack.encode(plain)))


def test_merging_leaves_its_input_alone() -> None:
    """Deltas are shared with the metrics: adding up for a frame must not change them."""
    (both,) = merge_deltas([ONE, ONE])
    assert (both.calls, both.histogram.total) == (2, 2)
    assert ONE.histogram.total == 1


def test_other_brokers_are_refused() -> None:
    with pytest.raises(UsageError, match="EDBENCH_BROKER"):
        connect("amqp://localhost")


@pytest.mark.parametrize(
    ("kind", "source", "values"),
    [
        ("weather", "w1", {}),
        (WORKER, "", {}),
        (WORKER, "x" * 501, {}),
        (WORKER, "a\0b", {}),
        (WORKER, "w1", {"a": float("nan")}),
        (WORKER, "w1", {"a": object()}),
        (WORKER, "w1", {"a": "\0"}),
        (WORKER, "w1", {"a": "\udcff"}),
        (WORKER, "w1", {"a": "x" * 40_000}),
        (WORKER, "w1", 7),
    ],
)
def test_what_cannot_be_stored_is_refused(kind: str, source: str, values: Any) -> None:
    """Where it is made, not at the database, where it would hold up what comes behind it."""
    with pytest.raises(ValueError, match="observation"):
        Observation(kind, source, values)


def test_a_frame_carries_observations() -> None:
    seen = [Observation(WORKER, "wörker", {"cpu_s": 1.5, "ops": {"READ": {"ops": 3}}}), Observation(BLOCK, "b:sda", {})]
    frame = FrameMaker("w", uuid.uuid4()).frame([], 7.0, seen)
    assert frame is not None
    assert decode_frame(encode_frame(frame)).observations == tuple(seen)
    seen[1].kind = "weather"
    with pytest.raises(ValueError, match="observation"):
        decode_frame(encode_frame(frame))


def test_a_sampler_that_fails_holds_up_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """It is told of once; the others are heard every second."""

    class Good:
        def sample(self) -> list[Observation]:
            return [Observation(BLOCK, "b:sda", {"reads": 1})]

    class Bad:
        def sample(self) -> list[Observation]:
            raise OSError("no such file")

    sampling = HostSampling([Bad(), Good(), Bad()])
    assert [len(sampling.sample()) for _ in range(3)] == [1, 1, 1]
    assert len(caplog.records) == 2


def test_array_literals_escape_what_they_must() -> None:
    assert array(['a"b', "c\\d", "{,}", ""]) == '{"a\\"b","c\\\\d","{,}",""}'
    assert array([b"\x00\xff"]) == '{"\\\\x00ff"}'
    assert array([1, 2]) == "{1,2}"
