"""Distinguishing OLE compound files ([MS-CFB]) by the names in their directory, reading a few sectors only."""

from __future__ import annotations

import struct
from typing import BinaryIO, NamedTuple

from readers.base import Source
from readers.identification.zip import BY_EXTENSION

OLE = "application/x-ole-storage"
_MAX_SECTORS = 64  # directory sectors looked at
_FIRST_SECTOR, _WORD_97 = 512, b"\xec\xa5"  # of a file without its directory, in which Word puts the document first
_END_OF_CHAIN = 0xFFFFFFFA  # this and above are no sector numbers

_BY_NAME = (  # in order: a message may carry a Word document, never the other way round at the top level
    ("EncryptedPackage", "encrypted"),
    ("__properties_version1.0", "application/vnd.ms-outlook"),
    ("__nameid_version1.0", "application/vnd.ms-outlook"),
    ("WordDocument", "application/msword"),
    ("Workbook", "application/vnd.ms-excel"),
    ("Book", "application/vnd.ms-excel"),
    ("PowerPoint Document", "application/vnd.ms-powerpoint"),
    ("VisioDocument", "application/vnd.visio"),
    ("Quill", "application/x-mspublisher"),
    ("MatOST", "application/vnd.ms-works"),
    ("MN0", "application/vnd.ms-works"),
    ("DocInfo", "application/x-hwp"),  # Hancom, "HWP Document File Formats 5.0", 3
)
_BY_CLASS = {  # of the root
    bytes.fromhex("84100c0000000000c000000000000046"): "application/x-msi",
    bytes.fromhex("b25aa40e0a9ed111a40700c04fb932ba"): "application/vnd.ms-works",  # of 2000 and later
}


class _Entry(NamedTuple):
    """Fields of a directory entry ([MS-CFB] 2.6.1)."""

    name: str  # upper case: names compare without case (2.6.4); "" where the entry is unused
    left: int
    right: int
    child: int
    class_id: bytes


def ole_type(source: Source, extension: bytes) -> str:
    """Media type of a compound file. One that holds EncryptedPackage is the OOXML type of its extension."""
    try:
        with source.open() as file:
            entries = _entries(file)
    except (struct.error, ValueError):
        entries = []
    names = _at_the_root(entries) or {entry.name for entry in entries}
    for name, media_type in _BY_NAME:
        if name.upper() in names:
            if media_type == "encrypted":
                return BY_EXTENSION.get(extension, OLE)
            return media_type
    if source.head.startswith(_WORD_97, _FIRST_SECTOR):
        return "application/msword"
    return _BY_CLASS.get(entries[0].class_id, OLE) if entries else OLE


def _at_the_root(entries: list[_Entry]) -> set[str]:
    """Names next to one another in the root, because a workbook may hold a document and a document a workbook; empty
    where the tree is damaged and none can be reached."""
    names: set[str] = set()
    met = {0}  # the root itself
    todo = [entries[0].child] if entries else []
    while todo:
        at = todo.pop()
        if at in met or at >= len(entries):
            continue
        met.add(at)
        entry = entries[at]
        names.add(entry.name)
        todo += (entry.left, entry.right)
    return names - {""}


def _entries(file: BinaryIO) -> list[_Entry]:
    """The directory's entries in order; as many as can be reached."""
    header = file.read(512)
    shift = struct.unpack_from("<H", header, 30)[0]
    if shift not in (9, 12):
        raise ValueError("sector size")
    size = 1 << shift
    fat_sectors = struct.unpack_from("<109L", header, 76)
    sector = struct.unpack_from("<L", header, 48)[0]
    entries: list[_Entry] = []
    for _ in range(_MAX_SECTORS):
        if sector >= _END_OF_CHAIN:
            break
        file.seek((sector + 1) * size)
        raw = file.read(size)
        for at in range(0, len(raw) - 127, 128):
            length, kind = struct.unpack_from("<HB", raw, at + 64)
            used = 2 <= length <= 64 and kind
            name = raw[at : at + length - 2].decode("utf-16-le", "replace").upper() if used else ""
            entries.append(_Entry(name, *struct.unpack_from("<3L16s", raw, at + 68)))
        which, index = divmod(sector, size // 4)
        if which >= len(fat_sectors) or fat_sectors[which] >= _END_OF_CHAIN:
            break
        file.seek((fat_sectors[which] + 1) * size + index * 4)
        sector = struct.unpack("<L", file.read(4))[0]
    return entries
