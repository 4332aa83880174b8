"""Stages of load, and successive halving of settings."""

import dataclasses
import random
from collections import Counter

import pytest
from experiment_runs import a_run
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UsageError
from core.records import FsyncPolicy, JobOptions
from experiments.kinds import Findings, in_stages, kind_of, parse_stages, planned
from experiments.result.schema import At
from experiments.workloads.discovery import ABOUT
from experiments.workloads.discovery.result import PointSpec, Run
from experiments.workloads.discovery.setting import crossed, drawn, named, parse_setting


def test_a_stage_repeats_its_run_until_its_time_is_over() -> None:
    """Promise: stages keep their order, the last run of each is finished, and the plan gives the same stages again."""
    stages = kind_of(in_stages(PointSpec(1, 1, 4), "workers", parse_stages("4x65s, 1x0.5m")), ABOUT)
    seen: list[tuple[At, int]] = []

    def measure(at: At, repeat: int) -> Run:
        seen.append((at, repeat))
        return a_run(20.0)

    runs = stages.run(measure).runs
    assert [(at, len(own)) for at, own in runs.items()] == [(PointSpec(1, 4, 4), 4), (PointSpec(1, 1, 4), 2)]
    assert seen == [(PointSpec(1, 4, 4), n) for n in range(4)] + [(PointSpec(1, 1, 4), n) for n in range(2)]
    assert stages.points() == list(runs)


@pytest.mark.parametrize(
    "text", ["", "4", "4x", "x5m", "0x5m", "4x0m", "4x5d", "4x5m,4x1m", "4x5m;1x5m", "-1x5m", "1x" + "9" * 12 + "h"]
)
def test_stages_that_make_no_sense_are_refused(text: str) -> None:
    """Promise: in one line, with the option."""
    with pytest.raises(UsageError, match="--stages"):
        parse_stages(text)


def _tuned(rates: dict[str, float], repeats: int) -> Findings:
    points = [PointSpec(1, 2, 4, setting=setting) for setting in rates]

    def measure(at: At, repeat: int) -> Run:
        assert isinstance(at, PointSpec)
        return a_run(1_000.0 / rates[str(at.setting)])

    return kind_of(planned("tune", "setting", points, repeats=repeats, seed=3), ABOUT).run(measure)


@given(st.permutations(range(1, 10)), st.integers(1, 4))
def test_halving_finds_the_best_and_compares_fresh_runs(rates: list[int], repeats: int) -> None:
    """Promise: the better half of each round goes on with twice the repeats; last, the best and the default are run again."""
    found = _tuned({str(n): float(rate) for n, rate in enumerate(rates)}, repeats)
    assert rates[found.tuning.best] == max(rates[1:])
    assert [len(one) for one in found.tuning.rounds] == [8, 4, 2]
    count = Counter({at.setting: len(own) for at, own in found.runs.items() if isinstance(at, PointSpec)})
    assert count["0"] == repeats
    assert count[str(found.tuning.best)] == 1 + 2 + 4 + repeats
    assert sorted(count.values())[:4] == sorted([1, 1, 1, 1, repeats])[:4]


def test_settings_are_drawn_and_named() -> None:
    """Promise: the same seed draws the same settings, none of them the default or twice; a name that is none is refused."""
    dice = random.Random(1)
    for _ in range(20):
        seed = dice.randrange(10**6)
        found = drawn(8, 8, seed)
        assert found == drawn(8, 8, seed) == named(found)
        assert len(set(found)) == 8
    assert named(["--batch-mb=8 task-order=fair"]) == ["batch-mb=8 task-order=fair"]
    for wrong in (
        "batch-mb=0",
        "batch-mb=",
        "speed=9",
        "task-order=best",
        "batch-mb",
        "default",
        "mount=a;b",
        "mount=../x",
    ):
        with pytest.raises(UsageError):
            named([wrong])


def test_axes_are_crossed_and_applied_over_the_experiments_options() -> None:
    """Promise: every combination once; what a point does not set stays as the experiment has it; a mount is only a name."""
    found = crossed(["fsync=none|file", "batch-mb=8|32"], "nconnect=1|4")
    assert len(found) == 8
    assert found[0] == "batch-mb=8 fsync=none mount=nconnect=1"
    setting = parse_setting(found[-1])
    assert str(setting) == found[-1] == "batch-mb=32 fsync=file mount=nconnect=4"
    base = JobOptions(batch_files=7, most_tasks=3, single_pass=True)
    made = setting.applied(base)
    assert made == dataclasses.replace(base, fsync=FsyncPolicy.FILE)
    for wrong in (
        ["fsync=none"],
        ["fsync"],
        ["fsync=none|none"],
        ["speed=1|2"],
        ["fsync=none|file", "fsync=task|none"],
        [],
    ):
        with pytest.raises(UsageError):
            crossed(wrong, None)
    with pytest.raises(UsageError):
        crossed([], "nconnect=1|$(id)")
