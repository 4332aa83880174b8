"""What a profile does now, for whoever watches."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.operations import Op
from storage_tests.live import Live
from storage_tests.tally import WHOLE_READ, WHOLE_WRITE, Counters, Tally


@pytest.fixture
def seen(tmp_path: Path) -> Live:
    """Of three clients; no look is made but by the test."""
    return Live("insert-drift", Counters(tmp_path / "counters", 3), [tmp_path])


def _panel(live: Live, name: str) -> dict[str, list[float | None]]:
    panel = next(panel for panel in live.timeline()["panels"] if panel["id"] == name)
    return {series["id"]: series["values"] for series in panel["series"]}


def test_clients_count_for_whoever_watches(seen: Live) -> None:
    others = Counters(seen.counters.path, 3)
    tally = Tally((Op.WRITE,), others.of(2))
    tally.record(Op.WRITE, 0, 5, 1024, b"f", 0)
    tally.record(Op.READ, 0, 5, 7, b"f", 0)
    tally.whole(WHOLE_WRITE, 0, 3_000, 1024, 0)
    tally.whole(WHOLE_READ, 0, 1_000, 0, 1)
    found = seen.counters.totals()
    assert (found.bytes, found.files, found.troubles, found.whole_ns) == (1024, 1, 1, 4_000)
    assert {one.label: one.calls for one in tally.counted()} == {
        "read": 1, "write": 1, "whole write": 1, "whole read": 1,
    }  # fmt: skip


def test_a_point_has_the_rates_between_two_looks(seen: Live) -> None:
    seen.look()
    seen.counters.of(0).moved(5_000)
    seen.counters.of(1).whole(2_000_000, 0)
    seen.look()
    moved, done = _panel(seen, "moved")["all"], _panel(seen, "files")["done"]
    assert (moved[0], done[0]) == (0, 0)
    assert (moved[1] or 0) > 0
    assert (done[1] or 0) > 0
    assert _panel(seen, "file_time")["mean"] == [None, 2_000.0]
    assert "emulated_busy" not in {panel["id"] for panel in seen.timeline()["panels"]}


def test_an_emulated_filers_stations_are_shown_once_they_are_there(seen: Live) -> None:
    busy = {"metadata": 1.0, "data": 0.0, "link": 0.0}
    seen.look()
    with seen.beside(lambda: busy):
        seen.look()
        busy["metadata"] = 1.5
        seen.look()
    seen.look()
    found = _panel(seen, "emulated_busy")
    assert found["metadata"][:2] == [None, None]
    assert (found["metadata"][2] or 0) > 0
    assert found["link"][2:] == [0, None]


def test_runs_lie_on_the_axis_with_what_came_of_them(seen: Live) -> None:
    for name in ("1 client", "1 client, on null storage"):
        seen.run(name)
    seen.tell("200 of 400 files")
    seen.say("1 client: 3,000 files/s")
    told = seen.timeline()
    assert [run["phase"] for run in told["phases"]] == ["1 client", "1 client, on null storage"]
    assert told["phases"][0]["end_s"] == told["phases"][1]["start_s"]
    assert told["phases"][1]["end_s"] is None
    assert (told["doing"], told["said"]) == ("200 of 400 files", ["1 client: 3,000 files/s"])


def test_a_long_run_has_no_more_points_than_are_drawn(seen: Live) -> None:
    """Each is the mean of its seconds."""
    for _ in range(1_300):
        seen.look()
    told = seen.timeline()
    assert told["step_s"] == 3
    assert len(told["t"]) == 434
    assert {len(series["values"]) for panel in told["panels"] for series in panel["series"]} == {434}
