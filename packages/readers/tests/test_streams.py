"""readers.streams: files that are read here and there."""

import io
import random
from typing import BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readers.streams import scattered

_DATA = random.Random(1).randbytes(300_000)
_PLACES = st.tuples(st.integers(0, len(_DATA) + 10), st.integers(0, 150_000))


def _file() -> BinaryIO:
    return scattered(cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, io.BytesIO(_DATA)))))


@given(st.lists(_PLACES, max_size=6))
def test_what_is_read_here_and_there_is_what_is_there(places: list[tuple[int, int]]) -> None:
    with _file() as file:
        for at, size in places:
            assert file.seek(at) == at
            assert file.read(size) == _DATA[at : at + size]
        assert file.seek(-5, io.SEEK_END) == len(_DATA) - 5
        assert file.read() == _DATA[-5:]


def test_a_place_before_the_file_is_refused() -> None:
    with _file() as file, pytest.raises(OSError, match="before the file's first byte"):
        file.seek(-len(_DATA) - 1, io.SEEK_END)
