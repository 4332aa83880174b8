"""Report R1's figures held against a study of its rows: what it says passes, what it does not say fails, each by itself."""

from __future__ import annotations

import dataclasses
import json
from types import SimpleNamespace
from typing import Any

from report_results import point, result, run

from controller.labels.advice import advice_on
from experiments.overrun import overran, told_overrun
from experiments.result.codec import from_json, to_json
from experiments.result.schema import CallTime
from experiments.workloads.discovery.phase_use import PhaseUse
from experiments.workloads.discovery.r1.brief import brief, speed_told
from experiments.workloads.discovery.r1.checks import checks, filer_ops, peak_of, plateau, verdict
from experiments.workloads.discovery.r1.parameters import INDEX_STREAMS, KIND, POINTS
from experiments.workloads.discovery.r1.tables import TABLE, r1_tables
from experiments.workloads.discovery.result import Point, Result, Run
from experiments.workloads.discovery.sections import sections

_R1 = {(1, 10): 11.69, (1, 30): 15.76, (2, 30): 23.55}  # GB/hour from its sizes and times
_HIGH = {(1, 10): 4.0, (1, 30): 3.0, (2, 30): 4.5}  # seconds at the peak


def _second(ops: float, metadata: float, data: float) -> dict[str, dict[str, float]]:
    return {
        "metadata": {"utilisation": metadata, "wait_us": 0.0, "filer_ops": 0.4 * ops},
        "data": {"utilisation": data, "wait_us": 0.0, "filer_ops": 0.6 * ops},
    }


def _run(databases: int, workers: int, **changes: Any) -> Run:
    """As the report has it: a peak, then half, then a quarter, with the data unit the busier one."""
    base = run(workers, databases=databases, rate=_R1[databases, workers])
    peak, high = (27_000.0 if workers == 10 else 39_000.0), _HIGH[databases, workers]
    seconds, filer, rows = int(base.elapsed_s), [], []
    for at in range(seconds + 1):
        if at <= high:
            now = _second(peak, 0.99, 0.60)
        elif at < 0.75 * seconds:
            now = _second(peak / 2, 0.5, 0.4)
        else:
            now = _second(peak / 4, 0.2, 0.3)
        filer.append((float(at), now))
        rows.append((float(at), {"db1": {"commits": 1, "rows": 900 if at < seconds / 3 else 100}}))
    series = dataclasses.replace(base.series, filer=tuple(filer), database_activity=tuple(rows))
    index = PhaseUse(database="db1", phase="index", start_s=seconds / 3, elapsed_s=1.0, tasks=1, busy_s=1.0, task_s=(1.0,),
                     calls={}, cpu_s={})  # fmt: skip
    return dataclasses.replace(base, series=series, phases=(index,), **changes)


def _point(databases: int, workers: int, **changes: Any) -> Point:
    return point(workers, databases=databases, runs=[_run(databases, workers, **changes)])


def _study(*points: Point) -> Result:
    return result(*(points or (_point(*at) for at in POINTS)), kind=KIND)


def _held(found: Result) -> dict[str, str]:
    return {check.what: verdict(check) for check in checks(found)}


def test_what_the_report_says_passes() -> None:
    """Every figure of it, and nothing is left unknown."""
    held = _held(_study())
    assert len(held) == 9
    assert set(held.values()) == {"pass"}


def test_each_check_can_fail() -> None:
    """A site on which nothing has its shape: no gain, no peak, a flat filer, a database that never rests."""
    flat = []
    for databases, workers in POINTS:
        one = _run(databases, workers)
        series = dataclasses.replace(
            one.series,
            filer=tuple((at, _second(5_000.0, 0.3, 0.2)) for at, _ in one.series.filer),
            database_activity=tuple(
                (at, {"db1": {"commits": 1, "rows": 900}}) for at, _ in one.series.database_activity
            ),
        )
        flat.append(
            point(
                workers,
                databases=databases,
                runs=[dataclasses.replace(one, series=series, gb_per_hour_discovered=12.0)],
            )
        )
    held = _held(_study(*flat))
    held.pop("plateau with two databases over that with one")  # all of it is one plateau, and the run is longer
    assert set(held.values()) == {"FAIL"}


def test_few_lines_say_whether_the_ratios_come_out() -> None:
    """And where they do not, or the machine did not keep up, that before anything else."""
    study = _study()
    assert brief(study, checks(study), 2000)[0].startswith("R1's ratios come out here (1/2000 of its data, 1 run of")
    assert brief(study, checks(study), 2000)[1] == "Of the report's other figures 7 of 7 hold."
    slow = point(30, runs=[dataclasses.replace(_run(1, 30), gb_per_hour_discovered=1.18 * 11.69)])
    missed = _study(_point(1, 10), slow, _point(2, 30))
    first = brief(missed, checks(missed), 2000)[0]
    assert first.startswith("R1's ratios do NOT come out here")
    assert "30 over 10 workers 1.18 x (R1 1.35 x)" in first
    late = dataclasses.replace(study, labels=("EMULATION OVERRUN at 1 of 3 points",))
    assert "did not keep up" in brief(late, checks(late), 2000)[0]


def test_a_machine_that_did_not_keep_up_is_told_what_to_ask_for() -> None:
    """Twice the scale or so where its processors were busy all the time; nothing where it kept up."""
    study = _study()
    study.conditions["emulated_filer"] = {
        "machine_speed": [{"run": 0, "median": 0.5, "lowest": 0.4, "highest": 0.9}],
        "numbers": {"site": {"time_scale": 1.5}},
    }
    assert speed_told(study) == ["This machine's processors had 0.40 to 0.90 of the speed that the site is stated for."]
    points = (_point(1, 10), _point(1, 30), _point(2, 30, host_cpu=0.96))
    over = dataclasses.replace(study, points=points)
    assert "At time x 1.5 they were busy for 96% in a run" in speed_told(over)[1]
    assert "say --time-scale 3.0," in speed_told(over)[1]


def test_the_tolerance_is_five_percent() -> None:
    """1.35 x passes up to 1.41, and not at 1.43."""
    for rate, word in ((1.40 * 11.69, "pass"), (1.43 * 11.69, "FAIL")):
        thirty = point(30, runs=[dataclasses.replace(_run(1, 30), gb_per_hour_discovered=rate)])
        assert _held(_study(_point(1, 10), thirty))["30 over 10 workers, GB/hour"] == word


def test_what_was_not_measured_is_not_known() -> None:
    """Without an emulated filer's series there is no peak to be right or wrong about."""
    points = [
        point(workers, databases=databases, runs=[run(workers, databases=databases, filer=False)])
        for databases, workers in POINTS
    ]
    held = _held(_study(*points))
    assert held["peak with 30 workers, filer ops/s"] == "not known"
    assert held["metadata and data unit at the peak"] == "not known"


def test_rates_are_by_the_time_between_samples() -> None:
    """Samples a second and a half apart count for a second and a half."""
    seen = SimpleNamespace(series=SimpleNamespace(filer=((0.0, _second(0, 0, 0)), (1.5, _second(3000, 0, 0)))))
    assert filer_ops(seen, 1.0) == [(1.5, 2000.0)]  # type: ignore[arg-type]
    assert filer_ops(seen, 0.5) == [(1.5, 1000.0)]  # type: ignore[arg-type]
    assert plateau([(0.0, 1.0), (1.0, 10.0), (2.0, 9.5), (3.0, 2.0)], 10.0) == 2.0


def test_a_peak_is_what_was_held() -> None:
    """One second of many in which calls were booked ahead is no peak."""
    calm = [(float(at), 10.0) for at in range(40)]
    assert peak_of(calm) == 10.0
    assert peak_of([*calm[:20], (20.0, 30.0), *calm[21:]]) == 20.0  # the mean of two seconds


def test_both_tables_have_the_reports_rows_first() -> None:
    """R1's as printed, ours below, with gains over the first row of each."""
    (up_title, up), (out_title, out) = r1_tables(_study())
    assert (up_title, out_title) == ("Scale-up", "Scale-out")
    assert [row[0] for row in up] == [row[0] for row in out] == ["R1", "R1", "ours", "ours"]
    assert {len(row) for row in (*up, *out)} == {len(TABLE)}
    assert [row[-1] for row in up] == ["1.00 x", "1.35 x", "1.00 x", "1.35 x"]
    assert [row[-1] for row in out] == ["1.00 x", "1.49 x", "1.00 x", "1.49 x"]


def test_its_report_has_the_section_and_others_have_not() -> None:
    """With checks, parameters and how to see the same site without the limit."""
    found = {section.anchor: section for section in sections(_study())}
    assert "r1-site" in found
    assert "r1-site" not in {section.anchor for section in sections(result())}
    text = " ".join(str(part) for part in found["r1-site"].parts)
    assert "--index-streams 0" in text
    assert f"{INDEX_STREAMS} tasks of phase index" in text


def _time(late: float) -> CallTime:
    return CallTime(call_s=100.0 + late, service_s=100.0, queue_s=0.0, processor_s=late, exact=True, dominated={})


def test_what_it_writes_can_be_read_again() -> None:
    """A kind of its own is one that a result may have: report, compare and check read it."""
    study = _study()
    assert from_json(json.loads(json.dumps(to_json(study)))) == study


def test_a_machine_that_did_not_keep_up_comes_to_no_verdict() -> None:
    """Processors over 70 %, or calls that ended over 5 % of what they were booked for too late: either is enough."""
    fine, busy, late = ((0.69, 4.9), (0.71, 0.0), (0.1, 5.1))
    runs = [dataclasses.replace(run(1), host_cpu=cpu, call_time=_time(over)) for cpu, over in (fine, busy, late)]
    assert [overran(one) for one in runs] == [False, True, True]
    slow, enough = ({"filer": {"core_s": s}} for s in (0.99, 1.0))
    assert overran(dataclasses.replace(runs[0], result=runs[0].result | slow)), (
        "slower than the core that it stands for"
    )
    assert not overran(dataclasses.replace(runs[0], result=runs[0].result | enough))
    assert told_overrun([[runs[0]], [runs[0]]]) == ""
    assert told_overrun([[runs[0]], [runs[0], runs[1]]]) == "EMULATION OVERRUN at 1 of 2 points"
    assert told_overrun([[runs[1]], [runs[2]]]) == "EMULATION OVERRUN"
    assert len(advice_on([told_overrun([[runs[1]]])])) == 1
