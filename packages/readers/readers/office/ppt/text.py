"""Text of a presentation: slides in order with their comments, texts of masters, notes; and the positions of its
objects ([MS-PPT])."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from readers.errors import DocumentError, corrupt, encrypted, expansion_limit
from readers.office import art

# The records of a presentation ([MS-PPT] 2.3.1), and the locations of its objects (2.1.2).

HEADER = struct.Struct("<HHI")
USER_EDIT, PERSIST_DIRECTORY = 0x0FF5, 0x1772
_BINARY_TAG_DATA = 0x138B  # an atom by its header, but its content is records
_PLAIN, _ENCRYPTED = 0xE391C05F, 0xF3D1C4DF  # CurrentUserAtom.headerToken
_BUDGET = 8  # bytes read in walks, in units of the stream's size


class Record(NamedTuple):
    """One record; its data are `stream[start:end]`."""

    kind: int
    instance: int
    start: int
    end: int
    container: bool


class Records:
    """Records of one stream. Walks go straight through it, into containers and out of them, and all walks together read
    at most `_BUDGET` times the stream, so nothing in a file can make them long."""

    def __init__(self, stream: bytes) -> None:
        self.stream = stream
        self._left = _BUDGET * len(stream) + 100_000

    def at(self, offset: int) -> Record | None:
        """Return the record at this offset, truncated at the end of the stream; None if there is no room for one."""
        if offset < 0 or offset + HEADER.size > len(self.stream):
            return None
        first, kind, size = HEADER.unpack_from(self.stream, offset)
        start = offset + HEADER.size
        end = start + size
        container = first & 0xF == 0xF or kind == _BINARY_TAG_DATA
        return Record(kind, first >> 4, start, end if end < len(self.stream) else len(self.stream), container)

    def below(self, start: int, end: int) -> Iterator[Record]:
        """Yield every record between two offsets, containers before their content. Raises DocumentError if too much has
        been walked."""
        at = start
        while at < end and (record := self.at(at)) is not None:
            begin, at = at, record.start if record.container else record.end
            self._left -= at - begin
            if self._left < 0:
                raise _overlap()
            yield record

    def spend(self, record: Record) -> None:
        """Count the bytes of an object at an offset: these may overlap. Raises as `below` does."""
        self._left -= HEADER.size + record.end - record.start
        if self._left < 0:
            raise _overlap()

    def inside(self, record: Record) -> Iterator[Record]:
        """Yield every record in a container."""
        return self.below(record.start, record.end)

    def data(self, record: Record) -> bytes:
        """Return the bytes of an atom."""
        return self.stream[record.start : record.end]

    def word(self, record: Record, offset: int) -> int:
        """Return a 32-bit word of an atom; 0 if the atom ends before it."""
        at = record.start + offset
        return int.from_bytes(self.stream[at : min(at + 4, record.end)], "little")


def _overlap() -> DocumentError:
    return expansion_limit("the objects of the presentation overlap")


def objects(records: Records, current_user: bytes) -> tuple[dict[int, int], int]:
    """Return (persist number → offset, persist number of the document): the newest edit first, older ones fill the
    gaps.

    Raises DocumentError `encrypted` if a password is needed, `corrupt` if the last edit cannot be found."""
    if len(current_user) < 20:
        raise corrupt("the presentation does not give the position of its last edit")
    token, at = struct.unpack_from("<II", current_user, 12)
    if token == _ENCRYPTED:
        raise encrypted("a password is needed to open it")
    places: dict[int, int] = {}
    document, seen = 0, set[int]()
    while at not in seen and (edit := records.at(at)) is not None and edit.kind == USER_EDIT:
        seen.add(at)
        if records.word(edit, 28):  # encryptSessionPersistIdRef
            raise encrypted("a password is needed to open it")
        document = document or records.word(edit, 16)
        directory = records.at(records.word(edit, 12))
        if directory is not None and directory.kind == PERSIST_DIRECTORY:
            records.spend(directory)
            for number, offset in entries(records.data(directory)):
                places.setdefault(number, offset)
        at = records.word(edit, 8)
        if not at:
            break
    if document not in places:
        raise corrupt("the presentation's last edit was not found")
    return places, document


def entries(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the entries of runs of offsets, each run with the number of its first (2.3.5)."""
    at = 0
    while at + 4 <= len(data):
        head = struct.unpack_from("<I", data, at)[0]
        first, count = head & 0xFFFFF, min(head >> 20, (len(data) - at - 4) // 4)
        for i, offset in enumerate(struct.unpack_from(f"<{count}I", data, at + 4)):
            yield first + i, offset
        at += 4 + 4 * (head >> 20)


DOCUMENT, SLIDE, NOTES, MASTER = 0x03E8, 0x03EE, 0x03F0, 0x03F8
OLE_STORAGE = 0x1011
_SLIDE_LIST, _SLIDE_PERSIST = 0x0FF0, 0x03F3
_CHARS, _BYTES, _STRING = 0x0FA0, 0x0FA8, 0x0FBA
_COMMENT, _HEADERS_FOOTERS = 0x2EE0, 0x0FD9
_ASIDE = {0x0FD7: 1, 0x0411: 0}  # links and shows of some slides: instance of the string with the target, or the name
_OLE_EMBED, _OLE_ATOM = 0x0FCC, 0x0FC3
_VBA_INFO = 0x0400
_OF_SLIDES, _OF_MASTERS, _OF_NOTES = 0, 1, 2  # instances of a slide list
_SHAPE, _PROPERTIES, _PLACEHOLDER = 0xF004, 0xF00B, 0x0BC3
_PROMPTS = range(1, 7)  # placeholders of masters with prompts; those of footers are shown
_MARKS = str.maketrans({"\r": "\n", "\x0b": "\n", "\0": None})


def text_of(records: Records, within: Iterable[Record]) -> Iterator[str]:
    """Yield the texts among these records, in order: of shapes, comments with their authors, headers and footers."""
    strings_until = 0  # other strings are names of programs, fonts and tags
    prompt = False
    for record in within:
        kind = record.kind
        if kind in (_COMMENT, _HEADERS_FOOTERS):
            strings_until = record.end
        elif kind == _SHAPE:
            prompt = False
        elif kind == _PLACEHOLDER:
            prompt = records.word(record, 4) & 0xFF in _PROMPTS
        elif kind == _PROPERTIES:
            yield from art.letters(records.data(record), record.instance)
            yield from art.description(records.data(record), record.instance)
        elif (kind in (_BYTES, _CHARS) and not prompt) or (kind == _STRING and record.start < strings_until):
            # One kind stores characters without their high bytes, which are zero.
            text = records.data(record).decode("latin-1" if kind == _BYTES else "utf-16-le", "replace")
            text = text.translate(_MARKS).strip("\n")
            if text and text != "*":  # a lone asterisk is a placeholder of the slide's number or the date
                yield text


class Presentation:
    """A presentation whose objects can be found. `slides` counts them once the text has been read to its end; `lost`
    then counts its broken references."""

    def __init__(self, records: Records, places: dict[int, int], document: int) -> None:
        """Find the document. Raises DocumentError `corrupt` if there is none at the position of its number."""
        self._records, self._places = records, places
        record = records.at(places[document])
        if record is None or record.kind != DOCUMENT:
            raise corrupt("the presentation's document is not at the position given in its directory")
        self._document = record
        self._visited: set[int] = set()
        self.slides = self.lost = 0

    def text(self) -> Iterator[str]:
        """Yield slides, each with its texts in the outline; headers, footers and texts of masters, which are shown on
        many slides; then notes, link targets and names of shows."""
        lists: dict[int, list[Record]] = {_OF_SLIDES: [], _OF_MASTERS: [], _OF_NOTES: []}
        common: list[str] = []
        aside: dict[str, None] = {}
        for record in self._records.inside(self._document):
            if record.kind == _SLIDE_LIST and record.instance in lists:
                lists[record.instance].append(record)
            elif record.kind == _HEADERS_FOOTERS:
                common += text_of(self._records, (record, *self._records.inside(record)))
            elif record.kind in _ASIDE:
                strings = (one for one in self._records.inside(record) if one.kind == _STRING)
                wanted = (self._records.data(one) for one in strings if one.instance == _ASIDE[record.kind])
                aside |= dict.fromkeys(text.decode("utf-16-le", "replace").strip("\0") for text in wanted)
        for kind, records in lists.items():
            for record in records:
                yield from self._list(record, count=kind == _OF_SLIDES)
            if kind == _OF_SLIDES:
                yield from common
        yield from aside

    def objects(self) -> Iterator[Record]:
        """Yield the storages of embedded objects (ExOleObjStg), in the order of the document's list."""
        for record in self._records.inside(self._document):
            if record.kind != _OLE_EMBED:
                continue
            atom = next((r for r in self._records.inside(record) if r.kind == _OLE_ATOM), None)
            if atom is not None and (storage := self._object(self._records.word(atom, 16))) is not None:
                yield storage

    def macros(self) -> Iterator[Record]:
        """Yield the storage of its macros (2.4.12), if it has any."""
        for record in self._records.inside(self._document):
            if record.kind == _VBA_INFO and (storage := self._object(self._records.word(record, 0))) is not None:
                yield storage

    def _object(self, number: int) -> Record | None:
        """Return the persistent object of this number; None the second time, and if there is none."""
        place = self._places.get(number)
        if place is None or place in self._visited:
            return None
        self._visited.add(place)
        return self._records.at(place)

    def _list(self, slides: Record, *, count: bool) -> Iterator[str]:
        """Read a slide list: for each slide a reference, then its texts in the outline."""
        outline: list[Record] = []
        reference: Record | None = None
        for record in self._records.inside(slides):
            if record.kind != _SLIDE_PERSIST:
                outline.append(record)
                continue
            yield from self._slide(reference, outline)
            reference, outline = record, []
            self.slides += count
        yield from self._slide(reference, outline)

    def _slide(self, reference: Record | None, outline: list[Record]) -> Iterator[str]:
        yield from text_of(self._records, outline)
        number = self._records.word(reference, 0) if reference is not None else 0
        if not number:
            return
        again = self._places.get(number) in self._visited
        slide = self._object(number)
        if slide is not None and slide.kind in (SLIDE, NOTES, MASTER):
            yield from text_of(self._records, self._records.inside(slide))
        elif not again:
            self.lost += 1


def salvaged(records: Records) -> Iterator[str]:
    """Yield all texts of a stream whose objects cannot be found."""
    try:
        yield from text_of(records, records.below(0, len(records.stream)))
    except DocumentError:
        return


def salvaged_objects(records: Records) -> Iterator[Record]:
    """Yield the storages of embedded objects in such a stream, in stream order."""
    try:
        yield from (record for record in records.below(0, len(records.stream)) if record.kind == OLE_STORAGE)
    except DocumentError:
        return
