"""The zip writer against Python's reader, for any names and contents."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from dataset_gen.packing.zip import LEVEL, ZipWriter, deflated, deflated_zeros
from dataset_gen.rng import Dice

names = st.text(st.characters(codec="utf-8", exclude_characters="\0/\\"), min_size=1, max_size=30)


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(names, st.binary(max_size=3000), min_size=1, max_size=6), st.booleans())
def test_members_come_back(members: dict[str, bytes], encrypted: bool) -> None:
    out = ZipWriter()
    out.add_directory(b"folder/")
    for name, data in members.items():
        out.add(name.encode(), data, encryption=(b"secret", Dice(1)) if encrypted else None)
    with zipfile.ZipFile(io.BytesIO(out.finish())) as archive:
        archive.setpassword(b"secret")
        assert archive.testzip() is None
        infos = archive.infolist()
        assert infos[0].is_dir()
        assert {i.filename: archive.read(i) for i in infos[1:]} == members
        assert all(bool(i.flag_bits & 1) == encrypted for i in infos[1:])


def test_compression_is_pinned() -> None:
    """The bytes that libdeflate gives for this input at this level; see `dataset_gen.packing.zip`."""
    text = b"".join(b"line %d of %d\n" % (i, i * i) for i in range(2000))
    assert LEVEL == 1
    assert (len(deflated(text)), deflated(text)[:8].hex()) == PINNED
    packed, crc = deflated_zeros(1_000_000)
    assert len(packed) < 2000
    assert crc == zlib.crc32(bytes(1_000_000))


PINNED = (12566, "555d4bce1e370cdb")


def test_more_members_than_the_old_directory_can_count() -> None:
    """70,000 members: zip64 records, and every member is found."""
    out = ZipWriter()
    for number in range(70_000):
        out.put(b"%d" % number, b"", 0, 0, store=True)
    with zipfile.ZipFile(io.BytesIO(out.finish())) as archive:
        assert len(archive.infolist()) == 70_000
        assert archive.read("69999") == b""


def test_more_bytes_than_the_old_directory_can_count(tmp_path: Path) -> None:
    """A member that begins behind 5 GB (of nothing, which takes no disk space) of others, written through a sink."""
    before = 5_000_000_000
    with open(tmp_path / "x.zip", "wb") as file:
        file.truncate(before)
        file.seek(before)
        out = ZipWriter(sink=file.write, size=before)
        out.add(b"late.txt", b"late " * 100)
        assert out.finish() == b""
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        assert archive.infolist()[0].header_offset == before
        assert archive.read("late.txt") == b"late " * 100
