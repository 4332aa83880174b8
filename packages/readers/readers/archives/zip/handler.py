"""Zip archives (APPNOTE 6.3.10), by their central directory; cut ones by their local headers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from itertools import islice
from typing import Any, BinaryIO

from msgspec import Struct, field

from readers.archives.names import MOST, Likely, likely_charset
from readers.archives.zip.crypto import unlock
from readers.archives.zip.directory import (
    LOCAL_SIGNATURE,
    SPLIT,
    Directory,
    ZipEntry,
    find_directory,
    iter_entries,
    iter_quietly,
    lacks_charset,
    least_end,
    overlapping,
)
from readers.archives.zip.member import MemberReader, open_member
from readers.archives.zip.salvage import salvage
from readers.base import Child, ContainerHandler, Declared, Part, Source
from readers.errors import DocumentError, ExceptionCode, corrupt, unsupported
from readers.inflate import METHODS
from readers.modules import MEDIA_TYPES
from readers.passwords import TryBudget
from readers.records import Kind, Limits, Siblings
from readers.rest import AFTER, BEFORE, rest
from readers.streams import SMALL_MEMBER, PieceStream, as_binary

# Ranges of a zip archive's central directory, each read by a task of its own.

RANGES_A_TARGET = 4  # for each `target_bytes` of the archive, regardless of its inflated size
_MOST_KNOWN = 10_000  # the most overlaps and repeated names that ranges carry; with more of them there are no ranges


class View(Struct, frozen=True):
    """Entries of an archive, or of a range, with the facts about them that need the whole directory."""

    entries: Iterator[ZipEntry]
    overlaps: Collection[int]
    ordered: bool  # the members are in the order of the directory
    occurrence: Callable[[ZipEntry], int]  # ask for the entries in their order


def whole(file: BinaryIO, directory: Directory) -> View:
    """Return the view of the whole archive."""
    names, overlaps = Siblings(), overlapping(file, directory)
    entries = iter_entries(file, directory)
    return View(entries, overlaps or (), overlaps is None, lambda entry: names.occurrence(entry.name))


def of_range(file: BinaryIO, directory: Directory, part: Part) -> View:
    """Return the view from the start of one range on, without reading the directory before it."""
    repeats: dict[int, int] = dict(part.known["repeats"])
    entries, overlaps = iter_entries(file, directory, part.start, part.known["at"]), frozenset(part.known["overlaps"])
    return View(entries, overlaps, part.known["ordered"], lambda entry: repeats.get(entry.index, 1))


class _Range(Struct):
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

    def part(self, stop: int, *, ordered: bool) -> Part:
        known = {"at": self.at, "overlaps": self.overlaps, "repeats": self.repeats, "ordered": ordered}
        return Part(start=self.start, stop=stop, announced=self.members, known=known)


def ranges(file: BinaryIO, size: int, target_bytes: int) -> list[Part]:
    """Return ranges of about `target_bytes` each, inflated or not, whichever is more; none if the archive must not be
    split or is not readable (the task that reads it reports why)."""
    try:
        directory = find_directory(file, size)
        overlaps = overlapping(file, directory)
    except DocumentError:
        return []
    most = max(2, RANGES_A_TARGET * size // max(1, target_bytes))
    cuts, stop, known = _cut(file, directory, overlaps or (), target_bytes, most)
    cuts = _joined(cuts, most)
    if len(cuts) < 2 or known > _MOST_KNOWN:
        return []
    ends = [*(one.start for one in cuts[1:]), stop]
    return [one.part(end, ordered=overlaps is None) for one, end in zip(cuts, ends, strict=True)]


def _cut(
    file: BinaryIO, directory: Directory, overlaps: Collection[int], target_bytes: int, most: int
) -> tuple[list[_Range], int, int]:
    """Return ranges by announced bytes, never many more than `most`; the end of the last one; and how many overlaps and
    repeats come with all of them."""
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
    """Join neighbours until at most `most` ranges are left."""
    together = -(-len(cuts) // most)
    for first in range(0, len(cuts), max(1, together)):
        for following in cuts[first + 1 : first + together]:
            cuts[first].join(following)
    return cuts[:: max(1, together)]


_VOLUME = re.compile(rb"\.\d{3}\Z")  # as 7-Zip splits archives, without changing a byte
_FIRST_VOLUME = b"PK\x07\x08" + LOCAL_SIGNATURE  # of a split archive (APPNOTE 8.5.3)
_SIGNED = b"APK Sig Block 42"  # the end of the signing block that Android's packages have before the directory
_DESCRIPTOR = 24  # bytes that may follow the data of a member (APPNOTE 4.3.9)
_EXTRA = 4096  # bytes of extra fields in a local header that was not read
_MOST_GAPS = 16
BETWEEN = b"bytes between members"

# Packages in zip archives that name their type in a member `mimetype` and have no handler of their own. The registry
# adds types that end with "+zip" (RFC 6839, 3.6).
PACKAGES = MEDIA_TYPES["archives.zip.handler"][1:]


class ZipHandler(ContainerHandler):
    """A zip archive; its members are its children, with the index in the central directory as ordinal. Directory
    entries are counted in the index and are not items."""

    name = "zip"
    splits = True
    declared: tuple[Declared, ...] = (
        Declared(
            title="Zip archives",
            media_types=("application/zip",),
            extensions=("zip", "zipx", "jar", "war", "apk", "pages", "numbers", "key"),
            children="members in the order of the central directory; without a directory, those that are complete "
            "according to their local headers; symbolic links as items without bytes; data of a known type "
            "outside all members",
            announces="the central directory",
            leaves_out=(
                "times, owners and permissions of members, comments",
                "members that need a password which is not in the bank (`--passwords`); PKWARE's strong encryption",
                "compression methods other than stored, Deflate, Deflate64, bzip2, LZMA, Zstandard and xz",
                "one part of a split archive: members are read only if all parts are joined",
                "a member whose data overlaps another's (a bomb)",
                "directory entries without bytes, which are not items; data of no known type outside all members",
                "the character set of names if the archive does not declare it; a guess is recorded as `name_charset`",
            ),
        ),
        Declared(
            title="Electronic books and other packages in zip archives",
            media_types=PACKAGES,
            extensions=("epub", "ibooks", "idml", "odb"),
            children="as for zip archives; the chapters of an EPUB are web pages",
            announces="the central directory",
            leaves_out=(
                "title and author as metadata: they are in the text of a part",
                "everything that is left out of zip archives",
            ),
        ),
    )

    def announced(self, source: Source) -> int | None:
        """Count the members in the central directory, with those lost by its damage; None without one."""
        count = 0
        try:
            with source.open() as file:
                for entry in iter_entries(file, find_directory(file, source.size)):
                    count += not entry.directory
        except DocumentError as error:
            return count + error.missing if error.missing else count or None
        return count

    def parts(self, source: Source, target_bytes: int) -> list[Part]:
        """Return ranges of directory indexes of about `target_bytes` each."""
        with source.open() as file:
            return ranges(file, source.size, target_bytes)

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield the members in directory order. Without a readable directory, yield those that are complete by local
        headers, then raise `truncated`. A member that cannot be read is a Child with an error that is not emitted."""
        with source.open() as file:
            try:
                directory = find_directory(file, source.size)
            except DocumentError as error:
                if error.code is not ExceptionCode.TRUNCATED or (part and part.start > 0):
                    raise
                yield from salvage(file, source.size, limits)
                if source.head.startswith(_FIRST_VOLUME) or _VOLUME.search(source.name):
                    raise unsupported(SPLIT) from error
                raise
            yield from _members(source, file, limits, directory, part)


def _members(
    source: Source, file: BinaryIO, limits: Limits, directory: Directory, part: Part | None
) -> Iterator[Child]:
    names: Likely | None = None  # charset of names without a declared one, when the first is met
    budget, view = TryBudget(limits), whole(file, directory) if part is None else of_range(file, directory, part)
    gaps, stop = Gaps(ordered=view.ordered), 0
    for entry in view.entries:
        if part is not None and entry.index == part.start > 0:
            gaps.behind(entry.offset, 0)
        gaps.before(entry.offset)
        if part is not None and entry.index >= part.stop:
            break
        gaps.behind(least_end(entry), _EXTRA)
        stop = entry.index + 1
        if entry.directory:
            continue
        try:
            if entry.link:
                child = link_member(entry.name, entry.index)
            elif entry.index in view.overlaps:
                raise corrupt("the member's data overlaps another member's")
            else:
                child = _member(source, file, entry, budget, gaps)
        except DocumentError as error:
            child = failed_member(entry.name, entry.index, error)
        child.shown, child.occurrence = entry.shown, view.occurrence(entry)
        if lacks_charset(entry):
            if names is None:
                unsaid = (entry.name for entry in iter_quietly(file, directory) if lacks_charset(entry))
                names = likely_charset(islice(unsaid, MOST))
            _name(child, names)
        yield child
    else:
        gaps.before(directory.position)
    if not view.ordered and (part is None or stop >= directory.entries):
        gaps = Gaps.of_any_order(file, directory, source.size)
    size = source.size if part is None or stop >= directory.entries else directory.end
    yield from _outside(file, gaps, directory, size, stop, full=part is None)


def _outside(file: BinaryIO, gaps: Gaps, directory: Directory, size: int, stop: int, *, full: bool) -> Iterator[Child]:
    """Account for the bytes outside of members and directory: before the first, between members, after the end."""
    most = directory.position  # offsets may lead anywhere
    places = [(start, min(end, most), BETWEEN if start else BEFORE) for start, end in gaps.found]
    errors: list[DocumentError] = []
    for number, (start, end, name) in enumerate([*places, (directory.end, size, AFTER)], stop):
        if name is not AFTER and _expected(file, start, end):
            continue
        try:
            yield from rest(file, start, end, number, "zip archive", name=name, opened=full)
        except DocumentError as error:
            errors.append(error)
    if gaps.more:
        errors.append(corrupt(f"{gaps.more:,} bytes between members", missing=0))
    if errors:
        raise corrupt("; ".join(error.detail for error in errors), missing=0)


def _expected(file: BinaryIO, start: int, end: int) -> bool:
    """Return whether a range outside of all members is expected there: the program of a self-extracting archive, or the
    signature of an Android package."""
    file.seek(start)
    if start == 0 and file.read(2) == b"MZ":
        return True
    file.seek(max(start, end - len(_SIGNED)))
    return file.read(len(_SIGNED)) == _SIGNED


class Gaps:
    """Ranges between members that come in the order of their positions, up to the first that does not."""

    def __init__(self, *, ordered: bool) -> None:
        self.found: list[tuple[int, int]] = []
        self.more = 0  # bytes in further ones
        self._reached = self._slack = 0
        self._ordered = ordered
        self._reader: MemberReader | None = None

    def behind(self, end: int, slack: int) -> None:
        """Record that a member ends at `end`; up to `slack` bytes after it may be its own."""
        self._reached, self._slack, self._reader = end, slack, None

    def read(self, reader: MemberReader) -> None:
        """Record the member's reader: after reading it knows the real end, before unused bytes."""
        self._slack, self._reader = _DESCRIPTOR, reader

    def before(self, start: int) -> None:
        """Record that the next member, or the directory, begins at `start`."""
        if self._reader is not None:
            self._reached = self._reader.end
        self._ordered = self._ordered and start >= self._reached
        if not self._ordered or start - self._reached <= self._slack:
            return
        if len(self.found) < _MOST_GAPS:
            self.found.append((self._reached, start))
        else:
            self.more += start - self._reached

    @classmethod
    def of_any_order(cls, file: BinaryIO, directory: Directory, size: int) -> Gaps:
        """Return those of an archive whose directory is in another order, by the announced lengths of members."""
        gaps = cls(ordered=True)
        for entry in sorted(iter_quietly(file, directory), key=lambda entry: entry.offset):
            gaps.before(entry.offset)
            try:
                gaps.behind(open_member(file, size, entry).end, _DESCRIPTOR)
            except DocumentError:
                gaps.behind(least_end(entry), _EXTRA)
        gaps.before(directory.position)
        return gaps


def _name(child: Child, names: Likely) -> None:
    """Decode a name without a declared charset in the certain charset of all such names; else in its likeliest charset
    (the format's own code page 437 if that gives letters), and record that as a guess."""
    if (decoded := names.by_letters(child.name)) is not None:
        child.shown, charset = decoded
        child.notes = child.notes | {"name_charset": charset}
    elif (names.sure or child.shown is None) and (shown := names.read(child.name)) is not None:
        child.shown = shown
        if not names.sure:
            child.notes = child.notes | {"name_charset": names.charset}
    elif child.shown is not None:
        child.notes = child.notes | {"name_charset": "cp437"}
    elif (shown := (alone := likely_charset((child.name,))).read(child.name)) is not None:
        child.shown = shown
        child.notes = child.notes | {"name_charset": alone.charset}


def failed_member(name: bytes, ordinal: int, error: DocumentError) -> Child:
    """Return the child for a member that is announced and has no row."""
    detail = f"{name[:80].decode('utf-8', 'backslashreplace')!r}: {error.detail}"
    return Child(
        name=name,
        kind=Kind.ARCHIVE_MEMBER,
        ordinal=ordinal,
        data=b"",
        error=DocumentError(error.code, detail, missing=1),
        emit=False,
    )


def streamed_member(
    name: bytes, ordinal: int, stream: PieceStream, size: int | None, notes: dict[str, Any] | None = None
) -> Child:
    """Return a member with its bytes if they are few (failed if unreadable), else with a stream."""
    child = Child(name=name, kind=Kind.ARCHIVE_MEMBER, ordinal=ordinal, notes=notes or {})
    if size is None or size > SMALL_MEMBER:
        child.stream, child.size_hint = as_binary(stream), size
        return child
    try:
        child.data = stream.read()
    except DocumentError as error:
        return failed_member(name, ordinal, error)
    return child


def link_member(name: bytes, ordinal: int) -> Child:
    """Return the child for a symbolic link: a row without bytes."""
    error = DocumentError(ExceptionCode.SYMLINK, "a link in the archive; not followed")
    return Child(name=name, kind=Kind.ARCHIVE_MEMBER, ordinal=ordinal, error=error, media_type="inode/symlink")


def _member(source: Source, file: BinaryIO, entry: ZipEntry, budget: TryBudget, gaps: Gaps) -> Child:
    notes: dict[str, Any] = {}
    if entry.encrypted:
        opened = unlock(file, source.size, entry, source.passwords, budget)
        reader, notes = opened.value, opened.metadata
    elif entry.method not in METHODS:
        raise unsupported(f"compression method {entry.method} cannot be read")
    else:
        reader = open_member(file, source.size, entry)
        gaps.read(reader)
    child = reader.child(entry, Kind.ARCHIVE_MEMBER, whole=entry.small)
    child.notes = notes
    return child
