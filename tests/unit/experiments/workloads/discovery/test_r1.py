"""What is printed and written of report R1's rows: tables, a few lines, the report's section, where the parameters come from."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from r1_study import r1_point, r1_run, r1_study
from report_results import result, run

from controller.labels.advice import advice_on
from core.clock import SystemClock
from core.records import JobOptions
from core.settings import read_settings
from experiments.overrun import overran, told_overrun
from experiments.report.words import seconds
from experiments.result.codec import from_json, to_json
from experiments.result.schema import CallTime
from experiments.workloads.discovery.configuration import configuration
from experiments.workloads.discovery.r1.brief import brief, speed_told
from experiments.workloads.discovery.r1.checks import checks, verdict
from experiments.workloads.discovery.r1.parameters import INDEX_STREAMS, parameters, scaled_tasks
from experiments.workloads.discovery.r1.seen import seconds_told
from experiments.workloads.discovery.r1.tables import TABLE, r1_tables
from experiments.workloads.discovery.result import Result
from experiments.workloads.discovery.run_point import Load
from experiments.workloads.discovery.sections import sections
from experiments.workloads.discovery.sections.beside_r1 import beside_r1


def test_few_lines_say_whether_the_ratios_come_out() -> None:
    """And where they do not, or the machine did not keep up, that before anything else."""
    study = r1_study()
    assert brief(study, checks(study), 2000)[0].startswith(
        "R1's ratios are reproduced here (1/2000 of its data, 1 run of"
    )
    assert brief(study, checks(study), 2000)[1] == "Of the report's other figures 10 of 10 hold."
    slow = r1_point(1, 30, gb_per_hour_discovered=1.18 * 11.69)
    missed = r1_study(r1_point(1, 10), slow, r1_point(2, 30))
    first = brief(missed, checks(missed), 2000)[0]
    assert first.startswith("R1's ratios are NOT reproduced here")
    assert "30 over 10 workers 1.18 x (R1 1.35 x)" in first
    late = dataclasses.replace(study, labels=("EMULATION OVERRUN at 1 of 3 points",))
    (alone,) = brief(late, checks(late), 2000)
    assert "did not keep up" in alone, "and nothing of what holds"
    unknown = dataclasses.replace(study, labels=("EMULATION NOT JUDGED",))
    (alone,) = brief(unknown, checks(unknown), 2000)
    assert "it was not measured whether this machine kept up" in alone
    assert {verdict(one, unknown) for one in checks(unknown)} == {"no verdict"}


def test_a_machine_that_did_not_keep_up_is_told_what_to_ask_for() -> None:
    """Twice the scale or so where its processors were busy all the time; nothing where it kept up."""
    study = r1_study()
    study.conditions["emulated_filer"] = {
        "machine_speed": [{"run": 0, "median": 0.5, "lowest": 0.4, "highest": 0.9}],
        "numbers": {"site": {"time_scale": 1.5}},
    }
    assert speed_told(study) == ["This machine's cores had 0.40 to 0.90 of the speed that the site assumes."]
    points = (r1_point(1, 10), r1_point(1, 30), r1_point(2, 30, host_cpu=0.96))
    over = dataclasses.replace(study, points=points)
    assert "At time x 1.5 they were busy for 96% in a run" in speed_told(over)[1]
    assert "say --time-scale 3.0," in speed_told(over)[1]
    study.conditions["emulated_filer"]["numbers"]["source"] = "site/r1@500x1.5"
    assert "say --time-scale 3.0," in speed_told(over)[1]
    study.conditions["emulated_filer"]["numbers"]["source"] = "/sites/mine.toml"
    assert "set time_scale = 3.0 in /sites/mine.toml," in speed_told(over)[1], "the option is refused beside a file"


def test_its_tables_say_whose_seconds_they_have() -> None:
    """This machine's, while the checks below have the site's."""
    study = _on("r1", INDEX_STREAMS)
    assert seconds_told(study) == ""
    assert "seconds of this machine" not in " ".join(str(part) for part in beside_r1(study).parts)
    study.conditions["emulated_filer"]["numbers"] = {"site": {"time_scale": 1.7}}
    assert seconds_told(study).endswith("a second of the site takes 1.7 of them (time x 1.7).")
    assert "a second of the site takes 1.7 of them" in " ".join(str(part) for part in beside_r1(study).parts)


def test_both_tables_have_the_reports_rows_first() -> None:
    """R1's as printed, ours below, with gains over the first row of each."""
    (up_title, up), (out_title, out) = r1_tables(r1_study())
    assert (up_title, out_title) == ("Scale-up", "Scale-out")
    assert [row[0] for row in up] == [row[0] for row in out] == ["R1", "R1", "ours", "ours"]
    assert {len(row) for row in (*up, *out)} == {len(TABLE)}
    assert [row[-1] for row in up] == ["1.00 x", "1.35 x", "1.00 x", "1.35 x"]
    assert [row[-1] for row in out] == ["1.00 x", "1.49 x", "1.00 x", "1.49 x"]


def test_both_tables_are_over_the_longest_jobs_time() -> None:
    """That is R1's quantity: two jobs that began apart took longer from the first start to the last end."""
    usual = r1_run(2, 30)
    jobs = [job | {"elapsed_s": 0.8 * usual.elapsed_s} for job in usual.result["jobs"]]
    changes: dict[str, Any] = {
        "result": usual.result | {"jobs": jobs},
        "gb_per_hour_discovered": 0.8 * usual.gb_per_hour_discovered,
    }
    study = r1_study(r1_point(1, 30), r1_point(2, 30, **changes))
    _, rows = r1_tables(study)[1]
    ours = rows[-1]
    assert ours[3] == seconds(0.8 * usual.elapsed_s)
    assert ours[-1] == "1.49 x"
    assert seconds(0.8 * usual.elapsed_s) in str(beside_r1(study).parts)


def _on(site: str, streams: int | str) -> Result:
    study = r1_study()
    study.conditions["emulated_filer"] = {"name": site}
    study.conditions["configuration"] = {"index_streams": streams}
    return study


def _r1_section(of: Result) -> str:
    found = {section.anchor: section for section in sections(of)}
    return " ".join(str(part) for part in found["r1-site"].parts)


def test_its_report_has_the_section_and_others_have_not() -> None:
    """With checks, parameters and how to see the same site without the limit."""
    assert "r1-site" not in {section.anchor for section in sections(result())}
    text = _r1_section(_on("r1", INDEX_STREAMS))
    assert "edbench bench r1 --index-streams 0 runs it" in text
    assert "This is the site without that limit" in _r1_section(_on("r1", "no limit"))
    late = dataclasses.replace(_on("r1", INDEX_STREAMS), labels=("EMULATION OVERRUN",))
    assert "no verdict" in _r1_section(late)


def test_on_real_hosts_nothing_is_held_against_the_site() -> None:
    """Rows of `--hosts` have R1's tables beside ours, and no check of what is the emulated site's."""
    study = r1_study()
    study.conditions.pop("emulated_filer", None)
    anchors = {section.anchor for section in sections(study)}
    assert "r1" in anchors
    assert "r1-site" not in anchors


def test_parameters_are_those_of_the_study() -> None:
    """Other streams than were fitted are told, and of another site nothing that is so of r1."""
    lists = dict(parameters(_on("r1", INDEX_STREAMS)))
    assert list(lists) == ["From the report", "Assumed", "Fitted"]
    assert f"{INDEX_STREAMS} tasks of phase index at a time" in lists["Fitted"][-1]
    assert f"those put together to {INDEX_STREAMS}" in lists["Fitted"][-1]
    for streams in ("no limit", 10):
        assert dict(parameters(_on("r1", streams)))["Fitted"][-1].endswith(f"in this experiment: {streams}")
    assert parameters(_on("mine", INDEX_STREAMS)) == []
    assert "five hosts of 44 cores" not in _r1_section(_on("mine", INDEX_STREAMS))


def test_without_a_limit_of_streams_nothing_else_is_one() -> None:
    """Tasks of phase index are put together for so many streams, and where there are none for all 120 slots: six would work else."""
    assert scaled_tasks(500, None).index_tasks == 120
    assert scaled_tasks(500, None).index_streams is None
    assert [scaled_tasks(500, streams).index_tasks for streams in (3, 10)] == [3, 10]


def _configuration(options: JobOptions) -> dict[str, object]:
    load = Load(
        options=options,
        shard=False,
        copies=False,
        cold=False,
        env={},
        clock=SystemClock(),
        show=lambda *_: None,
        say=print,
    )
    return configuration(read_settings({}), load, None, cluster="embedded")


def test_results_that_differ_in_their_tasks_are_not_compared() -> None:
    """Files of a task and tasks of phase index are in what has to be alike; where they are as usual no result names them."""
    usual, three, free = (_configuration(of) for of in (JobOptions(), scaled_tasks(500, 3), scaled_tasks(500, None)))
    assert (three["task_files"], three["index_tasks"], three["index_streams"]) == (3, 3, 3)
    assert (free["task_files"], free["index_tasks"], free["index_streams"]) == (3, 120, "no limit")
    assert not usual.keys() & {"task_files", "index_tasks"}


def _time(late: float) -> CallTime:
    return CallTime(call_s=100.0 + late, service_s=100.0, queue_s=0.0, processor_s=late, exact=True, dominated={})


def test_what_it_writes_can_be_read_again() -> None:
    """A kind of its own is one that a result may have: report, compare and check read it."""
    study = r1_study()
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
