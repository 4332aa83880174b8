"""Telling OLE compound files apart ([MS-CFB]) by the names in their directory, reading a few sectors only."""

from __future__ import annotations

import struct
from typing import BinaryIO

from worker.formats.base import Source
from worker.identify_zip import BY_EXTENSION

OLE = "application/x-ole-storage"
_MAX_SECTORS = 64  # directory sectors looked at
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
)
_MSI_CLASS = bytes.fromhex("84100c0000000000c000000000000046")


def ole_type(source: Source, extension: bytes) -> str:
    """Media type of a compound file. One that holds EncryptedPackage is the OOXML type its extension says."""
    try:
        with source.open() as file:
            entries = _entries(file)
    except (struct.error, ValueError):
        return OLE
    names = {name for name, _ in entries}
    for name, media_type in _BY_NAME:
        if name in names:
            if media_type == "encrypted":
                return BY_EXTENSION.get(extension, OLE)
            return media_type
    if entries and entries[0][1] == _MSI_CLASS:
        return "application/x-msi"
    return OLE


def _entries(file: BinaryIO) -> list[tuple[str, bytes]]:
    """Names and class ids of the directory's entries; as many as can be reached."""
    header = file.read(512)
    shift = struct.unpack_from("<H", header, 30)[0]
    if shift not in (9, 12):
        raise ValueError("sector size")
    size = 1 << shift
    fat_sectors = struct.unpack_from("<109L", header, 76)
    sector = struct.unpack_from("<L", header, 48)[0]
    found: list[tuple[str, bytes]] = []
    for _ in range(_MAX_SECTORS):
        if sector >= _END_OF_CHAIN:
            break
        file.seek((sector + 1) * size)
        raw = file.read(size)
        for at in range(0, len(raw) - 127, 128):
            length = struct.unpack_from("<H", raw, at + 64)[0]
            if 2 <= length <= 64 and raw[at + 66]:
                found.append((raw[at : at + length - 2].decode("utf-16-le", "replace"), raw[at + 80 : at + 96]))
        which, index = divmod(sector, size // 4)
        if which >= len(fat_sectors) or fat_sectors[which] >= _END_OF_CHAIN:
            break
        file.seek((fat_sectors[which] + 1) * size + index * 4)
        sector = struct.unpack("<L", file.read(4))[0]
    return found
