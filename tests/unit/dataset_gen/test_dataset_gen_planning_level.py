"""Levelling: what is missing is found from what the corpus has so far."""

from __future__ import annotations

from collections import Counter

import pytest

from dataset_gen.planning.level import Goal, archive_bytes, counts, fitted, stretches
from dataset_gen.planning.tally import CorpusTotals, Sums, tally_of

GOAL = Goal(raw=1000.0, items=100.0, pages=300.0, extracted=600.0, types={"a": 40.0, "b": 30.0})


def _tally() -> CorpusTotals:
    """Documents of type a with a picture of type b in every second one, pictures, and archives."""
    return CorpusTotals(
        formats={
            "doc": Sums(files=10, raw=200, extracted=20, pages=100, types=Counter(a=10, b=5), own_type="a"),
            "txt": Sums(files=4, raw=40, extracted=0, pages=20, types=Counter(t=4), own_type="t"),
            "pic": Sums(files=10, raw=300, extracted=0, pages=10, types=Counter(b=10), own_type="b"),
            "zip": Sums(files=5, raw=100, extracted=200, pages=20, types=Counter(z=5, a=5), own_type="z"),
        }
    )


def test_missing_files_with_what_they_bring_along() -> None:
    found = counts(GOAL, _tally(), {"doc": 1.0, "pic": 1.0})
    assert found["doc"] == pytest.approx(25)
    assert found["pic"] == pytest.approx(2.5)


def test_too_many_already() -> None:
    many = Goal(raw=1000.0, items=100.0, pages=0, extracted=0, types={"a": 4.0})
    assert counts(many, _tally(), {"doc": 1.0}) == {"doc": 0.0}


def test_bytes_of_archives() -> None:
    tally = _tally()
    found = archive_bytes(GOAL, tally, {"zip": 1.0}, {"doc": 1.0, "pic": 1.0})
    members = 5 * found / 100
    documents = (40 - 15 - members) * 20 / 10
    assert found * 2.0 + documents == pytest.approx(600 - 220, rel=0.05)
    assert archive_bytes(GOAL, tally, {}, {"doc": 1.0}) == 0.0


def test_sizes_are_stretched_to_bytes_and_pages() -> None:
    wanted = {"txt": 200.0, "pic": 100.0, "doc": 50.0}
    found = stretches(GOAL, _tally(), wanted)
    assert "doc" not in found
    assert found["txt"] * 200 + found["pic"] * 100 == pytest.approx(1000 - 640 - 50)
    assert found["txt"] * 200 * 0.5 + found["pic"] * 100 / 30 == pytest.approx(300 - 150 - 25, rel=0.01)
    heavy = Goal(raw=1000.0, items=100.0, pages=10_000.0, extracted=0.0, types={})
    found = stretches(heavy, _tally(), wanted)
    assert found["txt"] * 200 + found["pic"] * 100 == pytest.approx(310, rel=0.02)


def test_sizes_are_fitted_around_the_smallest_possible() -> None:
    sizes = {"a": [10, 20], "b": [100, 200], "c": [7]}
    found = fitted(sizes, {"a": 1.0, "b": 1.0}, {"a": 30, "b": 1, "c": 1}, {"a": 99, "b": 999}, 247)
    assert found["c"] == [7]
    assert found["a"] == [30, 30]
    assert sum(found["b"]) == pytest.approx(180, abs=3)


def test_a_tally_is_kept_with_its_part() -> None:
    once, twice = _tally(), _tally()
    twice.add(tally_of(once.to_json()))
    assert twice.raw == 2 * once.raw
    assert twice.types == Counter(a=30, b=30, z=10, t=8)
    assert twice.formats["doc"].files == 20
