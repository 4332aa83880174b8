"""What each section of the report says of a result."""

import dataclasses
import random
import re
from collections.abc import Callable

import pytest
import report_results as made
from lxml import etree

from experiments.report import words
from experiments.report.parts import Plot, Section, Tabled
from experiments.report.sections import disclosure, flattened, knee, point_columns, points
from experiments.result.latency import marked
from experiments.result.schema import CallTime, Knee, SizedLatency
from experiments.workloads.discovery import ABOUT
from experiments.workloads.discovery.result import Result
from experiments.workloads.discovery.sections import ALWAYS, sections
from experiments.workloads.discovery.sections.counted import exceptions
from experiments.workloads.discovery.sections.latency import calls_an_item, io_kinds, latency, stages
from experiments.workloads.discovery.sections.over_time import (
    by_slot,
    calls_over_time,
    database_activity,
    generator,
    occupancy,
    phases,
    queue_depth,
)
from experiments.workloads.discovery.sections.r1 import one_or_two, r1_comparison, r1_tables, sizes
from experiments.workloads.discovery.sections.scaling import _speed_ups, scaling
from experiments.workloads.discovery.views import busiest, middle_run, point_name


def shown_in(section: Section) -> str:
    """Everything a reader reads in the section, figures aside."""
    texts = []
    for part in section.parts:
        if isinstance(part, Plot):
            texts.append(part.sentence)
        else:
            markup = part.table if isinstance(part, Tabled) else part
            texts.append(" ".join(etree.fromstring(f"<div>{markup}</div>").itertext()))
    return "\n".join(texts).replace("\u00a0", " ")


def tables(section: Section) -> list[list[list[str]]]:
    """The cells of each table of the section, header aside."""
    parts = [part for part in section.parts if isinstance(part, Tabled)]
    return [
        [
            [" ".join(cell.itertext()).replace("\u00a0", " ") for cell in row]
            for row in etree.fromstring(str(part.table)).iterfind(".//tbody/tr")
        ]
        for part in parts
    ]


def plot(section: Section) -> Plot:
    """The section's only or first figure."""
    return next(part for part in section.parts if isinstance(part, Plot))


def scale_out() -> Result:
    """Two workers on one and on two databases."""
    return made.result(made.point(2), made.point(2, databases=2), kind="scale-out")


def test_points_report_limited_ones_and_why() -> None:
    """A point that says nothing about the storage must not stand there like the others."""
    section = points(made.result(made.point(1), made.point(2, limited=True)))
    (rows,) = tables(section)
    assert [row[-1] for row in rows] == ["", "GENERATOR-LIMITED"]
    assert "2 workers: elapsed is 1.10 times that on null storage" in shown_in(section)
    assert "probability of 75 %" in shown_in(section)


def test_each_setting_is_a_curve_of_its_own() -> None:
    """Promise: points that differ in a setting are not joined to one curve, and are named by it."""
    varied = [
        dataclasses.replace(point, at=dataclasses.replace(point.at, setting=setting))
        for setting in ("fsync=none", "fsync=file")
        for point in (made.point(1), made.point(2))
    ]
    text = shown_in(scaling(made.result(*varied)))
    assert "2 workers on fsync=none reach" in text
    assert "2 workers on fsync=file reach" in text
    assert point_name(varied[0], varied) == "1 worker, fsync=none"
    assert point_name(varied[0], varied[:2]) == "1 worker"


def test_what_every_point_has_is_no_column_and_settings_are_not_compared_by_workers() -> None:
    """Promise: the table of a sweep or a tune is as wide as what differs, and its report has no section on workers."""
    varied = [
        dataclasses.replace(made.point(2), at=dataclasses.replace(made.point(2).at, setting=s))
        for s in ("default", "fsync=file")
    ]
    result = made.result(*varied, axis="setting")
    titles = [column.title for column in point_columns(result, ABOUT) if column.title]
    assert "setting" in titles
    assert not {"databases", "workers", "slots"} & set(titles)
    assert "Every point has 1 database, 2 workers and" in shown_in(points(result))
    anchors = {section.anchor for section in sections(result)}
    assert "points" in anchors
    assert not {"scaling", "one-or-two", "r1"} & anchors


def test_single_repeats_are_reported_to_prove_nothing() -> None:
    assert "prove nothing" in shown_in(points(made.result(made.point(1, repeats=1), made.point(2, repeats=3))))


def test_r1_is_next_to_ours_with_its_labels() -> None:
    """R1's rows as printed, ours labelled in the row itself, gains computed from elapsed times."""
    (rows,) = tables(r1_comparison(made.result(made.point(1), made.point(2, limited=True))))
    assert rows[0][:4] == ["R1", "1", "10", "6:24:55"]
    assert [row[-1] for row in rows[:2]] == ["1.00×", "1.35×"]
    assert rows[2][0] == "ours; EMULATED FILER titan, scale 1/50"
    assert rows[3][0] == "ours; EMULATED FILER titan, scale 1/50; GENERATOR-LIMITED"
    assert rows[3][-1] == "1.74×"


def test_r1_scale_out_needs_two_numbers_of_databases() -> None:
    """The second table stands there only where the quantity was measured."""
    alone = r1_comparison(made.result())
    assert len(tables(alone)) == 1
    assert "Scale-out is not shown" in shown_in(alone)
    both = r1_comparison(scale_out())
    assert [row[-1] for row in tables(both)[1]] == ["1.00×", "1.49×", "1.00×", "1.41×"]
    assert "R1 gains 1.49× from 1 to 2 databases at 30 workers; ours gains 1.41×" in shown_in(both)
    shared = dataclasses.replace(scale_out(), conditions={"configuration": {"several_databases": "all of one source"}})
    assert "Ours: all of one source." in shown_in(r1_comparison(shared))


def test_r1_has_its_tables_for_each_setting() -> None:
    """Else rows of two mounts are in one table, and a gain is from one to the other."""
    points = [
        dataclasses.replace(point, at=dataclasses.replace(point.at, setting=setting))
        for point in (made.point(1), made.point(2), made.point(2, databases=2))
        for setting in ("mount=vers=3", "mount=vers=4.2")
    ]
    found = r1_tables(made.result(*points, kind="r1"))
    titles = [
        f"{what}, {setting}" for setting in ("mount=vers=3", "mount=vers=4.2") for what in ("Scale-up", "Scale-out")
    ]
    assert [one.title for one in found] == titles
    assert len({one.name for one in found}) == 4
    assert all({point.at.setting for point in one.points} == {one.title.split(", ")[1]} for one in found)
    assert [len(one.points) for one in found] == [2, 2, 2, 2]


def test_a_gain_inside_the_noise_is_none() -> None:
    """Repeats that mix must be called no difference."""
    rates = (40, 45, 50, 55, 60)
    noisy = [made.point(n, runs=[made.run(n, rate=r, repeat=i) for i, r in enumerate(rates)]) for n in (1, 2)]
    assert "the repeats show no difference" in shown_in(r1_comparison(made.result(*noisy)))


def test_few_runs_prove_no_difference() -> None:
    alone = made.result(made.point(1, repeats=1), made.point(2, repeats=1))
    assert "ours gains 1.74× from 1 to 2 workers; fewer than 5 repeats, which" in shown_in(r1_comparison(alone))


def test_scaling_states_speed_up_and_efficiency() -> None:
    section = scaling(made.result())
    assert "2 workers reach 1.74× the rate of 1, an efficiency of 87 %" in shown_in(section)
    assert "at least 6 worker counts; this result has 2" in shown_in(section)
    some = made.result(*(made.point(n, repeats=repeats) for n, repeats in ((1, 5), (2, 5), (4, 3))))
    assert "Whiskers are intervals" in shown_in(scaling(some))


def test_the_interval_of_a_speed_up_has_the_spread_of_both_points() -> None:
    """Else it holds the true speed-up less often than it says: the rate of the fewest workers is measured, too."""
    dice, held = random.Random(1), 0
    for _ in range(200):
        each = [
            made.point(n, runs=[made.run(n, rate=(9 * n + 1) * dice.lognormvariate(0, 0.05)) for _ in range(6)])
            for n in (1, 2)
        ]
        _, _, low, high = _speed_ups(each)[-1]
        held += (low or 9) <= 1.9 <= (high or 0)
    assert held >= 190


def test_scaling_fits_the_law_with_six_worker_counts() -> None:
    def law(n: int) -> float:
        return 40 * n / (1 + 0.1 * (n - 1) + 0.001 * n * (n - 1))

    ladder = [made.point(n, runs=[made.run(n, rate=law(n))]) for n in (1, 2, 4, 8, 16, 32)]
    rows = tables(scaling(made.result(*ladder)))[0]
    assert [row[1] for row in rows] == ["40.0", "0.100", "0.00100"]


def test_workers_that_only_hold_each_other_up_peak_at_one() -> None:
    """Each that is added lowers the rate, as on a filer that is locked as a whole: κ is well above zero."""
    ladder = [
        made.point(n, runs=[made.run(n, rate=40 * n / (1 + 1.2 * (n - 1) + 0.05 * n * (n - 1)), repeat=r) for r in (0, 1)])
        for n in (1, 2, 4, 8, 16, 32)
    ]  # fmt: skip
    text = shown_in(scaling(made.result(*ladder)))
    assert "By the law throughput peaks at 1 worker." in text
    assert "not distinguishable" not in text


def test_calls_are_called_calls() -> None:
    result = made.result()
    section = calls_over_time(result)
    peak = max(sum(ops.values()) for _, ops in result.points[1].repeats[1].series.calls_per_second)
    assert f"2 workers: {peak:,} calls a second at the peak" in shown_in(section)
    assert "filer operations" in shown_in(section)


def test_database_activity_sums_databases_and_keeps_each_in_the_series() -> None:
    result = scale_out()
    section = database_activity(result)
    samples = result.points[1].repeats[1].series.database_activity
    most = max(sum(db["commits"] for db in by_db.values()) for _, by_db in samples)
    assert f"2 workers, 2 databases: at most {most:.1f} commits a second" in shown_in(section)
    assert {row[6] for row in plot(section).series.rows} == {"db1", "db2"}


def test_databases_sampled_at_different_moments_make_no_peaks() -> None:
    activity = tuple((t + d / 100, {f"db{d}": {"commits": 10, "rows": 20}}) for t in (1.0, 2.0, 3.0) for d in (1, 2))
    run = made.run(2, databases=2)
    run = dataclasses.replace(run, series=dataclasses.replace(run.series, database_activity=activity))
    section = database_activity(made.result(made.point(2, databases=2, runs=[run])))
    assert "at most 20.0 commits a second (2.0 s into the run) and 40.0 rows a second" in shown_in(section)


def test_one_against_two_databases() -> None:
    assert "2 databases instead of 1 change discovered GB/hour from 70.3 to 99.5, 1.41×" in shown_in(
        one_or_two(scale_out())
    )


def test_sizes_say_expansion_and_the_best_rate() -> None:
    text = shown_in(sizes(made.result()))
    assert "90.0 MB become 151 MB (expansion 1.68×" in text
    assert "the highest rate is 70.3 discovered GB/hour (41.9 raw) with 2 workers" in text


def test_stages_have_latency_and_utilisation_of_each_third() -> None:
    section = stages(made.result())
    assert "the p99 of read is 1.28 ms, 1.60 ms, 2.24 ms in the three thirds" in shown_in(section)
    (rows,) = tables(section)
    assert [row[0] for row in rows][1:] == [
        "emulated filer, metadata: utilisation",
        "emulated filer, metadata: mean wait",
    ]


def test_queue_depth_states_how_deep_and_whether_slots_starved() -> None:
    text = shown_in(queue_depth(made.result()))
    assert re.search(r"the most tasks pending were \d+", text)
    assert "some slot was free though tasks were pending" in text


def test_latency_names_the_most_frequent_and_the_slowest_op() -> None:
    text = shown_in(latency(made.result()))
    assert "rename is made most often (8,000 calls" in text
    assert "From 1 to 2 workers the p99 changes: read from 1.60 ms to 2.26 ms" in text


def test_latencies_by_size_stand_under_their_op() -> None:
    sized = SizedLatency(calls=77, p50_us=5.0, p95_us=6.0, p99_us=7.0)
    whole = made.result()
    points = [
        dataclasses.replace(
            point,
            repeats=tuple(
                dataclasses.replace(run, latency=run.latency | {
                    "read": dataclasses.replace(run.latency["read"], sizes={"to 4 KiB": sized})})
                for run in point.repeats
            ),
        )
        for point in whole.points
    ]  # fmt: skip
    section = latency(dataclasses.replace(whole, points=tuple(points)))
    assert "read to 4 KiB" in shown_in(section)
    assert "read to 4 KiB" not in shown_in(latency(whole))
    rows = [row for row in plot(section).series.rows if row[5] == "read to 4 KiB"]
    assert len(rows) == sum(len(point.repeats) for point in points)
    assert {row[6:] for row in rows} == {(77, None, None, 5.0, 6.0, 7.0, None, "")}


def test_percentiles_of_waiting_for_a_processor_are_marked() -> None:
    """A p99 of which more than half is such waiting; what of the time in calls is what stands beside."""
    time = CallTime(call_s=10.0, service_s=6.0, queue_s=3.0, processor_s=1.0, exact=True, dominated={"read": ("p99",)})
    whole = made.result()
    points = [
        dataclasses.replace(
            point,
            repeats=tuple(dataclasses.replace(run, latency=marked(run.latency, time), call_time=time)
                          for run in point.repeats),
        )
        for point in whole.points
    ]  # fmt: skip
    section = latency(dataclasses.replace(whole, points=tuple(points)))
    assert re.findall(r"[\d.]+ [mµ]?s†", shown_in(section)) == [
        words.microseconds(middle_run(busiest(whole)).latency["read"].p99_us) + "†"
    ]
    assert "60 % service, 30 % in the filer's queues, 10 % waiting for a core" in shown_in(section)
    assert "†" not in shown_in(latency(whole))


def test_every_kind_of_io_has_a_line() -> None:
    nobody = {
        "recorded": False,
        "read_bytes": None,
        "written_bytes": None,
        "when": "after the end",
        "counted_by": "nothing",
    }
    calls = {"kind": "calls", "recorded": True, "read_bytes": 3_000, "written_bytes": 0, "when": "w", "counted_by": "t"}
    counted = {"kind": "block", "source": "h:sda", "read_bytes": 7_000, "written_bytes": 1}
    io = {"kinds": [calls, {"kind": "searches"} | nobody], "counters": [counted], "unrecorded_share": 0.25}
    whole = made.result()
    points = [
        dataclasses.replace(point, repeats=tuple(
            dataclasses.replace(run, result=run.result | {"io": io}) for run in point.repeats
        ))
        for point in whole.points
    ]  # fmt: skip
    section = io_kinds(dataclasses.replace(whole, points=tuple(points)))
    (rows,) = tables(section)
    assert [row[:4] for row in rows] == [
        ["calls", "yes", "3.00 kB", "0 B"],
        ["searches", "no", "not counted", "not counted"],
        ["block h:sda", "beside", "7.00 kB", "1 B"],
    ]
    assert "25 % is unrecorded" in shown_in(section)
    assert "Not shown" in shown_in(io_kinds(whole))


def test_knee_names_peak_knee_and_what_broke() -> None:
    found = Knee(bounds_us={"read": 20_000.0}, peak=1, knee=0, broken="read p99 21.0 ms over 20.0 ms at 2 workers")
    text = shown_in(knee(made.result(kind="knee", knee=found)))
    assert "The peak is 70.3 GB/hour discovered with 2 workers" in text
    assert "the last point within every bound is 1 worker with 40.4 (read p99 21.0 ms over" in text


def test_each_setting_has_a_line_of_its_own() -> None:
    """Told apart in the series and in words."""
    whole = made.result(kind="knee")
    points = [
        dataclasses.replace(point, at=dataclasses.replace(point.at, setting=f"fsync={policy}"))
        for policy in ("none", "file")
        for point in whole.points
    ]
    each = len(whole.points)
    knees = tuple(Knee(bounds_us={"read": 20_000.0}, peak=n, knee=None, broken="x") for n in (0, each))
    section = knee(dataclasses.replace(whole, points=tuple(points), knees=knees))
    (plot,) = (part for part in section.parts if isinstance(part, Plot))
    assert [row[0] for row in plot.series.rows] == ["fsync=none"] * each + ["fsync=file"] * each
    assert "fsync=none: The peak is" in shown_in(section)
    assert "fsync=file: The peak is" in shown_in(section)


def test_calls_an_item_are_reported_to_be_another_quantity() -> None:
    """36,000 calls over 2,400 items; R1's filer operations stand beside, labelled."""
    section = calls_an_item(made.result())
    (rows,) = tables(section)
    assert rows[0][:4] == ["1 worker", "2,400", "15.0 calls", "0.42"]
    assert rows[-1][:4] == ["R1", "about 1 million", "≥ 70 filer ops", "–"]
    assert "a different quantity" in shown_in(section)


def test_several_jobs_are_added_up() -> None:
    (rows,) = tables(calls_an_item(scale_out()))
    assert [row[1:3] for row in rows[:2]] == [["2,400", "15.0 calls"], ["4,800", "15.0 calls"]]


def test_phases_say_which_took_longest() -> None:
    assert "With 1 worker index takes 55 % of 13.5 s" in shown_in(phases(made.result()))


def test_occupancy_states_the_straggler_tail() -> None:
    assert "a straggler tail of 7.0 % of elapsed" in shown_in(occupancy(made.result()))


def test_slots_are_in_order_of_their_numbers() -> None:
    later, earlier = ("w-2", 0, "expand", 2.0, 3.0), ("w-2", 0, "expand", 1.0, 1.99)
    rows = by_slot((("w-10", 0, "walk", 0.0, 1.0), later, earlier))
    assert list(rows) == [("w-2", 0), ("w-10", 0)]
    assert rows["w-2", 0] == [earlier, later]


def test_generator_table_has_every_repeat() -> None:
    (rows,) = tables(generator(made.result()))
    assert len(rows) == 6
    assert rows[0] == ["1 worker, repeat 1", "10 %", "0.50 s", "2.5 %", "13.6 s", "6.8 s", "50 %"]


def test_exceptions_say_whether_runs_agree() -> None:
    """The same corpus must give each run the same exceptions; where it does not, each run has its row."""
    assert "Each of 6 runs recorded the same 5 exceptions." in shown_in(exceptions(made.result()))
    one = made.point(1, repeats=2)
    other = dataclasses.replace(one.repeats[1], result=one.repeats[1].result | {"exceptions": {"encrypted": 9}})
    section = exceptions(made.result(dataclasses.replace(one, repeats=(one.repeats[0], other))))
    assert "The 2 runs differ: 5 to 9 exceptions." in shown_in(section)
    assert tables(section)[0] == [["encrypted", "2", "9"], ["zero_bytes", "3", "0"]]


def test_disclosure_leaves_no_condition_out() -> None:
    conditions = {"a": {"b": [{"c": None}, {"c": ""}]}, "d": [], "e": [1, 2], "f": {}, "g": False}
    assert [key for key, _ in flattened(conditions)] == ["a.b.1.c", "a.b.2.c", "d", "e", "f", "g"]
    rows = tables(disclosure(made.result(conditions=conditions)))[0]
    assert [row[1] for row in rows] == ["not known", "none", "none", "1, 2", "none", "no"]


@pytest.mark.parametrize("section", ALWAYS, ids=lambda section: section.__name__)
def test_what_is_missing_is_reported_and_not_drawn(section: Callable[[Result], Section]) -> None:
    """Without series a section gives its reason and no empty figure; no section fails."""
    built = section(made.without_series(made.result(made.point(1))))
    from_series = (scaling, calls_over_time, database_activity, one_or_two, stages, queue_depth, latency, calls_an_item,
                   phases, occupancy)  # fmt: skip
    if section in from_series:
        assert re.match(r"Not shown: .+", shown_in(built))
        assert not any(isinstance(part, Plot) for part in built.parts)
    assert shown_in(built)


@pytest.mark.parametrize("section", ALWAYS, ids=lambda section: section.__name__)
def test_every_figure_has_a_sentence_with_its_number(section: Callable[[Result], Section]) -> None:
    for part in section(scale_out()).parts:
        if isinstance(part, Plot):
            assert re.search(r"\d", part.sentence)
            assert part.sentence.endswith(".")
