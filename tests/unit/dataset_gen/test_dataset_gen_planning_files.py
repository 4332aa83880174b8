"""The plan: what its first round draws, without making a byte."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from core.errors import UsageError
from dataset_gen.planning.files import Planner
from dataset_gen.planning.shelf import LETTER, MAILDIR, NOTE, PST, STORE, SYSTEM_FILE, FileSpec
from dataset_gen.planning.tally import CorpusTotals
from dataset_gen.profile import load_profile
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


def test_a_plan_is_reproducible(specs: list[FileSpec]) -> None:
    assert _first(3) == specs
    assert _first(4) != specs


def test_sizes_are_spread_evenly() -> None:
    sizes = sorted(s.size for s in _first(5, 0.02) if s.fmt == "txt")
    assert len(sizes) > 50
    assert sizes[len(sizes) // 2] == pytest.approx(REFERENCE.formats["txt"].median, rel=0.1)


def test_too_small() -> None:
    with pytest.raises(UsageError, match="use at least") as refused:
        Planner(REFERENCE, 1, 0.0)
    Planner(REFERENCE, 1, float(str(refused.value).rpartition(" ")[2]))
