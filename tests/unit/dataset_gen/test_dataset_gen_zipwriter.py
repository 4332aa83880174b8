"""The zip writer against Python's reader, for any names and contents."""

from __future__ import annotations

import io
import zipfile
import zlib

from hypothesis import given, settings
from hypothesis import strategies as st

from dataset_gen.compress import LEVEL, deflated, deflated_zeros
from dataset_gen.rng import Dice
from dataset_gen.zipwriter import ZipWriter

names = st.text(st.characters(codec="utf-8", exclude_characters="\0/\\"), min_size=1, max_size=30)


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(names, st.binary(max_size=3000), min_size=1, max_size=6), st.booleans())
def test_members_come_back(members: dict[str, bytes], encrypted: bool) -> None:
    """Every name and every byte, with and without encryption."""
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
    """The bytes that libdeflate gives for this input at this level; see `dataset_gen.compress`."""
    text = b"".join(b"line %d of %d\n" % (i, i * i) for i in range(2000))
    assert LEVEL == 6
    assert (len(deflated(text)), deflated(text)[:8].hex()) == PINNED
    packed, crc = deflated_zeros(1_000_000)
    assert len(packed) < 2000
    assert crc == zlib.crc32(bytes(1_000_000))


PINNED = (11178, "559d49ae2db96e45")
