"""Layout of a production's files: volumes with a folder of natives, of text and of images, each divided into folders.

VOL001/NATIVES/0001/ABC00000001.msg VOL001/TEXT/0001/ABC00000001.txt VOL001/IMAGES/0001/ABC00000001.tif"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from core.job_types import FileKind, JobType
from core.plain import grouped
from production.options import ProductionChoice

_TOPS = {FileKind.NATIVE: "NATIVES", FileKind.TEXT: "TEXT", FileKind.IMAGE: "IMAGES"}
KINDS = tuple(_TOPS)
_MOST_SUFFIX = 10
_SUFFIX = re.compile(rb"\.([A-Za-z0-9]{1,%d})\Z" % _MOST_SUFFIX)
_MAIL = "message/rfc822"

# What a type of job writes at its end, in the output directory itself.
REPORTS: Mapping[JobType, tuple[str, ...]] = {
    JobType.EXTRACTION: ("metadata.jsonl", "metadata.csv", "hashes.csv"),
    JobType.PROCESSING: ("metadata.jsonl", "metadata.csv", "loadfile.opt", "hashes.csv"),
    JobType.EXPORT: ("loadfile.opt", "loadfile.csv", "loadfile.dat", "loadfile.xml", "hashes.csv", "withheld.csv"),
}
_DRAFT = re.compile(rb"\.[0-9a-f]{12}\.tmp\Z")  # of a file that the storage layer has not given its final name yet


@dataclass(frozen=True, slots=True)
class Place:
    """A volume and a folder in it, both from 1."""

    volume: int
    folder: int


@dataclass(slots=True)
class Layout:
    """Assigns places to families one after another; a family is never divided."""

    folder_files: int  # the most items in one folder, unless one family has more
    volume_bytes: int = 0  # the most in one volume, unless one family has more; 0: there is one volume
    _volume: int = 1
    _folder: int = 1
    _files: int = 0
    _bytes: int = 0

    def place(self, sizes: Sequence[int]) -> Place:
        """Return the place of a family of items of these sizes."""
        total = sum(sizes)
        if self.volume_bytes and self._bytes and self._bytes + total > self.volume_bytes:
            self._volume, self._folder, self._files, self._bytes = self._volume + 1, 1, 0, 0
        elif self._files and self._files + len(sizes) > self.folder_files:
            self._folder, self._files = self._folder + 1, 0
        self._files += len(sizes)
        self._bytes += total
        return Place(self._volume, self._folder)


def folder(kind: FileKind, place: Place) -> str:
    """Return the folder of files of one kind, relative to the output directory."""
    return f"{volume(place.volume)}/{_TOPS[kind]}/{place.folder:04d}"


def volume(number: int) -> str:
    """Return the name of a volume."""
    return f"VOL{number:03d}"


def suffix_of(name: bytes, media_type: str) -> str:
    """Return the suffix of an item's native: that of its name if it is plain; mail has `.eml`."""
    found = _SUFFIX.search(name)
    if media_type == _MAIL:
        return ".eml"
    return "." + found[1].decode("ascii").lower() if found else ".bin"


def is_report(kind: JobType, name: bytes) -> bool:
    """Return whether a file in the output directory is a report of such a job, or a draft of one."""
    return draft_of(name) in map(str.encode, REPORTS[kind])


def is_of_item(choice: ProductionChoice, name: bytes) -> bool:
    """Return whether a file in one of the folders has a name of the job's items, or is a draft of one."""
    stem, _, suffix = draft_of(name).partition(b".")
    prefix = choice.prefix.encode()
    number = stem.removeprefix(prefix)
    return (
        stem.startswith(prefix) and number.isdigit() and len(number) >= choice.digits
        and suffix.isalnum() and len(suffix) <= _MOST_SUFFIX
    )  # fmt: skip


def draft_of(name: bytes) -> bytes:
    """Return the final name of a draft; for another file its own name."""
    return _DRAFT.sub(b"", name)


def is_draft(name: bytes) -> bool:
    """Return whether a file has not been given its final name yet."""
    return _DRAFT.search(name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """An item that is taken."""

    id: uuid.UUID
    family: uuid.UUID | None  # its family's topmost item
    parent: uuid.UUID | None  # ignoring containers between the two
    size: int  # of the files written for it, estimated


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """An item with its number, the range that it belongs to and its place."""

    taken: Taken
    number: int
    first: (
        int  # of the whole family; without its topmost item a range begins with each that is attached to nothing taken
    )
    last: int
    parent: int | None  # number of its parent; None: no taken item
    place: Place


def numbered(items: Iterable[Taken], first: int, layout: Layout) -> Iterator[Numbered]:
    """Number the items, beginning at `first`. Families must be contiguous; one is held in memory at a time."""
    number = first
    for _, group in groupby(items, key=lambda item: item.family or item.id):
        members = list(group)
        place = layout.place([member.size for member in members])
        for tree in _trees(members):
            numbers = {member.id: number + n for n, member in enumerate(tree)}
            last = number + len(tree) - 1
            for n, member in enumerate(tree):
                above = None if member.parent is None else numbers.get(member.parent)
                yield Numbered(taken=member, number=number + n, first=number, last=last, parent=above, place=place)
            number = last + 1


def _trees(members: Sequence[Taken]) -> Iterator[list[Taken]]:
    """Yield each item that is attached to none of the others, followed by everything attached to it, in their order:
    one tree for a complete family."""
    known = {member.id for member in members}
    below = grouped(members, lambda member: member.parent if member.parent in known else None)
    for top in below.get(None, ()):
        tree, ahead = [], [top]
        while ahead:
            tree.append(one := ahead.pop())
            ahead.extend(reversed(below.get(one.id, ())))
        yield tree


@dataclass(slots=True)
class Batches:
    """Divides numbers into batches of whole families."""

    most_items: int
    most_bytes: int
    _first: int = 0
    _last: int = 0
    _bytes: int = 0

    def add(self, number: int, first: int, last: int, size: int) -> tuple[int, int, int] | None:
        """Add the next item, of a family with the numbers `first` to `last`; return (first, last, bytes) of a batch
        that is full without it."""
        full = None
        many = last - self._first + 1
        if self._first and number == first and (many > self.most_items or self._bytes + size > self.most_bytes):
            full = self.rest()
        if not self._first:
            self._first = number
        self._last, self._bytes = number, self._bytes + size
        return full

    def rest(self) -> tuple[int, int, int] | None:
        """Return the last batch; None if there is none."""
        if not self._first:
            return None
        batch = (self._first, self._last, self._bytes)
        self._first = self._last = self._bytes = 0
        return batch
