"""Telling OOXML, OpenDocument and EPUB from plain zip archives by the names inside."""

from __future__ import annotations

import itertools
import re

from core.errors import DocumentError
from formats.archives.zip.directory import LOCAL, LOCAL_SIGNATURE, find_directory, iter_entries
from formats.base import Source

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
_CONTENT_TYPES = b"[Content_Types].xml"
_PACKAGE_FOLDERS = frozenset((b"_rels", b"docProps", b"customXml", *_FOLDERS))
_MEDIA_TYPE = re.compile(rb"application/[a-z0-9.+-]{3,80}")
_BINARY_PART = re.compile(rb"xl/(?:workbook|sharedStrings|styles|worksheets/[^/]+)\.bin\Z")  # [MS-XLSB] 2.1.7
_DIRECTORY_NAMES = 4000  # names looked at before giving up


def zip_type(source: Source, head: bytes, extension: bytes) -> str:
    """Media type of a file that starts like a zip archive; never raises DocumentError."""
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
            all_names = [e.name for e in itertools.islice(iter_entries(file, directory), _DIRECTORY_NAMES)]
    except DocumentError:
        # Cut short or damaged: the names at the front and the extension are all there is.
        return (
            _by_names(names) or (BY_EXTENSION.get(extension) if _CONTENT_TYPES in names else None) or "application/zip"
        )
    if _CONTENT_TYPES in all_names:
        return _by_names(all_names) or BY_EXTENSION.get(extension, "application/zip")
    return "application/zip"


def _is_package_name(name: bytes) -> bool:
    return name == _CONTENT_TYPES or name.split(b"/", 1)[0] in _PACKAGE_FOLDERS


def _by_names(names: list[bytes]) -> str | None:
    for name in names:
        folder, slash, rest = name.partition(b"/")
        if slash and folder in _FOLDERS and rest:
            if folder == b"xl" and any(_BINARY_PART.match(other) for other in names):
                return XLSB
            return _FOLDERS[folder]
    return None


def _local_names(head: bytes) -> tuple[list[bytes], str | None]:
    """Names of the members whose local headers lie in the head; a first member `mimetype` (stored) gives the type
    itself (OpenDocument 1.3 part 2, 3.3; EPUB OCF 4.3)."""
    names: list[bytes] = []
    at = head.find(LOCAL_SIGNATURE, 0, 16)
    while at >= 0 and at + LOCAL.size <= len(head):
        _, _, flags, method, _, _, _, compressed, _, name_length, extra_length = LOCAL.unpack_from(head, at)
        data_at = at + LOCAL.size + name_length + extra_length
        name = head[at + LOCAL.size : at + LOCAL.size + name_length]
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
