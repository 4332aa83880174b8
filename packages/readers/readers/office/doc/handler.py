"""Word documents of Word 6 to 2003 ([MS-DOC]): text of all stories, properties, embedded objects, pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from readers import clean
from readers.base import Child, Declared, LeafHandler, Part, Source, Text
from readers.cfb import LEFT_OUT
from readers.charset import CHARSET_KEYS
from readers.errors import DocumentError, ExceptionCode, corrupt
from readers.office import art as office_art
from readers.office import vba as office_vba
from readers.office.doc.numbering import Numbering
from readers.office.doc.pieces import Fib, fonts_of, piece_table, pieces, two
from readers.office.encryption.legacy import opened_doc
from readers.office.ole import objects as ole_objects
from readers.office.ole import property_set
from readers.office.ole.compound import CompoundFile
from readers.records import Limits

# Text of a Word document other than its visible characters ([MS-DOC]): link targets, chosen form entries, commenters.

_LINK = re.compile('\x13\\s*HYPERLINK\\s+(?:"([^"\x13-\x15]*)|([^\\s"\\\\\x13-\x15][^\\s\x13-\x15]*))', re.IGNORECASE)
# A form's field in the data stream (2.9.158, 2.9.78): the size of the bytes before it, these bytes, its version.
_FORM_FIELD = re.compile(rb"\x44\0.{62}\xff\xff\xff\xff", re.DOTALL)
_LIST = 2  # kind of a field
_BY_DEFAULT = 25  # in place of the number of an entry
_STRINGS = 5  # strings after its default: format, help, status and two macros
_MOST = 100_000  # fields, and names


def addresses(text: str) -> Iterator[str]:
    """Yield the addresses of links (2.8.25), each once, without places in the document."""
    found = (next(filter(None, match.groups()), "") for match in _LINK.finditer(text)) if "HYPERLINK" in text else ()
    return filter(None, dict.fromkeys(" ".join(address.split()) for address in found))


def chosen(data: bytes) -> Iterator[str]:
    """Yield the chosen entries of the lists of a form, which are not among its characters."""
    for match in islice(_FORM_FIELD.finditer(data), _MOST):
        if entry := _entry(data, match.end()):
            yield entry


def _entry(data: bytes, at: int) -> str:
    """Return the chosen entry of one field, from its version on; "" if it is not a list, or not complete."""
    flags, at = two(data, at), at + 6
    if flags & 3 != _LIST:
        return ""
    at = _behind(data, at)
    default, at = two(data, at), at + 2
    for _ in range(_STRINGS):
        at = _behind(data, at)
    marker, count, extra = (two(data, at + 2 * i) for i in range(3))
    wanted = flags >> 2 & 31
    wanted, at = default if wanted == _BY_DEFAULT else wanted, at + 6
    if marker != 0xFFFF or not wanted < count:
        return ""
    for _ in range(wanted):
        at += 2 + 2 * two(data, at) + extra
    return data[at + 2 : at + 2 + 2 * two(data, at)].decode("utf-16-le", "replace")


def _behind(data: bytes, at: int) -> int:
    """Return the position after a string, which ends with a zero."""
    return at + 2 + 2 * two(data, at) + 2


def authors(owners: bytes) -> Iterator[str]:
    """Yield the authors of comments (2.9.105), each once."""
    known: set[str] = set()
    at = 0
    while at + 2 <= len(owners) and len(known) < _MOST:
        size = 2 * two(owners, at)
        name = owners[at + 2 : at + 2 + size].decode("utf-16-le", "replace").strip("\0 ")
        at += 2 + size
        if name and name not in known:
            known.add(name)
            yield name


# The characters of a Word document that are text ([MS-DOC] 2.8): stories, fields, special characters.

_FIELD = re.compile("([\x13\x14\x15])")
_SHOWN_BY_CODE = re.compile(r"\s*(?:EQ|MACROBUTTON|GOTOBUTTON)\s", re.IGNORECASE)  # these have no results
_TABLE = {
    **dict.fromkeys(range(0x20)),  # pictures, reference marks, drawn objects: no text
    0x07: "\t",
    0x09: "\t",
    0x0A: "\n",
    0x0B: "\n",
    0x0C: "\n",
    0x0D: "\n",
    0x0E: "\n",
    0x1E: "-",
    0x1F: "\xad",  # the index contains the word whole and in its parts
    0xFFFE: None,
    0xFFFF: None,
}


def stories(text: str, counts: list[int], labels: Mapping[int, str]) -> Iterator[str]:
    """Yield main text, footnotes, headers, comments … separately, as readers see them; empty ones are omitted. `labels`
    are inserted before the text at their positions, in order."""
    at = 0
    for count in [*counts, len(text)]:
        part = _labelled(text, at, at + count, labels) if labels else text[at : at + count]
        at += count
        if part and (readable := plain(part).strip("\n")):
            yield readable


def _labelled(text: str, at: int, end: int, labels: Mapping[int, str]) -> str:
    out: list[str] = []
    for place, label in labels.items():
        if at <= place < end:
            out += (text[at:place], label, "\t")
            at = place
    return "".join((*out, text[at:end]))


def plain(text: str) -> str:
    """Remove field codes and special characters; make lines of paragraphs and rows, tabs between cells."""
    if "\x13" in text:
        text = _without_codes(text)
    return text.replace("\x07\x07", "\n").translate(_TABLE)


def _without_codes(text: str) -> str:
    """Replace fields by their results (2.8.25), except those whose code is shown. A field without an end hides nothing:
    a code that is not followed by separator or end is text."""
    out: list[str] = []
    open_fields: list[int] = []  # start of each code in `out`, -1 once its result has begun
    for piece in _FIELD.split(text):
        if piece == "\x13":
            open_fields.append(len(out))
        elif piece == "\x14" and open_fields:
            if open_fields[-1] >= 0:
                del out[open_fields[-1] :]
                open_fields[-1] = -1
        elif piece == "\x15" and open_fields:
            began = open_fields.pop()
            if began >= 0 and not (began < len(out) and _SHOWN_BY_CODE.match(out[began])):
                del out[began:]
        else:
            out.append(piece)
    return "".join(out)


_FIRST_SECTOR = 512
_PICTURES = ("Data", "WordDocument")  # streams with the pictures in the text, and with floating ones


class DocHandler(LeafHandler):
    """A Word document or template in a compound file."""

    name = "doc"
    declared = Declared(
        title="Word documents, Word 6 to 2003",
        extensions=("doc", "dot"),
        text="main text, footnotes, headers and footers, comments, endnotes, text boxes, with list numbers before "
        "paragraphs, then WordArt and watermarks, selected form entries, alternative text and names of "
        "commenters (Word 97 and newer), and link targets; without a piece table, the text of the first block",
        metadata=(
            *property_set.KEYS,
            *CHARSET_KEYS,
        ),  # the latter for Word 6 and 95, if the bytes contradict a code page
        children="embedded objects (a packaged file under its own name), then pictures, then macro modules",
        leaves_out=(
            LEFT_OUT,
            "documents that need a password which is not in the bank (`--passwords`), or under XOR obfuscation",
            "Word for DOS, Word 2 and older",
            "code pages of Word 6 and 95 that are determined only by the font of a style other than Normal",
            "variables; index entries (XE) and field codes other than links; selected form entries and names of commenters in "
            "Word 6 and 95",
            "bullets; numbers made by fields, or by lists of Word 6 and 95; numbers as words of languages other "
            "than English or in other scripts: digits replace them",
        ),
    ).alone()

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield embedded objects, then pictures, then modules of macros. A document that cannot be opened has none:
        `text` reports why."""
        try:
            compound, _ = opened_doc(source, limits)
        except DocumentError:
            return
        pool = compound.root.find("ObjectPool")
        objects = ole_objects.children(compound, pool.children if pool else [])
        pictures = office_art.children(compound.read(compound.root.stream(name)) for name in _PICTURES)
        yield from ole_objects.carried_by(source, compound, objects, pictures, office_vba.children(compound, limits))

    def text(self, source: Source, limits: Limits) -> Text:
        """Return the text in the order main text, footnotes, headers, comments, endnotes, text boxes; for a file
        without its directory or sector tables, the run of text at its start, and `error`."""
        try:
            return self._text(source, limits)
        except DocumentError as error:
            if error.code is ExceptionCode.ENCRYPTED or not (left := _left(source.whole(limits.parse_bytes))):
                raise
            collector = clean.Collector(limits.text_characters)
            collector.add(left)
            return collector.result(error=error)

    def _text(self, source: Source, limits: Limits) -> Text:
        compound, opened = opened_doc(source, limits)
        main = compound.root.stream("WordDocument")
        if main is None:
            raise corrupt("the file has no stream WordDocument")
        stream = compound.read(main)
        fib = Fib(stream)
        streams = [stream] if fib.old else [compound.read(compound.root.stream(name)) for name in fib.tables]
        fonts = fonts_of(stream, fib)
        whole, error = _joined(pieces(stream, streams, fib, fonts))
        collector = clean.Collector(limits.text_characters)
        labels = {} if fib.old else _labels(stream, streams, fib, whole)
        collector.lines(stories(whole, fib.counts, labels))
        collector.lines(_other_texts(compound, streams[0], fib, whole))
        metadata = property_set.metadata(compound) | opened
        error = fib.error or error or compound.error
        return collector.result(error=error, detected=fonts.detected if fonts else None, metadata=metadata)


def _left(data: bytes) -> str:
    """Return the text of a document of Word 97 or later by its first block alone, in the first sector, where Word puts
    it; "" if it is not there, or the text is encrypted or of an older Word."""
    stream = data[_FIRST_SECTOR:]
    try:
        fib = Fib(stream)
    except DocumentError:
        return ""
    if fib.error or fib.old:
        return ""
    return "\n".join(stories(next(pieces(stream, (), fib, None), ""), fib.counts, {})).strip()


def _other_texts(compound: CompoundFile, table: bytes, fib: Fib, whole: str) -> Iterator[str]:
    """Yield text that is not among the document's characters, or only in codes of fields."""
    drawing, owners = (table[at : at + size] for at, size in (fib.drawings, fib.owners))
    yield from office_art.lettering(drawing)
    if not fib.old:
        data = compound.read(compound.root.stream("Data"))
        yield from chosen(data)
        yield from dict.fromkeys((*office_art.descriptions(drawing), *office_art.descriptions(data)))
        yield from authors(owners)
    yield from addresses(whole)


def _labels(stream: bytes, streams: list[bytes], fib: Fib, whole: str) -> dict[int, str]:
    """Return labels of lists by the positions of their paragraphs in the text; none if no piece table locates them."""
    numbering = Numbering(stream, streams[0])
    if not numbering.any:
        return {}
    try:
        table = piece_table(streams, fib)
    except DocumentError:
        return {}
    there = table.bounds[len(table.places)]
    return numbering.labels(whole, table, fib.counts) if there == len(whole) else {}


def _joined(texts: Iterator[str]) -> tuple[str, DocumentError | None]:
    """Join all readable pieces; return the error of the others."""
    got: list[str] = []
    try:
        for piece in texts:
            got.append(piece)
    except DocumentError as error:
        return "".join(got), error
    return "".join(got), None
