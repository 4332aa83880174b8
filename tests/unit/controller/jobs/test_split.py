"""One corpus over several databases."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.jobs.create import lpt, split_source
from controller.jobs.source import custodians_of, prepare_source
from core.errors import UsageError
from core.operations import NullRecorder
from core.storage.layer import Storage

FILER = Storage(NullRecorder())
_SIZES = st.dictionaries(st.binary(min_size=1, max_size=4), st.integers(0, 1_000), min_size=1, max_size=20)


@given(_SIZES, st.integers(1, 5))
def test_every_custodian_goes_to_one_part_and_parts_are_about_equal(sizes: dict[bytes, int], parts: int) -> None:
    """Promise: nobody is lost or doubled; by Graham's bound no part is over 4/3 of what the best division has."""
    shares = lpt(sizes, sorted(sizes), parts)
    assert sorted(name for share in shares for name in share) == sorted(sizes)
    best_possible = max(sum(sizes.values()) / parts, max(sizes.values()))
    last = sorted(sizes.values(), reverse=True)
    if len(last) > parts:
        best_possible = max(best_possible, last[parts - 1] + last[parts])
    assert max(sum(sizes[n] for n in share) for share in shares) <= best_possible * 4 / 3 + 1e-9
    if len(sizes) >= parts:
        assert all(shares)


def _tree(root: Path, **files: int) -> Path:
    for custodian, number in files.items():
        (root / custodian / "inbox").mkdir(parents=True)
        for n in range(number):
            (root / custodian / "inbox" / f"{n}.txt").write_text("x")
    return root


def test_without_a_manifest_entries_decide(tmp_path: Path) -> None:
    """Promise: the custodian with many files stands alone, and files above the custodians are some part's once."""
    (_tree(tmp_path, big=9, small=2, tiny=1) / "stray.txt").write_text("x")
    first, second = split_source(FILER, prepare_source(FILER, tmp_path), 2)
    assert first.directories == (b"big",)
    assert [c.name for c in custodians_of(second)] == [b"small", b"tiny", b"_root"]
    assert (first.others, second.others) == (0, 1)


def test_more_databases_than_custodians_are_refused(tmp_path: Path) -> None:
    """Promise: no database gets a job without anything to do; files above the custodians count as one."""
    source = prepare_source(FILER, _tree(tmp_path, only=3))
    with pytest.raises(UsageError, match="has 1, there are to be 2 databases"):
        split_source(FILER, source, 2)
    (tmp_path / "stray.txt").write_text("x")
    shares = split_source(FILER, prepare_source(FILER, tmp_path), 2)
    assert [[c.name for c in custodians_of(share)] for share in shares] == [[b"only"], [b"_root"]]
