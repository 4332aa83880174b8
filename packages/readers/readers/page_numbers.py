"""Numbers of pages as people write them: `2, 5-7`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def written(numbers: Iterable[int]) -> str:
    """Rising numbers, those that follow one another as a range."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def read(text: str) -> Iterator[int]:
    """The numbers one by one; ValueError where it was not written by `written`."""
    for part in filter(None, text.split(", ")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
