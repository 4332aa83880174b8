"""OpenDocument (OASIS OpenDocument 1.3): text documents, spreadsheets, presentations and drawings; pictures and objects
as children."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import BinaryIO

from readers import clean
from readers.base import Child, Declared, LeafHandler, Part, Source, Text
from readers.errors import DocumentError, corrupt, keep_error
from readers.office.odf import crypto as odf_crypto
from readers.office.odf.lists import Lists
from readers.office.odf.text import read_text
from readers.office.ole import objects as ole_objects
from readers.office.ooxml.package import THUMBNAIL, Package, carried
from readers.office.ooxml.xml import elements, local
from readers.records import Kind, Limits

_PREFIX = "application/vnd.oasis.opendocument."
_TEXTS = tuple(_PREFIX + kind for kind in ("text", "text-template", "text-master", "text-web", "formula"))
_SHEETS = tuple(_PREFIX + kind for kind in ("spreadsheet", "spreadsheet-template", "chart"))
_SLIDES = tuple(_PREFIX + kind for kind in ("presentation", "presentation-template", "graphics", "graphics-template"))
# Pictures and media of the document or of an object in it, objects that are one file, and the thumbnail (decision 34).
# ObjectReplacements are renderings of content that is in the document.
_FLAT = tuple(f"{_PREFIX}{kind}-flat-xml" for kind in ("text", "spreadsheet", "presentation", "graphics"))
_CARRIED = re.compile(
    rb"(?:^|/)(?:pictures|media)/[^/]+$|^object \d+$|^versions/[^/]+$|^" + THUMBNAIL.pattern, re.IGNORECASE
)
_OBJECT_TEXT = re.compile(r"/content\.xml$")  # in any folder
_KEYS = {
    "title": "title",
    "initial-creator": "author",
    "creator": "last_author",
    "subject": "doc_subject",
    "description": "description",
    "keyword": "keywords",
    "creation-date": "created",
    "date": "modified",
    "generator": "application",
}
_PIECE = 1 << 18
_WITHOUT_LISTS = tuple(f"opendocument.{kind}".encode() for kind in ("spreadsheet", "presentation", "graphics"))
_NAME = "{urn:oasis:names:tc:opendocument:xmlns:meta:1.0}name"
_DECLARED_KEYS = (*_KEYS.values(), clean.KEY)
_DECLARED_CHILDREN = (
    "pictures, media, embedded objects (a packaged file under its own name), earlier versions of the document and the thumbnail, marked "
    "`thumbnail`, in the archive's order"
)
_DECLARED_LEFT = (
    "documents that need a password which is not in the bank (`--passwords`), or that LibreOffice 24.2 and later encrypted",
    "renderings of objects, macros, settings of views and printers, signatures, the template, data about earlier versions",
    "who deleted or changed a passage",
    "link targets, form values and names of commenters beyond the first 100,000 different ones: the exception is "
    "`too_large`",
)


class _OdfPackage(Package):
    """An OpenDocument package: a package without content types."""

    def _roles(self) -> dict[str, str]:
        return {}

    def encrypted(self) -> bool:
        """Return whether the manifest marks parts as encrypted (part 2, 4.8); the archive itself does not."""
        if "meta-inf/manifest.xml" not in self.names:
            return False
        try:
            return next(elements(self.pieces("meta-inf/manifest.xml"), "encryption-data"), None) is not None
        except DocumentError:
            return False


class _FlatDocument:
    """Parts of a document that is one XML file (part 3, 3.1.2), which contains them all."""

    names = ("content.xml", "meta.xml")

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.error: DocumentError | None = None

    def encrypted(self) -> bool:
        return False

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the whole document."""
        self._file.seek(0)
        return iter(lambda: self._file.read(_PIECE), b"")


class OdfHandler(LeafHandler):
    """An OpenDocument file: odt, ods, odp, odg and their templates."""

    name = "odf"
    whole = False
    declared: tuple[Declared, ...] = (
        Declared(
            title="OpenDocument texts",
            media_types=(*_TEXTS, _FLAT[0]),
            extensions=("odt", "ott", "odm", "oth", "odf", "fodt"),
            text="the document with notes, comments, deleted passages, headers and footers, alternative text, "
            "numbers of lists and headings, and the text of its objects; then link targets, labels and values "
            "of forms, names of commenters",
            metadata=_DECLARED_KEYS,
            children=_DECLARED_CHILDREN,
            leaves_out=(
                "bullets; numbers in other scripts: digits replace them",
                *_DECLARED_LEFT,
            ),
        ),
        Declared(
            title="OpenDocument spreadsheets",
            media_types=(*_SHEETS, _FLAT[1]),
            extensions=("ods", "ots", "odc", "fods"),
            text="cells by rows as displayed, including hidden sheets and comments; then link targets, labels and "
            "values of forms, names of commenters",
            metadata=_DECLARED_KEYS,
            children=_DECLARED_CHILDREN,
            leaves_out=("formulas (their results are extracted)", *_DECLARED_LEFT),
        ),
        Declared(
            title="OpenDocument presentations and drawings",
            media_types=(*_SLIDES, *_FLAT[2:]),
            extensions=("odp", "otp", "odg", "otg", "fodp", "fodg"),
            text="slides in order with their notes, comments, headers, footers and alternative text; then link "
            "targets, labels and values of forms, names of commenters",
            metadata=_DECLARED_KEYS,
            children=_DECLARED_CHILDREN,
            leaves_out=_DECLARED_LEFT,
        ),
    )

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield pictures, media and objects in the archive's order, under their own names; an OLE package as the file
        in it. A document that needs a password has none. A damaged archive yields the readable ones, then raises its
        error."""
        with source.open() as file:
            if not _is_zip(source):
                yield from _flat_children(file)
                return
            if _OdfPackage(file, source.size, limits).encrypted():
                try:
                    plain, _ = odf_crypto.opened(source, limits)
                except DocumentError:
                    return
                yield from self.children(plain, limits)
                return
            for position, child in enumerate(carried(file, source.size, limits, _CARRIED)):
                child.ordinal = position
                yield child

    def text(self, source: Source, limits: Limits) -> Text:
        """Return the text with notes, comments, hidden sheets and deleted passages, then headers, footers and the text
        of objects; slides as pages; metadata. A damaged package gives the readable text and `error`. Raises
        DocumentError if there is no text, `encrypted` if a password is needed."""
        collector = clean.Collector(limits.text_characters)
        with source.open() as file:
            package = _OdfPackage(file, source.size, limits) if _is_zip(source) else _FlatDocument(file)
            if package.encrypted():
                plain, opened = odf_crypto.opened(source, limits)
                out = self.text(plain, limits)
                out.metadata = {**out.metadata, **opened}
                return out
            slides = _read(package, collector, source.head)
            metadata = _metadata(package)
        return collector.result(error=package.error, metadata=metadata, pages=slides)


def _is_zip(source: Source) -> bool:
    return b"PK" in source.head[:16]


def _flat_children(file: BinaryIO) -> Iterator[Child]:
    """Yield pictures and objects, which are in the text itself (part 3, 4.5.1); an OLE package as the file in it."""
    for position, element in enumerate(elements(iter(lambda: file.read(_PIECE), b""), "binary-data")):
        try:
            data = base64.b64decode("".join((element.text or "").split()), validate=True)
            error = None
        except ValueError as failed:
            data, error = (b"", corrupt(f"an object or picture is not valid base64: {failed}"))
        name, data = ole_objects.unwrapped(data) or (b"", data)
        yield Child(
            name=name or b"object-%d" % position,
            kind=Kind.EMBEDDED_OBJECT,
            ordinal=position,
            data=None if error else data,
            error=error,
        )


def _read(package: _OdfPackage | _FlatDocument, collector: clean.Collector, head: bytes) -> int | None:
    """Read all parts with text; return the number of slides. Damage is recorded in the package."""
    slides, lists = 0, Lists()
    if "styles.xml" in package.names and not any(kind in head[:200] for kind in _WITHOUT_LISTS):
        with keep_error(package):
            for style in elements(package.pieces("styles.xml"), "list-style", "outline-style"):
                lists.define(style)
    with keep_error(package):
        slides = read_text(package.pieces("content.xml"), collector, lists)
    if "styles.xml" in package.names:
        with keep_error(package):
            read_text(package.pieces("styles.xml"), collector, headers_only=True)
    for name in package.names:
        if _OBJECT_TEXT.search(name) and not collector.cut:
            with keep_error(package):
                read_text(package.pieces(name), collector, sheets=True)
    return slides or None


def _metadata(package: _OdfPackage | _FlatDocument) -> dict[str, object]:
    pairs: list[tuple[str, str | None]] = []
    added: list[tuple[str, str]] = []

    with keep_error(package):
        for about in elements(package.pieces("meta.xml"), "meta") if "meta.xml" in package.names else ():
            for element in about:
                if key := _KEYS.get(local(element)):
                    pairs.append((key, element.text))
                elif local(element) == "user-defined":
                    added.append((element.get(_NAME) or "", element.text or ""))
    metadata = clean.values(pairs)
    if "author" not in metadata and "last_author" in metadata:
        metadata["author"] = metadata["last_author"]
    return dict(metadata) | clean.noted(added)
