"""Compound files are read back by olefile at its strictest, and their directories are valid red-black trees."""

from __future__ import annotations

import io
import struct
from typing import Any

import olefile
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readers.cfb import Storage, write

_NAMES = st.text(
    st.characters(exclude_characters="/\\:!", exclude_categories=["Cs", "Cc"], max_codepoint=0xFFFF),
    min_size=1,
    max_size=31,
)
_STREAMS = st.one_of(
    st.binary(max_size=200),
    st.builds(
        lambda seed, size: bytes([seed]) * size, st.integers(0, 255), st.sampled_from([63, 64, 4095, 4096, 9000])
    ),
)


def _plain(name: str) -> str:
    return "".join(c.upper() if len(c.upper()) == 1 else c for c in name)


def _storages(depth: int) -> st.SearchStrategy[Storage]:
    inner = st.lists(_storages(depth - 1), max_size=3) if depth else st.just([])

    def make(named: list[tuple[str, bytes]], storages: list[Storage], name: str, clsid: bytes) -> Storage:
        taken: set[str] = set()
        streams = {n: data for n, data in named if not (_plain(n) in taken or taken.add(_plain(n)))}
        kept = [s for s in storages if not (_plain(s.name) in taken or taken.add(_plain(s.name)))]
        return Storage(name, clsid=clsid, streams=streams, storages=kept)

    streams = st.lists(st.tuples(_NAMES, _STREAMS), max_size=12)
    return st.builds(make, streams, inner, _NAMES, st.binary(min_size=16, max_size=16))


def _flat(storage: Storage, at: tuple[str, ...] = ()) -> dict[tuple[str, ...], bytes | None]:
    found: dict[tuple[str, ...], bytes | None] = {(*at, name): data for name, data in storage.streams.items()}
    for inner in storage.storages:
        found[(*at, inner.name)] = None
        found |= _flat(inner, (*at, inner.name))
    return found


def _read(data: bytes) -> dict[tuple[str, ...], bytes | None]:
    with olefile.OleFileIO(io.BytesIO(data), raise_defects=olefile.DEFECT_INCORRECT) as ole:
        assert ole.parsing_issues == []
        paths = [tuple(p) for p in ole.listdir(streams=True, storages=True)]
        return {
            p: None if ole.get_type(list(p)) == olefile.STGTY_STORAGE else ole.openstream(list(p)).read() for p in paths
        }


def _entries(data: bytes) -> list[tuple[Any, ...]]:
    """Directory entries: (UTF-16 name, length, type, colour, left, right, child)."""
    size = 1 << struct.unpack_from("<H", data, 30)[0]
    at = (struct.unpack_from("<I", data, 48)[0] + 1) * size
    count = 1
    while data[at + 128 * count + 66] in (1, 2):
        count += 1
    return [struct.unpack_from("<64sHBBIII", data, at + 128 * i) for i in range(count)]


def _check_tree(entries: list[tuple[Any, ...]], top: int, seen: list[int]) -> int:
    """Number of black entries from here to any end, in order; fails where the tree is not red-black."""
    if top == 0xFFFFFFFF:
        return 1
    _, _, _, colour, left, right, _ = entries[top]
    if colour == 0:
        for below in (left, right):
            assert below == 0xFFFFFFFF or entries[below][3] == 1, "red below red"
    blacks = _check_tree(entries, left, seen)
    seen.append(top)
    assert blacks == _check_tree(entries, right, seen)
    return blacks + colour


def _order(entry: tuple[Any, ...]) -> tuple[int, list[int]]:
    name = entry[0][: entry[1] - 2].decode("utf-16-le", "surrogatepass")
    units = _plain(name).encode("utf-16-le", "surrogatepass")
    return entry[1], [int.from_bytes(units[i : i + 2], "little") for i in range(0, len(units), 2)]


@settings(max_examples=60, deadline=None)
@given(_storages(2), st.sampled_from([3, 4]))
def test_what_is_written_is_read_back(root: Storage, version: int) -> None:
    data = write(root, version=version)
    assert _read(data) == _flat(root)
    entries = _entries(data)
    for entry in entries:
        seen: list[int] = []
        assert entry[6] == 0xFFFFFFFF or entries[entry[6]][3] == 1, "the topmost entry is black"
        _check_tree(entries, entry[6], seen)
        keys = [_order(entries[i]) for i in seen]
        assert keys == sorted(keys)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 7, 8, 100, 255, 256, 700])
def test_a_storage_of_any_number_of_streams_is_a_red_black_tree(count: int) -> None:
    data = write(Storage(streams={f"s{n}": b"%d" % n for n in range(count)}))
    seen: list[int] = []
    entries = _entries(data)
    _check_tree(entries, entries[0][6], seen)
    assert len(seen) == count
    assert len(_read(data)) == count


@pytest.mark.parametrize("megabytes", [6, 8, 25])
def test_files_beyond_what_the_header_can_map_have_a_difat(megabytes: int) -> None:
    root = Storage(streams={"big": bytes(range(256)) * (megabytes << 12), "small": b"abc", "none": b""})
    data = write(root)
    assert _read(data) == _flat(root)
    assert (struct.unpack_from("<I", data, 72)[0] > 0) == (megabytes > 6)


def test_class_ids_and_times_are_kept() -> None:
    clsid = bytes(range(16))
    inner = Storage("inner", clsid=clsid[::-1], created=132_223_104_000_000_000, modified=132_223_104_000_000_001)
    with olefile.OleFileIO(write(Storage(clsid=clsid, storages=[inner]))) as ole:
        assert ole.root.clsid == "03020100-0504-0706-0809-0A0B0C0D0E0F"
        assert ole.getclsid("inner") == "0C0D0E0F-0A0B-0809-0706-050403020100"
        assert ole.direntries[1].createTime == inner.created
        assert ole.direntries[1].modifyTime == inner.modified


@pytest.mark.parametrize(
    "root",
    [
        Storage(streams={"": b""}),
        Storage(streams={"x" * 32: b""}),
        Storage(streams={"a/b": b""}),
        Storage(streams={"Name": b"", "nAME": b""}),
        Storage(streams={"both": b""}, storages=[Storage("both")]),
        Storage(clsid=b"short"),
    ],
)
def test_what_no_reader_could_find_again_is_refused(root: Storage) -> None:
    with pytest.raises(ValueError, match=r"."):
        write(root)
