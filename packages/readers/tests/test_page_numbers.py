"""readers.page_numbers: as people write them, and back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from readers.page_numbers import read, written


def test_as_people_write_them() -> None:
    assert written([2, 5, 6, 7, 9]) == "2, 5-7, 9"
    assert (written([]), list(read(""))) == ("", [])


@given(st.sets(st.integers(min_value=1, max_value=60)))
def test_there_and_back(numbers: set[int]) -> None:
    assert list(read(written(sorted(numbers)))) == sorted(numbers)
