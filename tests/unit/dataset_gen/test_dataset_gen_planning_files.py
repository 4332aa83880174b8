"""The plan: what its first round draws, without making a byte."""

import random
from collections import Counter
from collections.abc import Sequence

import pytest

from core.errors import UsageError
from dataset_gen.planning.files import LETTER, MAILDIR, NOTE, PST, STORE, SYSTEM_FILE, FileSpec, Planner
from dataset_gen.planning.level import Goal, archive_bytes, counts, fitted, stretches
from dataset_gen.planning.tally import CorpusTotals, Sums, tally_of
from dataset_gen.profile import load_profile
from dataset_gen.rng import Dice, derive
from dataset_gen.writer import UNIT_BYTES, UNIT_FILES, units_of

SCALE = 0.001
REFERENCE = load_profile("reference")


def _first(seed: int, scale: float = SCALE) -> list[FileSpec]:
    return next(Planner(REFERENCE, seed, scale).rounds(CorpusTotals()))


@pytest.fixture(scope="module")
def specs() -> list[FileSpec]:
    """What the first round of a corpus holds."""
    return _first(3)


def _by_custodian(specs: Sequence[FileSpec]) -> Counter[bytes]:
    sizes: Counter[bytes] = Counter()
    for spec in specs:
        sizes[spec.path.partition(b"/")[0]] += spec.size
    return sizes


def test_most_of_the_bytes_and_something_of_everything(specs: list[FileSpec]) -> None:
    raw = REFERENCE.raw_bytes * SCALE
    assert 0.6 * raw < sum(s.size for s in specs) < 0.97 * raw
    formats = {s.fmt for s in specs}
    assert set(REFERENCE.faults) <= formats
    assert {STORE, LETTER, MAILDIR, PST, NOTE, SYSTEM_FILE} <= formats
    assert {name for name, mix in REFERENCE.formats.items() if mix.loose} <= formats
    assert {name for name in REFERENCE.shares if name != "mail"} <= formats


def test_nobody_has_more_than_his_part_yet(specs: list[FileSpec]) -> None:
    weight = sum(c.weight for c in REFERENCE.custodians)
    sizes = _by_custodian(_first(3, 0.004))
    parts = sorted(c.weight / weight for c in REFERENCE.custodians)
    assert len(sizes) == len(parts)
    for part, size in zip(parts, sorted(sizes.values()), strict=True):
        assert size < 1.03 * part * REFERENCE.raw_bytes * 0.004


def test_paths_are_possible_and_distinct(specs: list[FileSpec]) -> None:
    """No path twice, no part over 255 bytes, folders below folders, Maildir flags."""
    paths = [s.path for s in specs]
    assert len(paths) == len(set(paths))
    assert all(0 < len(part) <= 255 for path in paths for part in path.split(b"/"))
    assert max(path.count(b"/") for path in paths) >= 4
    assert any(b"/cur/" in path and b":2," in path for path in paths)


def test_units_cover_everything_once(specs: list[FileSpec]) -> None:
    units = units_of(specs, 5)
    assert [s for u in units for s in u.specs] == sorted(specs, key=lambda s: s.path)
    assert [u.number for u in units] == list(range(5, 5 + len(units)))
    assert all(len(u.specs) == 1 or (u.estimate <= UNIT_BYTES and len(u.specs) <= UNIT_FILES) for u in units)


def test_sizes_are_spread_evenly() -> None:
    sizes = sorted(s.size for s in _first(5, 0.02) if s.fmt == "txt")
    assert len(sizes) > 50
    assert sizes[len(sizes) // 2] == pytest.approx(REFERENCE.formats["txt"].median, rel=0.1)


def test_too_small() -> None:
    with pytest.raises(UsageError, match="use at least") as refused:
        Planner(REFERENCE, 1, 0.0)
    Planner(REFERENCE, 1, float(str(refused.value).rpartition(" ")[2]))


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


def test_lognormal_median() -> None:
    dice = Dice(5)
    sizes = [dice.size(10_000, 1.5, 100, 1_000_000) for _ in range(4000)]
    assert 0.46 < sum(s < 10_000 for s in sizes) / len(sizes) < 0.54
    assert min(sizes) >= 100
    assert max(sizes) <= 1_000_000


def test_seeds_of_things_differ() -> None:
    seeds = {derive(1, "a", "b"), derive(1, "ab"), derive(1, "a\0b", "c"), derive(2, "ab"), derive(1, "\udce9")}
    assert len(seeds) == 5
    assert random.Random(derive(1, "ab")).random() == Dice(derive(1, "ab")).random()
