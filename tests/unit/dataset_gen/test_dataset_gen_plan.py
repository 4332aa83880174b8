"""The plan: sizes, shares and spread, without making a byte."""

from __future__ import annotations

from collections import Counter

import pytest

from core.errors import UsageError
from dataset_gen.faults import FILES
from dataset_gen.plan import LETTER, STORE, make_plan
from dataset_gen.profile import load_profile, profile_names
from dataset_gen.writer import UNIT_BYTES, UNIT_FILES, units_of


@pytest.mark.parametrize("scale", [0.0005, 0.004])
def test_bytes_and_spread(scale: float) -> None:
    """The raw bytes are those of the scale; each custodian has his weight's part; every fault is there."""
    profile = load_profile("reference")
    plan = make_plan(profile, 3, scale)
    assert plan.estimate == pytest.approx(profile.raw_bytes * scale, rel=0.08)
    sizes: Counter[bytes] = Counter()
    for spec in plan.specs:
        sizes[spec.path.partition(b"/")[0]] += spec.size
    assert len(sizes) == 9
    assert max(sizes.values()) / min(sizes.values()) < 2.2
    formats = Counter(s.fmt for s in plan.specs)
    assert set(FILES) <= set(formats)
    assert {STORE, LETTER, "zip", "tar", "tgz", "gz", "docx", "xlsx", "pptx", "pdf", "jpg"} <= set(formats)


def test_paths_are_possible_and_distinct() -> None:
    """No path twice, no part over 255 bytes, in path order, folders below folders."""
    plan = make_plan(load_profile("reference"), 4, 0.002)
    paths = [s.path for s in plan.specs]
    assert paths == sorted(set(paths))
    assert all(0 < len(part) <= 255 for path in paths for part in path.split(b"/"))
    assert max(path.count(b"/") for path in paths) >= 4


def test_units_cover_everything_once() -> None:
    """Units are bounded, except for one large file alone."""
    plan = make_plan(load_profile("reference"), 4, 0.002)
    units = units_of(plan.specs)
    assert [s for u in units for s in u.specs] == list(plan.specs)
    assert all(len(u.specs) == 1 or (u.estimate <= UNIT_BYTES and len(u.specs) <= UNIT_FILES) for u in units)


def test_a_plan_is_reproducible() -> None:
    """The same request gives the same plan; another seed another one."""
    profile = load_profile("reference")
    assert make_plan(profile, 1, 0.0005).specs == make_plan(profile, 1, 0.0005).specs
    assert make_plan(profile, 1, 0.0005).specs != make_plan(profile, 2, 0.0005).specs


def test_refusals() -> None:
    """Unknown profile and impossible scale."""
    assert "reference" in profile_names()
    with pytest.raises(UsageError, match="no profile"):
        load_profile("../reference")
    with pytest.raises(UsageError, match="take at least"):
        make_plan(load_profile("reference"), 1, 0.0)
