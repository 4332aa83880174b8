"""Identification of OOXML, OpenDocument and EPUB among zip archives by the names inside."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import BinaryIO

from readers.archives.zip.directory import LOCAL, LOCAL_SIGNATURE, ZipEntry, find_directory, iter_entries
from readers.base import Source
from readers.errors import DocumentError

_OFFICE = "application/vnd.openxmlformats-officedocument."
DOCX = _OFFICE + "wordprocessingml.document"
XLSX = _OFFICE + "spreadsheetml.sheet"
PPTX = _OFFICE + "presentationml.presentation"
VSDX = "application/vnd.ms-visio.drawing.main+xml"
XLSB = "application/vnd.ms-excel.sheet.binary.macroenabled.12"
_EXTENSIONS = {
    DOCX: "docx docm dotx dotm",
    XLSX: "xlsx xlsm xltx xltm",
    PPTX: "pptx pptm potx potm ppsx ppsm",
    VSDX: "vsdx vsdm vstx vstm vssx vssm",
    XLSB: "xlsb",
}
BY_EXTENSION = {ext.encode(): media_type for media_type, exts in _EXTENSIONS.items() for ext in exts.split()}
_FOLDERS = {b"word": DOCX, b"xl": XLSX, b"ppt": PPTX, b"visio": VSDX}
_CONTENT_TYPES = b"[content_types].xml"
_MANIFEST, _CONTENT = b"meta-inf/manifest.xml", b"content.xml"
# Without its content types a document is damaged; it is still one if nothing else is in the archive.
_MAINS = frozenset(
    (b"word/document.xml", b"xl/workbook.xml", b"xl/workbook.bin", b"ppt/presentation.xml", b"visio/document.xml")
)
_PACKAGE_NAMES = frozenset(
    (_CONTENT_TYPES, _MANIFEST, _CONTENT, b"mimetype", b"styles.xml", b"meta.xml", b"settings.xml", b"manifest.rdf")
)
_PACKAGE_FOLDERS = frozenset(
    (
        *(b"_rels", b"docprops", b"customxml"),
        *_FOLDERS,
        *(b"pictures", b"thumbnails", b"configurations2", b"objectreplacements"),
    )
)
# The content type of a main part ([MS-OFFMACRO2], [MS-XLSB] 2.1.7 and [MS-VSDX] 2.2.3 name those of Microsoft).
_MAIN = re.compile(
    rb"application/vnd\.((?:openxmlformats-officedocument|ms-(?:word|excel|powerpoint|visio))\.[a-z.]{3,60}\.main)\b",
    re.IGNORECASE,
)
_MAIN_TYPES = (
    (b"binary", XLSB),
    (b"word", DOCX),
    (b"presentationml", PPTX),
    (b"powerpoint", PPTX),
    (b"visio", VSDX),
    (b"", XLSX),
)
_ODF = "application/vnd.oasis.opendocument."
_ODF_EXTENSIONS = {
    b"ods": "spreadsheet",
    b"ots": "spreadsheet-template",
    b"odp": "presentation",
    b"otp": "presentation-template",
    b"odg": "graphics",
    b"otg": "graphics-template",
    b"ott": "text-template",
    b"odf": "formula",
    b"odc": "chart",
}
_ODF_CONTENT = re.compile(rb"document-content\b[^<>]*opendocument:")  # OpenOffice.org 1 has other namespaces
_ENTRY = re.compile(rb"<(?:[\w.-]+:)?file-entry\s[^<>]*>")
_ROOT, _OF_ENTRY = (
    re.compile(rb"full-path\s*=\s*[\"']/[\"']"),
    re.compile(rb"media-type\s*=\s*[\"'](application/[a-z0-9.+-]{3,80})[\"']"),
)
_PACKED = re.compile(rb"application/(?:vnd\.oasis\.opendocument\.[a-z-]{3,40}|epub\+zip)")
_MOST_OF_A_PART = 1 << 18  # bytes that are searched
_MEDIA_TYPE = re.compile(rb"application/[a-z0-9.+-]{3,80}")
_BINARY_PART = re.compile(rb"xl/(?:workbook|sharedstrings|styles|worksheets/[^/]+)\.bin\Z")  # [MS-XLSB] 2.1.7
_DIRECTORY_NAMES = 4000  # names that are checked before giving up


def zip_type(source: Source, head: bytes, extension: bytes) -> str:
    """Return the media type of a file that starts like a zip archive; never raises DocumentError."""
    names, mimetype = _local_names(head)
    if mimetype:
        return mimetype
    if not any(_is_package_name(name) for name in names):
        return "application/zip"
    if _CONTENT_TYPES in names and (kind := _by_names(names)):
        return kind
    try:
        with source.open() as file:
            directory = find_directory(file, source.size)
            entries = {_plain(e.name): e for e in itertools.islice(iter_entries(file, directory), _DIRECTORY_NAMES)}
            lacking = not _MAINS.isdisjoint(entries) and all(map(_is_package_name, entries))
            office = _CONTENT_TYPES in entries or lacking
            kind = _by_names(entries) if office else None
            kind = kind or _by_parts(lambda name: _start(file, source.size, entries.get(name)), extension)
    except DocumentError:
        # Cut short or damaged: only the names at the start and the extension are known.
        by_front = _by_names(names) or (BY_EXTENSION.get(extension) if _CONTENT_TYPES in names else None)
        return by_front or (_odf(extension) if _CONTENT in names and _MANIFEST in names else "application/zip")
    if kind is None and _CONTENT_TYPES in entries:
        return BY_EXTENSION.get(extension, "application/zip")
    return kind or "application/zip"


def _plain(name: bytes) -> bytes:
    """Normalise case (ECMA-376 part 2, 6.2.2.3), and separators of Windows, which some programs write."""
    return name.replace(b"\\", b"/").removeprefix(b"./").lstrip(b"/").lower()


def _is_package_name(name: bytes) -> bool:
    return name in _PACKAGE_NAMES or name.split(b"/", 1)[0] in _PACKAGE_FOLDERS


def _by_names(names: Iterable[bytes]) -> str | None:
    for name in names:
        folder, slash, rest = name.partition(b"/")
        if slash and folder in _FOLDERS and rest:
            if folder == b"xl" and any(_BINARY_PART.match(other) for other in names):
                return XLSB
            return _FOLDERS[folder]
    return None


def _by_parts(start: Callable[[bytes], bytes], extension: bytes) -> str | None:
    """Return the type by parts of the archive: content types if the parts are in other folders than usual (ECMA-376
    part 2, 6.2.3); the type of an OpenDocument file or EPUB that another program packed again, deflated, after other
    members or only in the manifest (OpenDocument 1.3 part 2, 3.2, 3.3)."""
    if found := _MAIN.search(start(_CONTENT_TYPES)):
        return next(media_type for word, media_type in _MAIN_TYPES if word in found[1].lower())
    if found := _PACKED.fullmatch(start(b"mimetype").strip(b"\xef\xbb\xbf \t\r\n\0")):
        return found[0].decode("ascii")
    for entry in _ENTRY.findall(start(_MANIFEST)):
        if _ROOT.search(entry) and (found := _OF_ENTRY.search(entry)):
            return found[1].decode("ascii")
    return _odf(extension) if _ODF_CONTENT.search(start(_CONTENT)[:4096]) else None


def _odf(extension: bytes) -> str:
    return _ODF + _ODF_EXTENSIONS.get(extension, "text")


def _start(file: BinaryIO, size: int, entry: ZipEntry | None) -> bytes:
    """Return the first bytes of a member; b"" if there are none or they cannot be read."""
    from readers.archives.zip.member import open_member  # few archives need it
    from readers.inflate import METHODS

    if entry is None or entry.encrypted or entry.method not in METHODS:
        return b""
    got: list[bytes] = []
    with suppress(DocumentError):
        reader = open_member(file, size, entry)
        while sum(map(len, got)) < _MOST_OF_A_PART and (piece := reader.piece()):
            got.append(piece)
    return b"".join(got)


def _local_names(head: bytes) -> tuple[list[bytes], str | None]:
    """Return the names of the members whose local headers are in the head; a first member `mimetype` (stored) gives the
    type itself (OpenDocument 1.3 part 2, 3.3; EPUB OCF 4.3)."""
    names: list[bytes] = []
    at = head.find(LOCAL_SIGNATURE, 0, 16)
    while at >= 0 and at + LOCAL.size <= len(head):
        _, _, flags, method, _, _, _, compressed, _, name_length, extra_length = LOCAL.unpack_from(head, at)
        data_at = at + LOCAL.size + name_length + extra_length
        name = _plain(head[at + LOCAL.size : at + LOCAL.size + name_length])
        if name == b"mimetype" and not names and method == 0:
            match = _MEDIA_TYPE.match(head, data_at, data_at + min(compressed, 100) if compressed else len(head))
            if match:
                return names, match[0].decode("ascii")
        names.append(name)
        if flags & 8 or compressed == 0xFFFFFFFF:
            at = head.find(LOCAL_SIGNATURE, data_at)
        else:
            at = data_at + compressed
            if not head.startswith(LOCAL_SIGNATURE, at):
                break
    return names, None
