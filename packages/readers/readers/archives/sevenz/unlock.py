"""Which password opens an encrypted folder of a 7z archive: the format has no check of its own, so a password is right
when the first file comes out with its CRC (of a large one: when its beginning can be decoded). A header without a CRC
has to be one. The CRC of a file of one byte fits one wrong password in 256, so after a short file the next has to come
out too; where there is none, the last block has to be filled up with zeros, as 7-Zip does it."""

from __future__ import annotations

import zlib
from typing import BinaryIO

from readers.archives.sevenz.codecs import FolderReader
from readers.archives.sevenz.crypto import BLOCK, Properties, last_block
from readers.archives.sevenz.folders import Coder, Folder
from readers.archives.sevenz.header import is_header
from readers.errors import DocumentError, ExceptionCode
from readers.passwords import Opened, Passwords, TryBudget
from readers.streams import CHUNK, SMALL_MEMBER

_TELLING = 8  # bytes; from here on no wrong password has the right CRC by chance, whatever packed them


def unlock(
    file: BinaryIO, folder: Folder, archive_size: int, passwords: Passwords, budget: TryBudget, *, header: bool = False
) -> Opened[FolderReader]:
    """A reader over the folder (of a packed `header`, or of files), from its beginning. DocumentError `encrypted` when
    no password fits, or what a reader finds wrong with any password."""
    aes = folder.aes
    assert aes is not None  # asked before
    properties = Properties(aes.properties)

    def attempt(password: str) -> FolderReader | None:
        reader = FolderReader(file, folder, archive_size, password)
        if reader.problem is not None:
            raise reader.problem
        fits = _right(reader, folder, header=header) and _filled_up(file, folder, aes, password)
        return FolderReader(file, folder, archive_size, password) if fits else None

    lock = aes.properties + f"{folder.position} {folder.packed} {folder.size} {archive_size}".encode()
    return passwords.open(lock, attempt, cost=properties.cost, budget=budget)


def _right(reader: FolderReader, folder: Folder, *, header: bool) -> bool:
    """Whether the first files of the folder match their CRCs, as many of them as the check needs."""
    checked = 0
    for size, crc in zip(folder.sizes, folder.crcs, strict=True) if folder.sizes else [(folder.size, folder.crc)]:
        if not _comes_out(reader, size, crc, header=header):
            return False
        checked += size
        if checked >= _TELLING:
            break
    return True


def _comes_out(reader: FolderReader, size: int, crc: int | None, *, header: bool) -> bool:
    left, computed, pieces = min(size, SMALL_MEMBER), 0, []
    try:
        while left > 0 and (piece := reader.read(min(CHUNK, left))):
            computed = zlib.crc32(piece, computed)
            left -= len(piece)
            if header and crc is None:
                pieces.append(piece)
    except DocumentError as error:
        if error.code is not ExceptionCode.CORRUPT:
            raise
        return False
    if left or (crc is not None and size <= SMALL_MEMBER and computed != crc):
        return False
    return not pieces or size > SMALL_MEMBER or is_header(b"".join(pieces))


def _filled_up(file: BinaryIO, folder: Folder, aes: Coder, password: str) -> bool:
    """Whether only zeros fill the space between the end of a short folder and that of its last block; a long one is not
    checked."""
    filling = folder.packed - aes.size
    if folder.size >= _TELLING or folder.chain[0] is not aes or folder.packed % BLOCK or not 0 < filling < BLOCK:
        return True
    start = max(folder.position, folder.position + folder.packed - 2 * BLOCK)
    file.seek(start)
    data = file.read(folder.position + folder.packed - start)
    if len(data) % BLOCK:  # it breaks off, which the reader reports
        return True
    return not any(last_block(aes.properties, password, data[:-BLOCK], data[-BLOCK:])[-filling:])
