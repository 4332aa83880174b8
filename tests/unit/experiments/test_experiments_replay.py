"""What a result of replays claims, and the search for the largest load."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path

import pytest
import replay_results as made
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from core.errors import UsageError
from experiments.replay.fidelity import fidelity
from experiments.replay.knee import refuse_bounds_on_nothing, search
from experiments.replay.report import build_sections, write_replay_report
from experiments.replay.result import ALL, ReplayKnee, write_result
from experiments.replay.verdict import limits_of, warnings_of
from experiments.report.parts import Tabled


def test_a_faithful_replay_passes_and_each_bound_can_fail_it() -> None:
    """Calls a second within 5 %, p50 and p99 of all calls within 10 %; a single op is shown and not judged."""
    recorded = made.recorded(rate=1000.0)
    assert fidelity(recorded, made.point(4, 960.0, 1.08)).passed
    assert not fidelity(recorded, made.point(4, 940.0)).passed
    assert not fidelity(recorded, made.point(4, 1000.0, 1.12)).passed
    assert not fidelity(recorded, made.point(4, 1000.0, 0.88)).passed
    worse = made.point(4, 1000.0)
    worse.service["read"] = made.latency(5000)
    found = fidelity(recorded, worse)
    assert found.passed
    assert {row.what: round(row.difference, 3) for row in found.rows}["read p50"] == 9.0
    tail = made.point(4, 1000.0)
    tail.service[ALL] = dataclasses.replace(tail.service[ALL], p99_us=2000.0)
    assert [row.what for row in fidelity(recorded, tail).rows if row.kept is False] == ["all calls p99"]


def test_the_report_says_what_the_filer_did() -> None:
    """Its stations where it is emulated, reads over the wire where there is a mount, nothing where there is neither."""
    plain = made.point(1, 900.0)
    assert "filer" not in {section.anchor for section in build_sections(made.result(plain))}
    stations = {"link": {"utilisation": 0.85, "mean_wait_us": 60_000.0, "calls": 26_416}}
    wire = {"total": {"call_read_bytes": 4_000_000, "wire_read_bytes": 1_000_000, "ratio": 0.25}}
    told = dataclasses.replace(plain, job=plain.job | {"filer": {"stations": stations}, "wire": wire})
    (section,) = (one for one in build_sections(made.result(told)) if one.anchor == "filer")
    rows = {part.series.name: part.series.rows for part in section.parts if isinstance(part, Tabled)}
    assert rows["stations"] == ((made.EMULATED, 1, "link", 0.85, 60_000.0, 26_416),)
    assert rows["wire"] == ((made.EMULATED, 1, 4_000_000, 1_000_000, 0.25),)


@given(most=st.integers(1, 100), good=st.integers(0, 120))
def test_the_search_finds_the_last_load_that_keeps_the_bounds(most: int, good: int) -> None:
    """Whatever it is; no load is tried twice, and few are."""
    tried: list[int] = []

    def look(clients: int) -> dict[str, made.Latency]:
        tried.append(clients)
        return {"read": made.latency(1.0, p99_us=1000.0 if clients <= good else 3000.0)}

    found = search(look, {"read": 2000.0}, most=most)
    assert found.clients == (min(good, most) or None)
    assert (found.broken is None) == (good >= most)
    assert len(tried) == len(set(tried))
    assert max(tried) <= most
    assert len(tried) <= 2 * most.bit_length() + 1


def test_the_search_says_what_broke() -> None:
    found = search(lambda n: {"read": made.latency(1.0, p99_us=n * 1000.0)}, {"read": 2500.0, "stat": 1.0}, most=8)
    assert (found.clients, found.broken) == (2, "read p99 3.00 ms over 2.50 ms at 3 clients")


def test_a_bound_on_an_op_without_calls_is_refused() -> None:
    """Every load would keep it."""
    recorded = made.recorded().latency
    refuse_bounds_on_nothing({"read": 1.0, "write": 1.0}, recorded)
    with pytest.raises(UsageError, match="no rename call; it has open, read, write"):
        refuse_bounds_on_nothing({"read": 1.0, "rename": 1.0}, recorded)


def test_figures_near_the_ceiling_are_the_replayers() -> None:
    top = made.point(1, 1.0, top=1000.0).ceiling
    assert limits_of(800.0, top, 0.1, 0.01) == ()
    assert "81% of the 1,000" in limits_of(810.0, top, 0.1, 0.01)[0]
    assert "processors" in limits_of(1.0, None, 0.9, None)[0]
    assert "waited" in limits_of(1.0, None, 0.1, 0.2)[0]


def test_the_first_line_has_the_labels_before_everything_else() -> None:
    found = made.result(made.point(1, 300.0), made.point(4, 990.0))
    assert found.verdict.startswith(
        "EMULATED FILER nas-1g, scale 1/1; replay on local storage (ext4) at recorded speed"
    )
    assert "as recorded (calls a second −1.0 %" in found.verdict
    limited = made.result(made.point(4, 95_000.0))
    assert "GENERATOR-LIMITED at every point" in limited.verdict
    assert "NOT as recorded" in limited.verdict


def test_emulated_points_beside_real_ones_are_labelled_wherever_they_stand(tmp_path: Path) -> None:
    """In the first line with how many they are, in every row of tables and series, and on a figure of their own."""
    real = {"storage": made.LOCAL, "emulated": False}
    loads = (1, 4, 16)
    points = [made.point(n, 900.0 * n, **real) for n in loads] + [made.point(n, 100.0 * n) for n in loads]
    page = write_replay_report(made.result(*points), tmp_path)
    text = page.read_text(encoding="utf-8")
    assert f"{made.EMULATED} at 3 of 6 points; replay at recorded speed on {made.LOCAL}: 14,400 calls/s" in text
    assert f"; on {made.EMULATED}: 1,600 calls/s" in text
    assert {path.stem for path in (tmp_path / "figures").iterdir()} == {"curves", "timeline-1", "timeline-2"}
    for name in ("curves", "points", "latency", "replayer", "replays"):
        header, *rows = list(csv.reader((tmp_path / "series" / f"{name}.csv").read_text().splitlines()))
        assert header[:2] == ["storage", "clients"]
        named = {tuple(row[:2]) for row in rows if row[1] != "recorded"}
        assert named == {(storage, str(n)) for storage in (made.LOCAL, made.EMULATED) for n in loads}
    for name, storage in (("timeline-1", made.LOCAL), ("timeline-2", made.EMULATED)):
        rows = list(csv.reader((tmp_path / "series" / f"{name}.csv").read_text().splitlines()))[1:]
        assert {tuple(row[:2]) for row in rows} == {(made.EMULATED, "recorded"), *((storage, str(n)) for n in loads)}


def test_warnings() -> None:
    recorded = dataclasses.replace(made.recorded(), lost=5)
    differs = made.point(2, 100.0, differences={"open: recorded OK, replayed ENOENT": 12})
    said = warnings_of(recorded, [differs], no_ceiling="there is no memory", adapted=3)
    assert [line.split()[:4] for line in said] == [
        ["the", "trace", "lacks", "5"],
        ["3", "calls", "of", "the"],
        ["2", "clients:", "12", "calls"],
        ["the", "ceiling", "on", "null"],
    ]


def test_the_report_is_one_page_with_its_series(tmp_path: Path) -> None:
    """Three loads with a knee: well-formed, nothing from outside, every figure with its CSV."""
    knee = ReplayKnee(bounds_us={"read": 4000.0}, clients=4, broken="read p99 9.00 ms over 4.00 ms at 16 clients")
    points = (made.point(1, 300.0), made.point(4, 990.0, 1.02), made.point(16, 90_000.0, 3.0))
    found = made.result(*points, knee=knee)
    page = write_replay_report(found, tmp_path)
    text = page.read_text(encoding="utf-8")
    tree = etree.fromstring(page.read_bytes())
    assert [section.get("id") for section in tree.iter("section")] == [
        "curves", "knee", "timeline", "beside", "latency", "replayer", "disclosure",
    ]  # fmt: skip
    assert "src=" not in text
    assert "<a & b>" not in text
    assert {path.stem for path in (tmp_path / "series").iterdir()} == {
        "curves", "points", "knee", "timeline", "beside", "latency", "replayer", "conditions", "replays",
    }  # fmt: skip
    assert {path.stem for path in (tmp_path / "figures").iterdir()} == {"curves", "knee", "timeline"}
    beside = (tmp_path / "series" / "beside.csv").read_text().splitlines()
    assert beside[1].startswith("calls a second,calls/s,1000.0,990.0,")


def test_a_report_of_one_load_that_is_not_judged(tmp_path: Path) -> None:
    page = write_replay_report(made.result(made.point(1, 300.0, top=None)), tmp_path)
    assert "Not judged" in page.read_text(encoding="utf-8")


def test_the_result_is_plain_json(tmp_path: Path) -> None:
    path = write_result(made.result(made.point(4, 990.0)), tmp_path)
    data = json.loads(path.read_text())
    assert data["schema"] == "edbench-replay/1"
    assert data["points"][0]["response"]["read"]["p99_us"] == pytest.approx(3000.0)


def test_on_another_filer_nothing_is_judged(tmp_path: Path) -> None:
    found = fidelity(made.recorded(), made.point(4, 10.0), same_filer=False)
    assert found.passed is None
    assert {row.bound for row in found.rows} == {None}
    page = write_replay_report(made.result(made.point(4, 10.0), fidelity=found), tmp_path)
    assert "not judged, for the trace was recorded on another filer" in page.read_text(encoding="utf-8")
