"""readers.last: what was made of the last bytes is made once, and what was made of short values is kept."""

from __future__ import annotations

import pytest

from readers import last
from readers.last import Last, remembered


def test_the_same_bytes_are_made_into_something_once() -> None:
    made: list[tuple[bytes, object]] = []

    def make(data: bytes, limit: object) -> int:
        made.append((data, limit))
        return len(made)

    known = Last(make)
    one, same, limits = b"one message", bytes(bytearray(b"one message")), object()
    assert [known(one, limits), known(one, limits)] == [1, 1]
    assert known(same, limits) == 2
    assert known(same, object()) == 3
    assert known(one, limits) == 4


def test_much_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last, "LARGEST", 4)
    known = Last(lambda data: [data])
    data = b"12345"
    assert known(data) is not known(data)


def test_an_error_is_raised_each_time() -> None:
    def make(data: bytes) -> None:
        raise ValueError(data)

    known = Last(make)
    for _ in range(2):
        with pytest.raises(ValueError, match="bad"):
            known(b"bad")


def test_short_values_are_remembered_and_long_ones_are_not() -> None:
    """Messages have fields in common; a hostile one must not fill the memory."""
    made: list[str] = []

    @remembered
    def doubled(value: str, end: str) -> str:
        made.append(value)
        return value * 2 + end

    long = "x" * 301
    assert [doubled("a", "!"), doubled("a", "!"), doubled("a", "?")] == ["aa!", "aa!", "aa?"]
    assert [doubled(long, ""), doubled(long, "")] == [long * 2] * 2
    assert made == ["a", "a", long, long]
