"""Text of a presentation: slides in order with their comments, what masters add, notes; and where its objects are
([MS-PPT])."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from readers.errors import DocumentError, ExceptionCode
from readers.office import art
from readers.office.ppt.records import Record, Records

DOCUMENT, SLIDE, NOTES, MASTER = 0x03E8, 0x03EE, 0x03F0, 0x03F8
OLE_STORAGE = 0x1011
_SLIDE_LIST, _SLIDE_PERSIST = 0x0FF0, 0x03F3
_CHARS, _BYTES, _STRING = 0x0FA0, 0x0FA8, 0x0FBA
_COMMENT, _HEADERS_FOOTERS = 0x2EE0, 0x0FD9
_OLE_EMBED, _OLE_ATOM = 0x0FCC, 0x0FC3
_VBA_INFO = 0x0400
_OF_SLIDES, _OF_MASTERS, _OF_NOTES = 0, 1, 2  # instances of a slide list
_SHAPE, _PROPERTIES, _PLACEHOLDER = 0xF004, 0xF00B, 0x0BC3
_PROMPTS = range(1, 7)  # placeholders of masters whose texts ask to be clicked on; those of footers are shown
_MARKS = str.maketrans({"\r": "\n", "\x0b": "\n", "\0": None})


def text_of(records: Records, within: Iterable[Record]) -> Iterator[str]:
    """The texts among these records, in order: of shapes, of comments with their authors, of headers and footers."""
    strings_until = 0  # strings elsewhere are names of programs, fonts and tags
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
            # In one kind characters come without their high bytes, which are zero.
            text = records.data(record).decode("latin-1" if kind == _BYTES else "utf-16-le", "replace")
            text = text.translate(_MARKS).strip("\n")
            if text and text != "*":  # a lone asterisk stands for the slide's number or the date
                yield text


class Presentation:
    """A presentation whose objects can be found. `slides` counts them once the text has been read to its end; `lost`
    then counts its references that lead nowhere."""

    def __init__(self, records: Records, places: dict[int, int], document: int) -> None:
        """Raise DocumentError `corrupt` when there is no document at the place of its number."""
        self._records, self._places = records, places
        record = records.at(places[document])
        if record is None or record.kind != DOCUMENT:
            raise DocumentError(
                ExceptionCode.CORRUPT, "the presentation's document is not at the position that its directory gives"
            )
        self._document = record
        self._visited: set[int] = set()
        self.slides = self.lost = 0

    def text(self) -> Iterator[str]:
        """Slides, each with what the outline holds of it; headers, footers and texts of masters, which are shown on
        many; then notes."""
        lists: dict[int, list[Record]] = {_OF_SLIDES: [], _OF_MASTERS: [], _OF_NOTES: []}
        common: list[str] = []
        for record in self._records.inside(self._document):
            if record.kind == _SLIDE_LIST and record.instance in lists:
                lists[record.instance].append(record)
            elif record.kind == _HEADERS_FOOTERS:
                common += text_of(self._records, (record, *self._records.inside(record)))
        for kind, records in lists.items():
            for record in records:
                yield from self._list(record, count=kind == _OF_SLIDES)
            if kind == _OF_SLIDES:
                yield from common

    def objects(self) -> Iterator[Record]:
        """The storages of embedded objects (ExOleObjStg), in the order of the document's list."""
        for record in self._records.inside(self._document):
            if record.kind != _OLE_EMBED:
                continue
            atom = next((r for r in self._records.inside(record) if r.kind == _OLE_ATOM), None)
            if atom is not None and (storage := self._object(self._records.word(atom, 16))) is not None:
                yield storage

    def macros(self) -> Iterator[Record]:
        """The storage of its macros (2.4.12), if it has any."""
        for record in self._records.inside(self._document):
            if record.kind == _VBA_INFO and (storage := self._object(self._records.word(record, 0))) is not None:
                yield storage

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
    """All texts of a stream whose objects cannot be found."""
    try:
        yield from text_of(records, records.below(0, len(records.stream)))
    except DocumentError:
        return


def salvaged_objects(records: Records) -> Iterator[Record]:
    """The storages of embedded objects in such a stream, in stream order."""
    try:
        yield from (record for record in records.below(0, len(records.stream)) if record.kind == OLE_STORAGE)
    except DocumentError:
        return
