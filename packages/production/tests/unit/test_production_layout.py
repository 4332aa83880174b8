"""Numbers and places of a production's items."""

import uuid
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.job_types import FileKind
from production.layout import Batches, Layout, Numbered, Place, Taken, folder, numbered, suffix_of

_FAMILIES = st.lists(st.lists(st.integers(0, 400), min_size=1, max_size=6), max_size=30)


def _items(families: list[list[int]]) -> list[Taken]:
    out = []
    for sizes in families:
        top = uuid.uuid4()
        out += [
            Taken(id=top if n == 0 else uuid.uuid4(), family=top, parent=None if n == 0 else top, size=size)
            for n, size in enumerate(sizes)
        ]
    return out


@given(_FAMILIES, st.integers(1, 9), st.sampled_from([0, 1, 500, 1_500]), st.integers(1, 10**12))
def test_families_stay_together(families: list[list[int]], files: int, volume_bytes: int, first: int) -> None:
    """Promise: numbers run through without a gap, a family is in one folder of one volume, its range is its numbers, and
    no folder and no volume is over its limit unless by one family alone."""
    found = list(numbered(_items(families), first, Layout(files, volume_bytes)))
    assert [one.number for one in found] == list(range(first, first + sum(map(len, families))))
    places: dict[Place, list[list[Numbered]]] = {}
    for _, group in groupby(found, key=lambda one: one.taken.family):
        members = list(group)
        assert {(one.first, one.last) for one in members} == {(members[0].number, members[-1].number)}
        assert [one.parent for one in members] == [None, *[members[0].number] * (len(members) - 1)]
        (place,) = {one.place for one in members}
        places.setdefault(place, []).append(members)
    assert list(places) == sorted(places, key=lambda place: (place.volume, place.folder))
    volumes: dict[int, list[list[Numbered]]] = {}
    for place, inside in places.items():
        assert sum(map(len, inside)) <= files or len(inside) == 1
        volumes.setdefault(place.volume, []).extend(inside)
    if not volume_bytes:
        assert set(volumes) <= {1}
    for inside in volumes.values():
        heavy = [sum(one.taken.size for one in members) for members in inside]
        assert not volume_bytes or sum(heavy) <= volume_bytes or sum(1 for size in heavy if size) == 1


@given(_FAMILIES, st.integers(1, 9), st.integers(1, 1_000))
def test_batches_are_whole_families(families: list[list[int]], items: int, size: int) -> None:
    """Promise: batches hold every number once, and end where a family does."""
    found = list(numbered(_items(families), 1, Layout(1_000)))
    batches = Batches(items, size)
    cut = [
        batch for one in found if (batch := batches.add(one.number, one.first, one.last, one.taken.size)) is not None
    ]
    if (rest := batches.rest()) is not None:
        cut.append(rest)
    assert [n for first, last, _ in cut for n in range(first, last + 1)] == [one.number for one in found]
    assert {last for _, last, _ in cut} <= {one.last for one in found}
    assert sum(of for _, _, of in cut) == sum(map(sum, families))


def test_an_item_hangs_on_what_is_around_it() -> None:
    """Or on nothing, if that is not chosen."""
    top, inner, leaf, other = (uuid.uuid4() for _ in range(4))
    first = Taken(id=top, family=top, parent=None, size=1)
    family = [Taken(id=one, family=top, parent=of, size=1) for one, of in ((inner, top), (other, top), (leaf, inner))]
    found = list(numbered([first, *family], 7, Layout(10)))
    assert [one.taken.id for one in found] == [top, inner, leaf, other]
    assert [one.parent for one in found] == [None, 7, 8, 7]
    assert {(one.first, one.last) for one in found} == {(7, 10)}
    found = list(numbered([family[1], family[0], family[2]], 7, Layout(1)))
    assert [(one.parent, one.first, one.last) for one in found] == [(None, 7, 7), (None, 8, 9), (8, 8, 9)]
    assert {folder(FileKind.TEXT, one.place) for one in found} == {"VOL001/TEXT/0001"}


@pytest.mark.parametrize(
    ("name", "media_type", "suffix"),
    [
        (b"report.DOCX", "x/y", ".docx"),
        (b"no suffix", "x/y", ".bin"),
        (b"a.b/../../etc/passwd", "x/y", ".bin"),
        (b"odd.\xff\xfe", "x/y", ".bin"),
        (b"over.abcdefghijklm", "x/y", ".bin"),
        (b"Re: 3.5", "message/rfc822", ".eml"),
    ],
)
def test_suffixes(name: bytes, media_type: str, suffix: str) -> None:
    """Nothing of a name gets into a path but a few plain letters behind its last dot."""
    assert suffix_of(name, media_type) == suffix
