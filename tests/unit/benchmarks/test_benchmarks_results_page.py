"""docs/dev/results: what cells and sentences of the page say of a package, and of one that says otherwise."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from benchmarks.results import figures_table, other_tables, sentences, steps
from benchmarks.results.record import PUBLISHED
from benchmarks.results.told import Told, told


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """A storage that is published: all of them take seconds to read."""
    there = tmp_path_factory.mktemp("published")
    (there / "ext4").symlink_to(PUBLISHED / "ext4")
    with told(there) as (only,):
        yield only


@pytest.mark.parametrize(
    ("package", "cell"),
    [
        (steps.LOOP, figures_table._loop),
        (steps.EMPTY, figures_table._empty),
        (steps.SWEEP, figures_table._sweep("read")),
    ],
)
def test_figures_of_several_clients_say_of_how_many(one: Told, package: str, cell: figures_table.Cell) -> None:
    """Sizes have other numbers of them."""
    clients = sorted(point.at.values()["clients"] for point in one.results[package].points)
    assert len(clients) > 1
    assert [int(part.partition(":")[0]) for part in cell(one).split(", ")] == clients


def test_where_no_bound_was_broken_there_is_no_knee(one: Told) -> None:
    """Only the most clients that were tried: no more is known."""
    result = one.results[steps.KNEE]
    assert result.knee is not None
    most = result.points[-1].at.values()["clients"]
    none = f"none up to {most} clients: no bound was broken"
    for broken, said in ((None, none), ("read p99 is 9 ms", "; read p99 is 9 ms")):
        knee = dataclasses.replace(result.knee, broken=broken, knee=0)
        changed = dataclasses.replace(one, results={steps.KNEE: dataclasses.replace(result, knee=knee)})
        assert said in figures_table._knee(changed)


def test_results_are_counted_by_label(one: Told) -> None:
    """One without any is named."""
    short = {
        name: dataclasses.replace(result, labels=("SHORT: not a storage result",))
        for name, result in one.results.items()
    }
    changed = dataclasses.replace(one, results=short)
    assert sentences.labelled([changed]).startswith(f"Of {len(short)} packages {len(short)} are `SHORT`. ")
    assert " has it are none.**" in sentences.labelled([changed])
    short[steps.BLOCK] = dataclasses.replace(short[steps.BLOCK], labels=("GENERATOR-LIMITED at 1 of 2 points",))
    assert f" has it are {one.title} {steps.BLOCK}.**" in sentences.labelled([changed])


def test_how_many_runs_a_figure_is_of_is_said(one: Told) -> None:
    """Nobody is to take one for five."""
    result = one.results[steps.MOST]
    (point,) = result.points
    twice = dataclasses.replace(result, points=(dataclasses.replace(point, repeats=point.repeats[:1] * 2),))
    both = {steps.MOST: twice, steps.KNEE: one.results[steps.KNEE]}
    assert sentences.repeats([dataclasses.replace(one, results=both)]) == f"1 of {steps.KNEE}; 2 of {steps.MOST}"


def test_a_program_that_was_asked_in_another_hour_is_told(one: Told) -> None:
    """It may have met another mount."""
    entry = next(entry for entry in one.record["beside"] if "values" in entry)
    point = one.point(entry["ours"]["package"], entry["ours"]["at"])
    assert point is not None
    for seconds, said in ((90, "| 1.5 min |"), (2.5 * 3600, "| **2.5 hours** |")):
        later = entry | {"began": point.repeats[0].started_at + seconds}
        changed = dataclasses.replace(one, record=one.record | {"beside": [later]})
        assert said in "\n".join(other_tables.tools([changed]))
