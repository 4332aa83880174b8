"""What a replay is made of: its pace, its paths, the figures of its trace."""

from pathlib import Path

import pytest
from replay_traces import FILE_BYTES, reading_trace

from core.errors import UsageError
from replay.orders import ReplayOrder, pace_text, parse_pace
from replay.runs import ALL, recorded_figures


@pytest.mark.parametrize(
    ("text", "pace"),
    [
        ("job", (1.0, True)),
        ("schedule", (1.0, False)),
        ("max", (0.0, False)),
        ("x2", (2.0, False)),
        ("x0.5", (0.5, False)),
        ("×4", (4.0, False)),
    ],
)
def test_paces(text: str, pace: tuple[float, bool]) -> None:
    assert parse_pace(text) == pace
    assert parse_pace(pace_text(*pace)) == pace


@pytest.mark.parametrize("text", ["", "2", "x", "x0", "x-1", "fast", "x1e3", "recorded", "x0.0005", "x1000001"])
def test_what_is_no_pace(text: str) -> None:
    with pytest.raises(UsageError, match="--pace is"):
        parse_pace(text)


def test_a_path_that_json_cannot_hold_is_refused() -> None:
    order = ReplayOrder(trace=Path("/t"), paths=(Path("/a\udcff"),))
    with pytest.raises(UsageError, match="not UTF-8"):
        order.choice(1)


def test_figures_of_a_trace() -> None:
    found = recorded_figures("t", reading_trace(streams=2, files=4))
    assert (found.calls, found.errors, found.bytes) == (32, 0, 10 * FILE_BYTES)
    assert found.elapsed_s == pytest.approx(0.0301)
    assert {op: one.calls for op, one in found.latency.items()} == {
        "scan": 2, "open": 8, "read": 8, "create": 2, "write": 2, "close": 10, ALL: 32,
    }  # fmt: skip
    assert found.latency["read"].p50_us == pytest.approx(100, rel=0.04)
    assert found.per_second == (32,)
