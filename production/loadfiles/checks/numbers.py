"""Control numbers as they are compared: by their digits, so that `A10` comes after `A9`."""

from __future__ import annotations

_MOST_DIGITS = 4_000  # that Python makes a number of


def before(one: str, other: str) -> bool:
    """Whether one is lower than the other."""
    return _key(one) < _key(other)


def span(first: str, last: str) -> int:
    """How many numbers there are from one to the other, both among them: none where the second is lower, or called otherwise."""
    (prefix, low), (other, high) = _key(first), _key(last)
    return max(0, high - low + 1) if prefix == other else 0


def _key(number: str) -> tuple[str, int]:
    prefix = number.rstrip("0123456789")
    return prefix, int(number[len(prefix) :][:_MOST_DIGITS] or 0)
