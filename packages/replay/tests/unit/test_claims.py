"""What a result of replays claims, and the search for the largest load."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path

import pytest
import replay_results as made
from lxml import etree

from controller.timeline.thresholds import CACHED
from core.errors import UsageError
from experiments.report.page import build_sections, write_report
from experiments.report.parts import Tabled
from experiments.result.codec import read_result, write_result
from experiments.result.compare import compare
from experiments.result.schema import CallTime, Knee
from experiments.result.verdict import limits_of
from replay.about import ABOUT
from replay.runs import ALL, ReplayResult, fidelity
from replay.telling import warnings_of
from replay.workload import refuse_bounds_on_nothing


def test_a_faithful_replay_passes_and_each_bound_can_fail_it() -> None:
    """Calls a second within 5 %, p50 and p99 of all calls within 10 %; a single op is shown and not judged."""
    recorded = made.recorded(rate=1000.0)
    assert fidelity(recorded, made.point(4, 960.0, 1.08)).passed
    assert not fidelity(recorded, made.point(4, 940.0)).passed
    assert not fidelity(recorded, made.point(4, 1000.0, 1.12)).passed
    assert not fidelity(recorded, made.point(4, 1000.0, 0.88)).passed
    worse = made.point(4, 1000.0)
    worse.run.service["read"] = made.latency(5000)
    found = fidelity(recorded, worse)
    assert found.passed
    assert {row.what: round(row.difference, 3) for row in found.rows}["read p50"] == 9.0
    tail = made.point(4, 1000.0)
    tail.run.service[ALL] = dataclasses.replace(tail.run.service[ALL], p99_us=2000.0)
    assert [row.what for row in fidelity(recorded, tail).rows if row.kept is False] == ["all calls p99"]


def test_the_report_says_what_the_filer_did() -> None:
    plain = made.point(1, 900.0)
    assert "filer" not in {section.anchor for section in build_sections(made.result(plain))}
    stations = {"link": {"utilisation": 0.85, "mean_wait_us": 60_000.0, "calls": 26_416}}
    wire = {"total": {"call_read_bytes": 4_000_000, "wire_read_bytes": 1_000_000, "ratio": 0.25}}
    told = made.point(1, 900.0, job={"filer": {"stations": stations}, "wire": wire})
    (section,) = (one for one in build_sections(made.result(told)) if one.anchor == "filer")
    rows = {part.series.name: part.series.rows for part in section.parts if isinstance(part, Tabled)}
    assert rows["stations"] == ((made.EMULATED, 1, "link", 0.85, 60_000.0, 26_416),)
    assert rows["wire"] == ((made.EMULATED, 1, 4_000_000, 1_000_000, 0.25),)


def test_a_bound_on_an_op_without_calls_is_refused() -> None:
    """Every load would keep it."""
    recorded = made.recorded()
    refuse_bounds_on_nothing(["read", "write"], recorded)
    with pytest.raises(UsageError, match="no rename call; it has open, read, write"):
        refuse_bounds_on_nothing(["read", "rename"], recorded)


def test_figures_near_the_ceiling_are_the_replayers() -> None:
    def limits(rate: float, top: float | None = 1000.0, **changes: float) -> tuple[str, ...]:
        return limits_of(ABOUT, [made.run(rate, 1.0, top, **changes)])

    assert limits(800.0) == ()
    assert "81% of the 1,000" in limits(810.0)[0]
    assert "clients used 90% of the CPU" in limits(1.0, None, worker_cpu=0.9)[0]
    assert "waited" in limits(1.0, None, run_queue_share=0.2)[0]


def test_the_first_line_has_the_labels_before_everything_else() -> None:
    found = made.result(made.point(1, 300.0), made.point(4, 990.0))
    assert found.verdict.startswith(
        f"EMULATED FILER nas-1g, scale 1/1; {CACHED}; replay at recorded speed on local storage (ext4): 990 calls/s"
    )
    assert "as recorded (calls a second −1.0 %" in found.verdict
    limited = made.result(made.point(4, 95_000.0))
    assert "GENERATOR-LIMITED at every point" in limited.verdict
    assert "NOT as recorded" in limited.verdict


def test_emulated_points_beside_real_ones_are_labelled_wherever_they_stand(tmp_path: Path) -> None:
    loads = (1, 4, 16)
    points = [made.point(n, 900.0 * n, storage=made.LOCAL) for n in loads] + [made.point(n, 100.0 * n) for n in loads]
    page = write_report(made.result(*points), tmp_path)
    text = page.read_text(encoding="utf-8")
    assert (
        f"{made.EMULATED} at 3 of 6 points; {CACHED}; replay at recorded speed on {made.LOCAL}: 14,400 calls/s" in text
    )
    assert f"; on {made.EMULATED}: 1,600 calls/s" in text
    assert {path.stem for path in (tmp_path / "figures").iterdir()} == {"curves", "timeline-1", "timeline-2"}
    for name in ("curves", "points", "latency"):
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
    said = warnings_of(recorded, [differs], adapted=3)
    assert [line.split()[:4] for line in said] == [
        ["the", "trace", "lacks", "5"],
        ["3", "calls", "of", "the"],
        ["2", "clients:", "12", "calls"],
    ]


def test_the_report_is_one_page_with_its_series(tmp_path: Path) -> None:
    knee = Knee(bounds_us={"read": 4000.0}, peak=2, knee=1, broken="read p99 9.00 ms over 4.00 ms at 16 clients")
    points = (made.point(1, 300.0), made.point(4, 990.0, 1.02), made.point(16, 90_000.0, 3.0))
    found = made.result(*points, knee=knee)
    page = write_report(found, tmp_path)
    text = page.read_text(encoding="utf-8")
    tree = etree.fromstring(page.read_bytes())
    assert [section.get("id") for section in tree.iter("section")] == [
        "points", "knee", "steady", "curves", "timeline", "beside", "latency", "disclosure",
    ]  # fmt: skip
    assert "src=" not in text
    assert "<a & b>" not in text
    assert {path.stem for path in (tmp_path / "series").iterdir()} == {
        "curves", "points", "knee", "timeline", "beside", "latency", "conditions", "runs",
    }  # fmt: skip
    assert {path.stem for path in (tmp_path / "figures").iterdir()} == {"curves", "knee", "timeline"}
    beside = (tmp_path / "series" / "beside.csv").read_text().splitlines()
    assert beside[1].startswith("calls a second,calls/s,1000.0,990.0,")


def test_a_report_of_one_load_that_is_not_judged(tmp_path: Path) -> None:
    page = write_report(made.result(made.point(1, 300.0, top=None)), tmp_path)
    assert "Not judged" in page.read_text(encoding="utf-8")


def test_the_result_is_plain_json(tmp_path: Path) -> None:
    path = write_result(made.result(made.point(4, 990.0)), tmp_path)
    data = json.loads(path.read_text())
    assert data["schema"] == "edbench-result/2"
    assert data["points"][0]["repeats"][0]["latency"]["read"]["p99_us"] == pytest.approx(3000.0)


def test_on_another_filer_nothing_is_judged(tmp_path: Path) -> None:
    found = fidelity(made.recorded(), made.point(4, 10.0), same_filer=False)
    assert found.passed is None
    assert {row.bound for row in found.rows} == {None}
    page = write_report(made.result(made.point(4, 10.0), fidelity=found), tmp_path)
    assert "not judged, because the trace was recorded on another filer" in page.read_text(encoding="utf-8")


def _five(rate: float, storage: str, **changes: object) -> ReplayResult:
    runs = [made.run(rate * (0.98 + 0.01 * n), repeat=n, order=n, emulated=False) for n in range(5)]
    return made.result(made.repeated(4, runs, storage), **changes)


def test_a_replay_has_repeats_with_intervals_and_is_compared(tmp_path: Path) -> None:
    first, other = _five(1000.0, made.LOCAL), _five(500.0, "network storage (nfs4)")
    rate = first.points[0].figures["calls_per_second"]
    assert (rate.low, rate.median, rate.high, rate.n) == (980.0, 1000.0, 1020.0, 5)
    write_result(first, tmp_path)
    assert read_result(tmp_path) == first
    found = compare([first, other], force=False)
    cell = found.rows[0].cells[1]
    assert cell is not None
    assert found.rows[0].at == {"clients": 4}
    assert cell.against_first["calls_per_second"].startswith("-50.0 % [-5")
    assert cell.against_first["response_p99_us"] == "no difference"
    strange = dataclasses.replace(other, conditions=other.conditions | {"trace": {"hash": "u"}})
    with pytest.raises(UsageError, match="trace hash u, the first has t"):
        compare([first, strange], force=False)


def test_waits_for_a_processor_limit_a_replay_where_they_are_most_of_its_calls() -> None:
    """At 1 % of the ceiling, 0.11 s of waits for each second of calls do not make it the generator's."""

    def limits(processor_s: float) -> int:
        time = CallTime(call_s=10.0, service_s=1.0, queue_s=1.0, processor_s=processor_s, exact=True, dominated={})
        return len(limits_of(ABOUT, [made.run(1000.0, run_queue_share=0.11, call_time=time)]))

    assert [limits(1.1), limits(5.5)] == [0, 1]
