"""readers.office.ole.compound: what is written is read, what others read is read, nothing hostile takes time or memory."""

from __future__ import annotations

import io
import random
import struct
from collections.abc import Iterator
from pathlib import Path

import olefile
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readers.cfb import Storage, write
from readers.errors import DocumentError, ExceptionCode
from readers.office.ole.compound import MAGIC, CompoundFile, DirectoryEntry

FILES = Path(__file__).parents[4].parent / "shared/data/real-files"
_NAMES = st.text("abcXYZ 0159_\x01é", min_size=1, max_size=31)
_SIZES = st.sampled_from([0, 1, 63, 64, 65, 511, 512, 4095, 4096, 4097, 9000])


def streams(entry: DirectoryEntry, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], DirectoryEntry]]:
    for child in entry.children:
        if child.storage:
            yield from streams(child, (*path, child.name))
        else:
            yield (*path, child.name), child


def read_all(data: bytes) -> dict[tuple[str, ...], bytes]:
    compound = CompoundFile(data)
    return {path: compound.read(entry) for path, entry in streams(compound.root)}


def distinct(names: dict[str, int]) -> dict[str, bytes]:
    """Streams whose names differ in more than case."""
    kept = {name.upper(): (name, size) for name, size in names.items()}
    return {name: bytes([size % 251]) * size for name, size in kept.values()}


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(_NAMES, _SIZES, max_size=12),
    st.dictionaries(_NAMES, _SIZES, max_size=5),
    st.sampled_from([3, 4]),
)
def test_reads_what_is_written(outer: dict[str, int], inner: dict[str, int], version: int) -> None:
    one, two = distinct(outer), distinct(inner)
    one.pop("Sub", None)
    root = Storage(streams={k: v for k, v in one.items() if k.upper() != "SUB"}, storages=[Storage("Sub", streams=two)])
    found = read_all(write(root, version=version))
    assert found == {**{(k,): v for k, v in root.streams.items()}, **{("Sub", k): v for k, v in two.items()}}


def test_many_entries_and_a_big_stream() -> None:
    """More FAT sectors than the header names, and a directory of many sectors."""
    big = random.Random(1).randbytes(8_000_000)
    root = Storage(streams={"big": big, **{f"s{i}": b"%d" % i for i in range(300)}})
    found = read_all(write(root))
    assert found[("big",)] == big
    assert len(found) == 301
    assert found[("s299",)] == b"299"


@pytest.mark.skipif(not FILES.is_dir(), reason="the real files are not on this machine")
def test_real_files_as_olefile_reads_them() -> None:
    seen = 0
    for path in sorted(p for p in FILES.rglob("*") if p.is_file()):
        data = path.read_bytes()
        if data.startswith(MAGIC):
            with olefile.OleFileIO(io.BytesIO(data)) as other:
                assert read_all(data) == {tuple(n): other.openstream(n).read() for n in other.listdir()}, path.name
            seen += 1
    assert seen >= 8


def sample() -> bytearray:
    return bytearray(write(Storage(streams={"long": bytes(range(256)) * 40, "short": b"x" * 200, "other": b"y" * 70})))


def directory_of(data: bytes) -> int:
    return (struct.unpack_from("<I", data, 48)[0] + 1) * 512


def test_a_chain_that_turns_back_is_no_longer_than_the_file() -> None:
    """A stream of 4 GB over a chain that runs in a circle ends with the file, and says that it is short."""
    data = sample()
    at = directory_of(data)
    entry = next(at + 128 * i for i in range(8) if data[at + 128 * i :][:8] == "long".encode("utf-16-le"))
    start = struct.unpack_from("<I", data, entry + 116)[0]
    struct.pack_into("<I", data, entry + 120, 0xFFFFFFF0)
    fat = (struct.unpack_from("<I", data, 76)[0] + 1) * 512
    struct.pack_into("<I", data, fat + 4 * (start + 1), start)
    compound = CompoundFile(bytes(data))
    assert len(compound.read(compound.root.stream("long"))) <= len(data)
    assert compound.error is not None
    assert compound.error.code is ExceptionCode.TRUNCATED


def test_streams_that_overlap_are_not_read_for_ever() -> None:
    data = sample()
    compound = CompoundFile(bytes(data))
    long = compound.root.stream("long")
    many = (compound.read(long) for _ in range(1_000))
    with pytest.raises(DocumentError) as caught:
        list(many)
    assert caught.value.code is ExceptionCode.EXPANSION_LIMIT


def test_entries_that_point_at_each_other_are_met_once() -> None:
    data = sample()
    at = directory_of(data)
    for i in range(1, 4):
        struct.pack_into("<III", data, at + 128 * i + 68, 1, 2, 0)
        data[at + 128 * i + 66] = 1
    names = [entry.name for entry in CompoundFile(bytes(data)).root.children]
    assert len(names) == len(set(names)) <= 3


def test_mutants_raise_document_errors_only() -> None:
    """Flipped, cut and patched files: no other error, no stream longer than the file."""
    chance = random.Random(5)
    for _ in range(400):
        data = sample()
        for _ in range(chance.choice((1, 2, 8))):
            at = chance.randrange(len(data)) if chance.random() < 0.3 else chance.randrange(1536)
            data[at] = chance.choice((0, 1, 0xFF, 0xFE, chance.randrange(256)))
        del data[chance.choice((len(data), chance.randrange(len(data)))) :]
        try:
            found = read_all(bytes(data))
        except DocumentError:
            continue
        assert sum(map(len, found.values())) <= 4 * len(data) + 1_000_000


@pytest.mark.parametrize("data", [b"", MAGIC, MAGIC + bytes(600), b"PK\3\4" + bytes(600)])
def test_no_compound_file(data: bytes) -> None:
    """Too short, without sector sizes, something else."""
    with pytest.raises(DocumentError) as caught:
        CompoundFile(data)
    assert caught.value.code is ExceptionCode.CORRUPT
