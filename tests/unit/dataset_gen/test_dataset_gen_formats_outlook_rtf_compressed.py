"""Compressed RTF is read back by another project's reader, which checks sizes and CRC."""

import compressed_rtf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataset_gen.formats.mapi_mail import compress, from_plain
from readers.documents.rtf.handler import read_rtf


@settings(deadline=None)
@given(
    st.one_of(st.binary(max_size=400), st.lists(st.sampled_from([b"ab", b"{\\rtf1 ", b"\n", b"x" * 9])).map(b"".join))
)
def test_what_is_compressed_is_read_back(data: bytes) -> None:
    assert compressed_rtf.decompress(compress(data)) == data


@pytest.mark.parametrize("size", [4078, 4079, 4080, 4096, 8192, 20_000])
def test_texts_longer_than_the_dictionary(size: int) -> None:
    data = b"".join(b"%d and then " % (n * n % 977) for n in range(size))[:size]
    packed = compress(data)
    assert compressed_rtf.decompress(packed) == data
    assert len(packed) < size * 0.7


def test_a_plain_text_survives() -> None:
    text = "Dear {Bob}\\,\n\nGröße 日本 😀\nend\n"
    assert read_rtf(from_plain(text), 10_000).text.split() == text.split()
