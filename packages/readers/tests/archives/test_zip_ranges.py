"""Ranges of zip archives follow their own bytes, and cost no second look at the directory."""

from __future__ import annotations

import pytest
from hostile import CountingSource, announcing_zip
from unpacking import make_zip, unpack

from core.records import JobOptions, Limits
from readers.archives.zip.handler import ZipHandler
from readers.archives.zip.ranges import RANGES_A_TARGET
from readers.base import Part

TARGET = 64_000


def _parts(data: bytes, target: int = TARGET) -> tuple[list[Part], CountingSource]:
    source = CountingSource(b"a.zip", data)
    return ZipHandler().parts(source, target), source  # type: ignore[arg-type]


@pytest.mark.parametrize("shared", [True, False])
def test_announced_sizes_make_no_ranges(shared: bool) -> None:
    """4,000 entries that announce a range each: as many ranges as the archive has bytes for."""
    data = announcing_zip(4_000, TARGET, shared=shared)
    parts, _ = _parts(data)
    assert 2 <= len(parts) <= RANGES_A_TARGET * len(data) // TARGET
    assert [p.start for p in parts] == [0, *(p.stop for p in parts[:-1])]
    assert parts[-1].stop == sum(p.announced or 0 for p in parts) == 4_000


def test_the_directory_is_read_a_few_times_however_many_ranges() -> None:
    """All ranges together read little more of the archive than one reading of it, beside a tail and a chunk each."""
    data = announcing_zip(40_000, 1_000_000, shared=False)
    parts, source = _parts(data, 1_000_000)
    assert len(parts) >= 10
    for part in parts:
        for child in ZipHandler().children(source, Limits(), part):  # type: ignore[arg-type]
            assert part.start <= child.ordinal < part.stop
    assert source.read < 4 * len(data) + len(parts) * ((1 << 16) + 2 * (1 << 18))


def test_many_overlaps_or_repeats_are_read_in_one_go() -> None:
    """What a range would have to know of the others is not handed on without end."""
    assert len(_parts(announcing_zip(9_000, TARGET, shared=True))[0]) >= 2
    assert _parts(announcing_zip(11_000, TARGET, shared=True))[0] == []
    assert _parts(announcing_zip(11_000, TARGET, shared=False, name=b"same%.0a"))[0] == []


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_ranges_know_overlaps_and_repeated_names() -> None:
    repeated = make_zip([("same.txt" if n % 2 else f"{n}.txt", b"%d" % n * 400) for n in range(60)], stored=True)
    for data in (repeated, announcing_zip(300, 100, shared=True)):
        whole = unpack(b"a.zip", data)
        parts = unpack(b"a.zip", data, options=JobOptions(split_bytes=2_000), defer=True)
        assert parts.deferred > 2
        assert sorted(map(repr, parts.out.items)) == sorted(map(repr, whole.out.items))
        assert parts.counts() == whole.counts()
