"""Text of a presentation: slides in order with their comments, then notes; and where its objects are ([MS-PPT])."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from core.errors import DocumentError
from formats.office.ppt.records import Record, Records

DOCUMENT, SLIDE, NOTES = 0x03E8, 0x03EE, 0x03F0
_SLIDE_LIST, _SLIDE_PERSIST = 0x0FF0, 0x03F3
_CHARS, _BYTES, _STRING = 0x0FA0, 0x0FA8, 0x0FBA
_COMMENT, _HEADERS_FOOTERS = 0x2EE0, 0x0FD9
_OLE_EMBED, _OLE_ATOM = 0x0FCC, 0x0FC3
_OF_SLIDES, _OF_NOTES = 0, 2  # instances of a slide list
_MARKS = str.maketrans({"\r": "\n", "\x0b": "\n", "\0": None})


def text_of(records: Records, within: Iterable[Record]) -> Iterator[str]:
    """The texts among these records, in order: of shapes, of comments with their authors, of headers and footers."""
    strings_until = 0  # strings elsewhere are names of programs, fonts and tags
    for record in within:
        if record.kind in (_COMMENT, _HEADERS_FOOTERS):
            strings_until = record.end
            continue
        if record.kind == _BYTES:  # characters without their high bytes, which are zero
            text = records.data(record).decode("latin-1")
        elif record.kind == _CHARS or (record.kind == _STRING and record.start < strings_until):
            text = records.data(record).decode("utf-16-le", "replace")
        else:
            continue
        text = text.translate(_MARKS).strip("\n")
        if text and text != "*":  # a lone asterisk stands for the slide's number or the date
            yield text


class Presentation:
    """A presentation whose objects can be found. `slides` counts them once the text has been read to its end."""

    def __init__(self, records: Records, places: dict[int, int], document: int) -> None:
        self._records, self._places = records, places
        self._document = records.at(places[document])
        self._visited: set[int] = set()
        self.slides = 0

    def text(self) -> Iterator[str]:
        """Slides, each with what the outline holds of it, then notes."""
        notes: list[Record] = []
        for record in self._in_document(_SLIDE_LIST):
            if record.instance == _OF_SLIDES:
                yield from self._list(record, count=True)
            elif record.instance == _OF_NOTES:
                notes.append(record)
        for record in notes:
            yield from self._list(record, count=False)

    def objects(self) -> Iterator[Record]:
        """The storages of embedded objects (ExOleObjStg), in the order of the document's list."""
        for record in self._in_document(_OLE_EMBED):
            atom = next((r for r in self._records.inside(record) if r.kind == _OLE_ATOM), None)
            if atom is not None and (found := self._object(self._records.word(atom, 16))) is not None:
                yield found

    def _in_document(self, kind: int) -> Iterator[Record]:
        if self._document is None or self._document.kind != DOCUMENT:
            return
        yield from (record for record in self._records.inside(self._document) if record.kind == kind)

    def _object(self, number: int) -> Record | None:
        """The persistent object of this number; None the second time, and when there is none."""
        place = self._places.get(number)
        if place is None or place in self._visited:
            return None
        self._visited.add(place)
        return self._records.at(place)

    def _list(self, slides: Record, *, count: bool) -> Iterator[str]:
        """A slide list: for each slide a reference, then its texts as the outline has them."""
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
        if reference is None:
            return
        found = self._object(self._records.word(reference, 0))
        if found is not None and found.kind in (SLIDE, NOTES):
            yield from text_of(self._records, self._records.inside(found))


def salvaged(records: Records) -> Iterator[str]:
    """All texts of a stream whose objects cannot be found."""
    try:
        yield from text_of(records, records.below(0, len(records.stream)))
    except DocumentError:
        return
