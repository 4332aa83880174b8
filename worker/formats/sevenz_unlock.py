"""Which password opens an encrypted folder of a 7z archive: the format has no check of its own, so a password is right
when the first file comes out with its CRC (of a large one: when its beginning can be decoded). A header without a CRC
has to be one."""

from __future__ import annotations

import zlib
from typing import BinaryIO

from core.errors import DocumentError, ExceptionCode
from worker.formats.passwords import Opened, Passwords, Purse
from worker.formats.sevenz_codecs import FolderReader
from worker.formats.sevenz_crypto import Properties
from worker.formats.sevenz_folders import Folder
from worker.formats.sevenz_header import is_header
from worker.formats.streams import CHUNK, SMALL_MEMBER


def unlock(
    file: BinaryIO, folder: Folder, archive_size: int, passwords: Passwords, purse: Purse, *, header: bool = False
) -> Opened[FolderReader]:
    """A reader over the folder (of a packed `header`, or of files), from its beginning. DocumentError `encrypted` when no password fits, or what a reader
    finds wrong with any password."""
    assert folder.aes is not None  # asked before
    properties = Properties(folder.aes.properties)

    def right(reader: FolderReader) -> bool:
        return _right(reader, folder, header=header)

    def attempt(password: str) -> FolderReader | None:
        reader = FolderReader(file, folder, archive_size, password)
        if reader.problem is not None:
            raise reader.problem
        return FolderReader(file, folder, archive_size, password) if right(reader) else None

    lock = folder.aes.properties + f"{folder.position} {folder.packed} {folder.size} {archive_size}".encode()
    return passwords.open(lock, attempt, cost=properties.cost, purse=purse)


def _right(reader: FolderReader, folder: Folder, *, header: bool) -> bool:
    size, crc = (folder.sizes[0], folder.crcs[0]) if folder.sizes else (folder.size, folder.crc)
    left, found, pieces = min(size, SMALL_MEMBER), 0, []
    try:
        while left > 0 and (piece := reader.read(min(CHUNK, left))):
            found = zlib.crc32(piece, found)
            left -= len(piece)
            if header and crc is None:
                pieces.append(piece)
    except DocumentError as error:
        if error.code is not ExceptionCode.CORRUPT:
            raise
        return False
    if left or (crc is not None and size <= SMALL_MEMBER and found != crc):
        return False
    return not pieces or size > SMALL_MEMBER or is_header(b"".join(pieces))
