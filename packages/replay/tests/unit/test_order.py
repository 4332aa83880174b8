"""What a replay is made of before it is a job: its speed, its hosts, the figures of its trace."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from replay_traces import FILE_BYTES, reading_trace

from core.errors import UsageError
from core.records import JobOptions, Phase
from replay.job import hosts_of
from replay.orders import ReplayOrder, pace_text, parse_pace
from replay.runs import ALL, recorded_figures
from sql.replay import Seats


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


def test_a_replay_has_phases_of_its_own_and_its_options_survive_storing() -> None:
    order = ReplayOrder(trace=Path("/t"), paths=(Path("/a"), Path("/b")), speed=0.0, closed=True, shared=True, seed=3)
    options = JobOptions(of_type=order.choice(4))
    assert options.phases == (Phase.REPLAY, Phase.FINALISE)
    assert JobOptions.from_json(options.to_json()) == options
    assert (options.of_type.speed, options.of_type.closed) == (0.0, True)
    assert Phase.REPLAY not in JobOptions().phases


def test_a_path_that_the_database_cannot_hold_is_refused() -> None:
    order = ReplayOrder(trace=Path("/t"), paths=(Path("/a\udcff"),))
    with pytest.raises(UsageError, match="not UTF-8"):
        order.choice(1)


def _seats(*slots: int) -> list[Seats]:
    return [Seats(host=f"h{number}", slots=n) for number, n in enumerate(slots)]


def test_a_clone_that_fits_on_no_host_is_refused() -> None:
    """Together the hosts would have enough."""
    with pytest.raises(UsageError, match=r"needs 5 slots on one host.*4 \+ 4"):
        hosts_of([5], _seats(4, 4))
    with pytest.raises(UsageError, match="none"):
        hosts_of([1], [])


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.lists(st.integers(0, 8), min_size=1, max_size=4))
def test_clones_stay_together_and_no_host_has_more_than_its_slots(clones: list[int], slots: list[int]) -> None:
    try:
        hosts = hosts_of(clones, _seats(*slots))
    except UsageError:
        return
    assert len(hosts) == sum(clones)
    at = 0
    for clients in clones:
        assert len(set(hosts[at : at + clients])) == 1
        at += clients
    for seat in _seats(*slots):
        assert hosts.count(seat.host) <= seat.slots


def test_figures_of_a_trace() -> None:
    found = recorded_figures("t", reading_trace(streams=2, files=4))
    assert (found.calls, found.errors, found.bytes) == (32, 0, 10 * FILE_BYTES)
    assert found.elapsed_s == pytest.approx(0.0301)
    assert {op: one.calls for op, one in found.latency.items()} == {
        "scan": 2, "open": 8, "read": 8, "create": 2, "write": 2, "close": 10, ALL: 32,
    }  # fmt: skip
    assert found.latency["read"].p50_us == pytest.approx(100, rel=0.04)
    assert found.per_second == (32,)
