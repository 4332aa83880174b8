"""What a result of replays claims, and the search for the largest load."""

import csv
import dataclasses
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import replay_results as made
from lxml import etree
from msgspec import to_builtins

from controller.labels.rules import CACHED
from core.errors import UsageError
from core.residency import Dropped
from experiments.report.page import build_sections, write_report
from experiments.report.parts import Tabled
from experiments.result.codec import read_result, write_result
from experiments.result.compare import compare
from experiments.result.schema import CallTime, Knee
from experiments.result.verdict import limits_of
from replay.about import ABOUT
from replay.local import ReplayClient
from replay.runs import (
    ALL,
    Backlog,
    Observed,
    RecordedFigures,
    ReplayResult,
    Scaling,
    backlog_text,
    backlogs,
    fidelity,
    most_behind,
    scaling_of,
)
from replay.tally import ClientResult
from replay.wording import ReplayWording, as_recorded, closed_doubts, filer_limits, warnings_of
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


def test_the_report_states_what_the_filer_did() -> None:
    plain = made.point(1, 900.0)
    assert "filer" not in {section.anchor for section in build_sections(made.result(plain))}
    stations = {"link": {"utilisation": 0.85, "mean_wait_us": 60_000.0, "calls": 26_416}}
    wire = {"total": {"call_read_bytes": 4_000_000, "wire_read_bytes": 1_000_000, "ratio": 0.25}}
    reported = made.point(1, 900.0, job={"filer": {"stations": stations}, "wire": wire})
    (section,) = (one for one in build_sections(made.result(reported)) if one.anchor == "filer")
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
    shown = warnings_of(recorded, [differs], adapted=3)
    assert [line.split()[:4] for line in shown] == [
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
    others = (tmp_path / "series" / "beside.csv").read_text().splitlines()
    assert others[1].startswith("calls a second,calls/s,1000.0,990.0,")


def test_a_report_of_one_load_that_is_not_judged(tmp_path: Path) -> None:
    page = write_report(made.result(made.point(1, 300.0, top=None)), tmp_path)
    assert "Not judged" in page.read_text(encoding="utf-8")


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
    assert cell.against_first["response_p99_us"] == "no difference [+0.0 % – +0.0 %]"
    strange = dataclasses.replace(other, conditions=other.conditions | {"trace": {"hash": "u"}})
    with pytest.raises(UsageError, match="trace hash u, the first has t"):
        compare([first, strange], force=False)


def test_waits_for_a_processor_limit_a_replay_where_they_are_most_of_its_calls() -> None:
    """At 1 % of the ceiling, 0.11 s of waits for each second of calls do not make it the generator's."""

    def limits(processor_s: float) -> int:
        time = CallTime(call_s=10.0, service_s=1.0, queue_s=1.0, processor_s=processor_s, exact=True, dominated={})
        return len(limits_of(ABOUT, [made.run(1000.0, run_queue_share=0.11, call_time=time)]))

    assert [limits(1.1), limits(5.5)] == [0, 1]


GB = 10**9


def wording(recorded: RecordedFigures | None = None, **cache: Any) -> ReplayWording:
    others: dict[str, Any] = dict.fromkeys(
        ("trace", "seed", "storage", "targets", "emulated_filer", "null_storage", "hosts")
    )
    known = {"client_memory_bytes": GB, "filer_cache_bytes": None, "filer_caches_itself": True}
    return ReplayWording(
        others
        | {"recorded": to_builtins(recorded or made.recorded()), "configuration": {"pace": "schedule"}, "cache": known | cache}
    )  # fmt: skip


def test_a_bound_on_writes_is_reported_to_bound_copies() -> None:
    whole = made.result(made.point(4, 990.0))
    bounded = {op: Knee(bounds_us={op: 9.0}, peak=0, knee=0, broken=None) for op in ("read", "write")}
    unsynced = [wording().remarks(dataclasses.replace(whole, knee=knee)) for knee in (None, *bounded.values())]
    assert [any("copies into memory" in line for line in lines) for lines in unsynced] == [False, False, True]
    recorded = made.recorded()
    synced = dataclasses.replace(recorded, origin=recorded.origin | {"options": {"fsync": "file"}})
    shown = wording(recorded=synced).remarks(dataclasses.replace(whole, knee=bounded["write"]))
    assert not any("copies into memory" in line for line in shown)


def observed(*dropped: dict[str, Any] | None) -> Observed:
    clients = [ReplayClient(client=n, taken=0.0, ready=1.0, result={"dropped": one}) for n, one in enumerate(dropped)]
    return Observed(
        repeat=0, order=0, emulated=False, job_id="j", job={}, processors=2, clients=tuple(clients), touched=10 * GB,
        adapted=0, opened=0,
    )  # fmt: skip


def dropped(stayed: int) -> dict[str, Any]:
    return asdict(Dropped(files=3, looked_at=3, bytes=1_000, resident_before=1_000, resident_after=stayed,
                          unknown=0, refused=0, drop_caches=False, seconds=0.5))  # fmt: skip


def test_every_client_drops_its_own() -> None:
    points = [made.point(4, 990.0)]
    cold, partly, nothing = wording(), wording(), wording()
    cold.see(observed(dropped(0), dropped(0)))
    partly.see(observed(dropped(0), dropped(500)))
    nothing.see(observed(None, None))
    cache = cold.conditions(points)["cache"]
    assert cache["state"].startswith("cold on this host")
    assert [one["when"] for one in cache["drops"]] == ["before the calls"] * 2
    assert partly.conditions(points)["cache"]["state"].startswith("partly cold: up to 50.0% of the bytes")
    assert nothing.conditions(points)["cache"]["state"].startswith("nothing was dropped: the misses")


@pytest.mark.parametrize(
    ("declared", "possible", "cached", "undeclared"),
    [(None, True, False, True), (0, True, False, False), (5 * GB, True, True, False), (None, False, False, False)],
)
def test_the_filers_cache_counts(declared: int | None, possible: bool, cached: bool, undeclared: bool) -> None:
    """10 GB of files on a client with 1 GB."""
    reported = wording(filer_cache_bytes=declared, filer_caches_itself=possible)
    reported.see(observed(None))
    assert (reported.cached([]), reported.undeclared()) == (cached, undeclared)


@pytest.mark.parametrize(
    ("streams", "clients", "scaling"),
    [
        (4, [1, 2, 4], Scaling.STRONG),
        (4, [4], Scaling.STRONG),
        (4, [4, 8, 16], Scaling.WEAK),
        (1, [1, 4, 16], Scaling.WEAK),
        (4, [2, 8], Scaling.MIXED),
        (4, [4, 6], Scaling.MIXED),
    ],
)
def test_numbers_of_clients_are_of_one_scaling(streams: int, clients: list[int], scaling: Scaling) -> None:
    assert scaling_of(streams, clients) is scaling


def _scaled(scaling: Scaling | None) -> ReplayResult:
    found = made.result(made.point(4, 990.0), scaling=scaling)
    known = {} if scaling is None else {"scaling": scaling.value}
    return dataclasses.replace(found, conditions=found.conditions | known)


def test_strong_and_weak_scaling_are_compared_when_asked_for_by_name(tmp_path: Path) -> None:
    strong, weak = _scaled(Scaling.STRONG), _scaled(Scaling.WEAK)
    for other in (weak, _scaled(None)):
        with pytest.raises(UsageError, match=r"scaling .*, the first has strong.*--allow scaling compares them"):
            compare([strong, other], force=False)
        assert compare([strong, other], force=False, allow={"scaling"}).differences == ()
    assert compare([strong, strong], force=False).differences == ()
    write_result(weak, tmp_path)
    assert read_result(tmp_path) == weak
    assert "weak scaling: one data set for every 4 clients" in write_report(weak, tmp_path).read_text(encoding="utf-8")


def _client(number: int, **found: Any) -> ReplayClient:
    result = {"found": ClientResult(**found).to_json()}
    return ReplayClient(client=number, taken=0.0, ready=0.0, result=result)


def test_a_late_clients_backlog_is_a_figure() -> None:
    """Seconds behind at worst, and calls due and not over; the worst first, by its streams' names. Where no call had a
    schedule nobody is behind one."""
    late = {"due_by_second": (10, 10, 10), "by_second": (4, 4, 4, 4, 14), "lateness_max_ns": 2_500_000_000}
    clients = [
        _client(0, due_by_second=(5,), by_second=(5,), lateness_max_ns=900_000_000),
        _client(1, **late),
        _client(2, **late | {"lateness_max_ns": 7_000_000_000}),
        _client(3, by_second=(4,), lateness_max_ns=9_000_000_000),
    ]
    found = backlogs(clients, [("w1/0",), ("w1/1", "w1/4"), ("w1/2",), ("w1/3",)])
    assert found == (
        Backlog(client=2, streams=("w1/2",), seconds=7.0, calls=18),
        Backlog(client=1, streams=("w1/1", "w1/4"), seconds=2.5, calls=18),
    )
    assert backlog_text(found[1]) == "w1/1, w1/4 was up to 2.5 s and 18 calls behind its intended starts"
    assert most_behind(ClientResult(due_by_second=(3,), by_second=(3,))) == 0


def test_the_report_and_the_warnings_name_the_worst_stream(tmp_path: Path) -> None:
    behind = (Backlog(client=1, streams=("w1/1",), seconds=4.0, calls=1200),)
    point = made.point(4, 990.0, backlog=behind)
    assert point.figures["backlog_s"].median == 4.0
    assert point.figures["backlog_calls"].median == 1200
    assert warnings_of(made.recorded(), [point], adapted=0) == [
        "4 clients: w1/1 was up to 4.0 s and 1,200 calls behind its intended starts"
    ]
    text = write_report(made.result(point), tmp_path).read_text(encoding="utf-8")
    assert "Streams behind their intended starts" in text
    assert (tmp_path / "series" / "backlog.csv").read_text().splitlines()[1].endswith("1,1,w1/1,4.0,1200")


def test_of_a_closed_loop_the_elapsed_time_is_judged() -> None:
    recorded = made.recorded()  # 10 s
    judged = [fidelity(recorded, made.point(4, 990.0, 3.0, elapsed_s=took), closed=True) for took in (10.4, 10.6, 9.4)]
    assert [one.passed for one in judged] == [True, False, False]
    assert {row.bound for one in judged for row in one.rows[1:]} == {None}
    elsewhere = fidelity(recorded, made.point(4, 990.0, elapsed_s=18.0), same_filer=False, closed=True)
    assert elsewhere.passed is None
    shown = as_recorded(made.result(made.point(4, 990.0), fidelity=elsewhere))
    assert shown == [f"18.0 s on {made.EMULATED} against 10.0 s recorded (+80.0 %)"]


def test_what_think_times_cannot_be_taken_for_is_reported() -> None:
    known = dataclasses.replace(made.recorded(), tasks_known=True)
    assert closed_doubts(known) == []
    short = dataclasses.replace(known, origin={"labels": ["CACHED", "GENERATOR-LIMITED at every point"]})
    assert ["GENERATOR-LIMITED" in line for line in closed_doubts(short)] == [True]
    assert ["had no task" in line for line in closed_doubts(dataclasses.replace(known, tasks_known=False))] == [True]


def seconds(**busy: list[float]) -> list[tuple[float, dict[str, dict[str, float]]]]:
    """A series: utilisation of each station by second."""
    return [
        (float(at), {name: {"utilisation": share} for name, share in zip(busy, shares, strict=True)})
        for at, shares in enumerate(zip(*busy.values(), strict=True))
    ]


def test_a_replay_names_it_on_one_storage_only() -> None:
    job = {"workers": 1, "filer": {"series": seconds(link=[0.9] * 4)}}
    busy, limited = made.point(4, 10.0, job=job), made.point(4, 10.0, top=10.0, job=job)
    assert filer_limits([busy], waits=True) == ["limit: the filer's link, 90 % busy"]
    assert filer_limits([limited], waits=True) == []
    assert filer_limits([made.point(4, 10.0, storage="local storage (ext4)"), busy], waits=True) == []
    assert filer_limits([made.point(4, 10.0)], waits=True) == []


def test_waits_for_a_processor_are_not_the_filers_delays() -> None:
    """Clients that have nothing to do but calls, of a filer that is hardly busy: either it delays them, or the host does."""
    job = {"workers": 1, "filer": {"series": seconds(link=[0.1] * 4)}}
    time = CallTime(call_s=40.0, service_s=38.0, queue_s=0.0, processor_s=2.0, exact=True, dominated={})
    served = made.point(4, 10.0, job=job, call_time=time)
    waited = made.point(4, 10.0, job=job, call_time=dataclasses.replace(time, service_s=2.0, processor_s=38.0))
    assert filer_limits([served], waits=True) == ["limit: the filer's delays, no station over 10 % busy"]
    assert filer_limits([served], waits=False) == [], "at recorded speed the pace may be the limit"
    assert filer_limits([waited], waits=True) == []
