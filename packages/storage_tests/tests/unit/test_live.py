"""What a profile does now, for whoever watches."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from core.histogram import Histogram
from core.operations import Op
from core.settings import Settings
from storage_tests.live import Live
from storage_tests.routes import shown
from storage_tests.tally import WHOLE_READ, WHOLE_WRITE, Counters, Tally, merged
from web.app import create_app
from web.context import WebContext
from web.runs import CommandRunner
from web.token import Door


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
    assert seen.counters.totals() == (1024, 1, 1, 4_000)
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


def test_runs_lie_on_the_axis_with_what_came_of_them(seen: Live) -> None:
    for name in ("1 client", "1 client, on null storage"):
        seen.run(name)
    seen.show("200 of 400 files")
    seen.say("1 client: 3,000 files/s")
    reported = seen.timeline()
    assert [run["phase"] for run in reported["phases"]] == ["1 client", "1 client, on null storage"]
    assert reported["phases"][0]["end_s"] == reported["phases"][1]["start_s"]
    assert reported["phases"][1]["end_s"] is None
    assert (reported["doing"], reported["said"]) == ("200 of 400 files", ["1 client: 3,000 files/s"])


def test_a_long_run_has_no_more_points_than_are_drawn(seen: Live) -> None:
    """Each is the mean of its seconds."""
    for _ in range(1_300):
        seen.look()
    reported = seen.timeline()
    assert reported["step_s"] == 3
    assert len(reported["t"]) == 434
    assert {len(series["values"]) for panel in reported["panels"] for series in panel["series"]} == {434}


SECOND = 1_000_000_000


def test_calls_are_counted_by_kind_with_their_histogram() -> None:
    """Over more calls than are counted together: the same as one by one."""
    tally, one_by_one = Tally((Op.WRITE,)), Histogram()
    tally.begin(SECOND)
    for number in range(5_000):
        tally.record(Op.WRITE, SECOND + number * 1_000_000, 900 + 7 * number, 1024 * (number % 3), b"f", 0)
        one_by_one.record(900 + 7 * number, 1024 * (number % 3))
    tally.record(Op.OPEN, 2 * SECOND, 5, 0, b"f", 2)
    tally.whole(WHOLE_WRITE, SECOND, 77, 10, 0)
    counted = {one.label: one for one in tally.counted()}
    assert list(counted) == ["open", "write", "whole write"]
    write = counted["write"]
    assert (write.calls, write.errors, write.max_ns) == (5_000, 0, 900 + 7 * 4_999)
    assert write.bytes == sum(1024 * (number % 3) for number in range(5_000))
    assert write.total_ns == sum(900 + 7 * number for number in range(5_000))
    assert write.histogram == one_by_one
    assert (counted["open"].calls, counted["open"].errors) == (1, 1)


def test_bytes_are_counted_in_the_second_in_which_the_call_ended() -> None:
    """Since the start, of those kinds alone that move bytes."""
    tally = Tally((Op.READ,))
    tally.begin(10 * SECOND)
    tally.record(Op.READ, 10 * SECOND, SECOND // 2, 100, b"f", 0)
    tally.record(Op.READ, 10 * SECOND, 2 * SECOND, 30, b"f", 0)
    tally.record(Op.WRITE, 10 * SECOND, 1, 7, b"f", 0)
    tally.record(Op.READ, 110 * SECOND, 1, 1, b"f", 0)
    seconds = tally.bytes_by_second()
    assert (seconds[0], seconds[2], seconds[100], sum(seconds)) == (100, 30, 1, 131)
    tally.begin(0)
    assert tally.bytes_by_second() == ()
    assert tally.counted() == ()


def test_clients_are_put_together() -> None:
    each = []
    for ns in (2_000, 9_000):
        tally = Tally(())
        tally.record(Op.READ, 0, ns, 5, b"f", 0)
        tally.record(Op.STAT, 0, ns, 0, b"f", 0)
        each += tally.counted()
    stat, read = sorted(merged(each), key=lambda one: one.label, reverse=True)
    assert (read.label, read.calls, read.bytes, read.max_ns, read.total_ns) == ("read", 2, 10, 9_000, 11_000)
    assert read.histogram.total == 2
    assert stat.calls == 2


TOKEN = "the token of these tests"


def _client(tmp_path: Path, live: Live | None) -> TestClient:
    context = WebContext(
        settings=Settings(storage=tmp_path), databases=(), embedded=True, runner=CommandRunner(), door=Door(TOKEN),
        shown=None if live is None else shown(live),
    )  # fmt: skip
    return TestClient(create_app(context), base_url="http://localhost", headers={"Authorization": f"Bearer {TOKEN}"})


def test_it_shows_what_the_profile_does(tmp_path: Path) -> None:
    live = Live("insert-drift", Counters(tmp_path / "counters", 2), [tmp_path])
    live.run("shared, 2 clients")
    live.look()
    live.say("<b>done</b>")
    client = _client(tmp_path, live)
    reported = client.get("/api/v1/profile/timeline").json()
    assert reported["profile"] == "insert-drift"
    assert reported["phases"][0]["phase"] == "shared, 2 clients"
    assert {"moved", "files"} <= {panel["id"] for panel in reported["panels"]}
    page = client.get("/")
    assert page.url.path == "/profile"
    assert "/static/js/profile.js" in page.text
    assert "&lt;b&gt;done&lt;/b&gt;" in page.text
    assert 'href="/profile"' in client.get("/results").text


def test_elsewhere_there_is_none(tmp_path: Path) -> None:
    client = _client(tmp_path, None)
    answer = client.get("/api/v1/profile/timeline")
    assert answer.status_code == 404
    assert "runs no storage test" in answer.json()["error"]
    assert "/profile" not in client.get("/results").text


def test_nobody_sees_it_without_the_token(tmp_path: Path) -> None:
    live = Live("insert-drift", Counters(tmp_path / "counters", 2), [tmp_path])
    client = _client(tmp_path, live)
    assert client.get("/api/v1/profile/timeline", headers={"Authorization": ""}).status_code == 401
