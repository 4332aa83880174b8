"""Ranges of a zip archive's central directory, each read by a task of its own.

The process that cuts the ranges reads the whole directory once. It passes on the facts that a range could only learn by
reading it again: where it begins, which of its members overlap others, which have a repeated name. So the directory is
read a constant number of times, however many ranges there are. Their number follows from the archive's own bytes: the
sizes that its members announce are not trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, BinaryIO

from readers.archives.zip.directory import Directory, ZipEntry, find_directory, iter_entries, overlapping
from readers.base import Part
from readers.errors import DocumentError
from readers.records import Siblings

RANGES_A_TARGET = 4  # for each `target_bytes` of the archive, however much comes out of it
_MOST_KNOWN = 10_000  # overlaps and repeated names that are handed on; with more of them there are no ranges


@dataclass(frozen=True, slots=True)
class View:
    """The entries of an archive, or of a range, with the facts about them that need the whole directory."""

    entries: Iterator[ZipEntry]
    overlaps: Collection[int]
    occurrence: Callable[[ZipEntry], int]  # ask for the entries in their order


def whole(file: BinaryIO, directory: Directory) -> View:
    """The whole archive."""
    names = Siblings()
    return View(iter_entries(file, directory), overlapping(file, directory), lambda entry: names.occurrence(entry.name))


def of_range(file: BinaryIO, directory: Directory, part: Part) -> View:
    """One range, without a look at the rest of the directory."""
    repeats: dict[int, int] = dict(part.known["repeats"])
    entries = iter_entries(file, directory, part.start, part.known["at"])
    return View(
        takewhile(lambda entry: entry.index < part.stop, entries),
        frozenset(part.known["overlaps"]),
        lambda entry: repeats.get(entry.index, 1),
    )


@dataclass(slots=True)
class _Range:
    start: int
    at: int
    members: int = 0
    weight: int = 0
    overlaps: list[int] = field(default_factory=list)
    repeats: list[tuple[int, int]] = field(default_factory=list)

    def join(self, following: _Range) -> None:
        self.members += following.members
        self.weight += following.weight
        self.overlaps += following.overlaps
        self.repeats += following.repeats

    def part(self, stop: int) -> Part:
        known: dict[str, Any] = {"at": self.at, "overlaps": self.overlaps, "repeats": self.repeats}
        return Part(start=self.start, stop=stop, announced=self.members, known=known)


def ranges(file: BinaryIO, size: int, target_bytes: int) -> list[Part]:
    """Ranges of about that many bytes each, inflated or not, whichever is more; none where the archive is not to be
    cut, or not readable (the task that reads it reports why)."""
    try:
        directory = find_directory(file, size)
        overlaps = overlapping(file, directory)
    except DocumentError:
        return []
    most = max(2, RANGES_A_TARGET * size // max(1, target_bytes))
    cuts, stop, known = _cut(file, directory, overlaps, target_bytes, most)
    cuts = _joined(cuts, most)
    if len(cuts) < 2 or known > _MOST_KNOWN:
        return []
    ends = [*(one.start for one in cuts[1:]), stop]
    return [one.part(end) for one, end in zip(cuts, ends, strict=True)]


def _cut(
    file: BinaryIO, directory: Directory, overlaps: Collection[int], target_bytes: int, most: int
) -> tuple[list[_Range], int, int]:
    """Ranges by announced bytes, never many more than `most`; where the last one ends; and how much has to be handed on
    with all of them."""
    cuts: list[_Range] = []
    names, stop, known = Siblings(), 0, 0
    try:
        for entry in iter_entries(file, directory):
            if not cuts or cuts[-1].weight >= target_bytes:
                if len(cuts) >= 2 * most:
                    cuts, target_bytes = _joined(cuts, most), 2 * target_bytes
                cuts.append(_Range(entry.index, entry.at))
            current = cuts[-1]
            current.weight += max(entry.size, entry.compressed)
            stop = entry.index + 1
            if entry.directory:
                continue
            current.members += 1
            if entry.index in overlaps and (known := known + 1) <= _MOST_KNOWN:
                current.overlaps.append(entry.index)
            if (occurrence := names.occurrence(entry.name)) > 1 and (known := known + 1) <= _MOST_KNOWN:
                current.repeats.append((entry.index, occurrence))
    except DocumentError as error:
        # The last range reaches to the end that the directory announces, so that it meets the damage there.
        if cuts:
            stop += error.missing or 0
            cuts[-1].members += error.missing or 0
    return cuts, stop, known


def _joined(cuts: list[_Range], most: int) -> list[_Range]:
    """At most so many, neighbours together."""
    together = -(-len(cuts) // most)
    for first in range(0, len(cuts), max(1, together)):
        for following in cuts[first + 1 : first + together]:
            cuts[first].join(following)
    return cuts[:: max(1, together)]
