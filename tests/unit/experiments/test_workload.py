"""A workload is one file: that of CONTRIBUTING.md, as it stands there."""

import dataclasses
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from array_counters import MEAN, NAME, UNIT, array_files

import experiments.workloads
from controller.arrays.mapping import read_map
from core.clock import SystemClock
from core.errors import RunFailed, UsageError
from experiments.arrays import Array
from experiments.kinds import sweep
from experiments.package.check import check, finish
from experiments.result.codec import json_schema, read_result
from experiments.result.compare import compare
from experiments.result.schema import ArrayUse
from experiments.study import ATTEMPTS, Begun, conduct
from experiments.workload import Disturbed, HostLost, Turn
from experiments.workloads import about, names

ROOT = Path(__file__).parents[3]


@pytest.fixture
def listing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The example, put beside the others."""
    code = re.search(r"```python\n(\"\"\".*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    assert len(code[1].splitlines()) < 100
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "listing.py").write_text(code[1])
    monkeypatch.setattr(experiments.workloads, "__path__", [*experiments.workloads.__path__, str(tmp_path / "more")])
    experiments.workloads._modules.cache_clear()
    about("listing")
    yield sys.modules["experiments.workloads.listing"]
    del sys.modules["experiments.workloads.listing"]
    experiments.workloads._modules.cache_clear()
    about.cache_clear()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Three directories with nine entries."""
    for name in ("a", "b"):
        (tmp_path / "tree" / name).mkdir(parents=True)
        for number in range(3):
            (tmp_path / "tree" / name / f"{number}.txt").touch()
    (tmp_path / "tree" / "c.txt").touch()
    return tmp_path / "tree"


def test_the_example_is_studied_reported_and_compared(listing: ModuleType, tree: Path, tmp_path: Path) -> None:
    """Repeats, intervals, a verdict, a report, a schema; nothing but its file knows of it."""
    made = []
    for seed in (1, 2):
        plan = sweep([listing.Load(1)], "threads", [2, 1], repeats=3, seed=seed)
        result, directory = conduct(listing.Listing(tree, tmp_path, SystemClock()), plan)
        assert read_result(directory) == result
        assert finish(result, directory).exists()
        assert check(directory).differences == ()
        made.append(result)
    first = made[0]
    assert [point.at for point in first.points] == [listing.Load(1), listing.Load(2)]
    assert {run.entries for point in first.points for run in point.repeats} == {9}
    assert sorted(run.order for point in first.points for run in point.repeats) == list(range(6))
    assert {point.figures["entries_per_s"].n for point in first.points} == {3}
    assert "entries/s at 2 threads" in first.verdict
    assert [row.at for row in compare(made, force=False).rows] == [{"threads": 1}, {"threads": 2}]
    assert "listing" in names()
    assert len(json_schema()["oneOf"]) == len(names())


def test_every_run_has_the_counters_of_the_array(listing: ModuleType, tree: Path, tmp_path: Path) -> None:
    """Promise: of any workload, from a CSV or Prometheus: in the result, the report and the package, which is checked. A run that
    the counters do not cover is a run without them."""
    plan = sweep([listing.Load(1)], "threads", [1, 2], repeats=2, seed=1)
    file, mapping = array_files(tmp_path)
    array = Array(mapping=read_map(mapping), file=file, offset_s=0.0, env={})
    result, directory = conduct(listing.Listing(tree, tmp_path, SystemClock()), plan, array=array)
    runs = [run for point in result.points for run in point.repeats]
    assert [run.array for run in runs] == [(ArrayUse(name=NAME, unit=UNIT, mean=MEAN, peak=MEAN),)] * 4
    page = finish(result, directory).read_text()
    assert page.index("Counters of the array") < page.index("Full disclosure")
    assert (directory / "series" / "array.csv").read_text().splitlines()[1:] == [
        f"{threads},{NAME},{UNIT},30.0,30.0" for threads in (1, 2)
    ]
    assert check(directory).differences == ()
    late = dataclasses.replace(array, offset_s=-7_200.0)
    listed, shown = listing.Listing(tree, tmp_path, SystemClock()), list[str]()
    listed.say = shown.append
    result, _ = conduct(listed, plan, array=late)
    assert {run.array for point in result.points for run in point.repeats} == {()}
    assert sum("no counters of the array for this run: no value is within" in line for line in shown) == 4


def test_a_null_baseline_is_run_again_when_a_member_is_lost(
    listing: ModuleType, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Promise: an experiment does not end without a result because of it."""
    lost: list[str] = []

    def on_null(_self: object, turn: Turn) -> dict[str, Any]:
        if len(lost) < ATTEMPTS - 1:
            lost.append(turn.name.partition("/")[2])
            raise HostLost("member m1 was lost")
        return {"null_elapsed_s": 0.5}

    monkeypatch.setattr(listing.Listing, "on_null", on_null)
    plan = sweep([listing.Load(1)], "threads", [1], repeats=1, seed=1)
    result, _ = conduct(listing.Listing(tree, tmp_path, SystemClock()), plan)
    assert result.points[0].repeats[0].null_elapsed_s == 0.5
    assert lost == ["000-null", "000-null-1"]


def test_bounds_are_judged_stored_checked_and_shown(listing: ModuleType, tree: Path, tmp_path: Path) -> None:
    """Promise: of any workload; the package's check judges them again; a wrong name is refused before anything is prepared."""
    plan = sweep([listing.Load(1)], "threads", [1, 2], repeats=1, seed=1)
    bounds = ["entries_per_s<1000000000", "elapsed_s>1h", "p99.read>1s"]
    result, directory = conduct(listing.Listing(tree, tmp_path, SystemClock()), plan, fail_if=bounds)
    assert [(outcome.failed, outcome.value is None) for outcome in result.bounds] == [
        (True, False), (False, False), (True, True),
    ]  # fmt: skip
    page = finish(result, directory).read_text()
    assert "FAILED entries_per_s&lt;1000000000" in page
    assert check(directory).differences == ()
    study = directory / "raw" / "study.json"
    study.write_text(study.read_text().replace("p99.read>1s", "p99.read<1s"))
    assert any("bounds[2].bound" in line for line in check(directory).differences)
    with pytest.raises(UsageError, match=r"no figure entries; use entries_per_s, elapsed_s, p50\.OP"):
        conduct(listing.Listing(tree / "none", tmp_path, SystemClock()), plan, fail_if=["entries<5"])


def test_a_delivery_that_broke_off_is_made_again(listing: ModuleType, tree: Path, tmp_path: Path) -> None:
    plan = sweep([listing.Load(1)], "threads", [1], repeats=1, seed=1)
    begun = Begun(run_id="night", seed=1, sessions=(0.0,), raw=tmp_path / "scratch")
    begun.raw.mkdir()
    half = tmp_path / "results" / "night" / "raw" / "half"
    half.mkdir(parents=True)
    result, directory = conduct(listing.Listing(tree, tmp_path, SystemClock()), plan, begun=begun)
    assert finish(result, directory).exists()
    assert check(directory).differences == ()
    assert not half.exists()


def test_nothing_is_written_of_a_study_that_ends_early(
    listing: ModuleType, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = sweep([listing.Load(1)], "threads", [1], repeats=1, seed=1)
    with pytest.raises(UsageError, match="is no directory"):
        conduct(listing.Listing(tree / "none", tmp_path, SystemClock()), plan)
    seen: list[str] = []

    def disturbed(_self: object, _pool: object, turn: Turn) -> Disturbed:
        seen.append(turn.name.partition("/")[2])
        return Disturbed(["it was paused"])

    monkeypatch.setattr(listing.Listing, "_observed", disturbed)
    with pytest.raises(RunFailed, match="1 thread was disturbed 3 times in a row, last: it was paused"):
        conduct(listing.Listing(tree, tmp_path, SystemClock()), plan)
    assert seen == ["000", "000-1", "000-2"][:ATTEMPTS]
    assert not (tmp_path / "results").exists()
