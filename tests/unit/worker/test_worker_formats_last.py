"""What was made of the last bytes is made once."""

from __future__ import annotations

import pytest

from worker.formats import last
from worker.formats.last import Last


def test_the_same_bytes_are_made_into_something_once() -> None:
    """By identity: equal bytes of another item are others, and so are other arguments."""
    made: list[tuple[bytes, object]] = []

    def make(data: bytes, limit: object) -> int:
        made.append((data, limit))
        return len(made)

    remembered = Last(make)
    one, same, limits = b"one message", bytes(bytearray(b"one message")), object()
    assert [remembered(one, limits), remembered(one, limits)] == [1, 1]
    assert remembered(same, limits) == 2
    assert remembered(same, object()) == 3
    assert remembered(one, limits) == 4


def test_much_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is a slot's dearest."""
    monkeypatch.setattr(last, "LARGEST", 4)
    remembered = Last(lambda data: [data])
    data = b"12345"
    assert remembered(data) is not remembered(data)


def test_an_error_is_raised_each_time() -> None:
    """Nothing is remembered of it."""

    def make(data: bytes) -> None:
        raise ValueError(data)

    remembered = Last(make)
    for _ in range(2):
        with pytest.raises(ValueError, match="bad"):
            remembered(b"bad")
