"""monitoring.observations and what carries them: only what the database can hold gets on its way."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from monitoring.aggregate import array
from monitoring.frames import FrameMaker, decode_frame, encode_frame
from monitoring.host_samplers import HostSampling
from monitoring.observations import BLOCK, WORKER, Observation


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
    object.__setattr__(seen[1], "kind", "weather")
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
