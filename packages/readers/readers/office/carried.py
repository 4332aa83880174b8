"""What an office package carries along: members that are pictures, media or embedded objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import BinaryIO

from readers.archives.zip.directory import ZipEntry, find_directory, iter_entries
from readers.archives.zip.handler import failed_member
from readers.archives.zip.salvage import salvage
from readers.base import Child
from readers.errors import DocumentError
from readers.office.ooxml.package import part_reader
from readers.records import Kind, Limits
from readers.rest import rest
from readers.streams import SMALL_MEMBER


def carried(
    file: BinaryIO,
    size: int,
    limits: Limits,
    wanted: re.Pattern[bytes],
    small: Callable[[ZipEntry], int] = lambda _entry: SMALL_MEMBER,
) -> Iterator[Child]:
    """Members whose names are `wanted`; nothing else is inflated unless the archive has no directory. Those of at most
    `small` bytes come whole, the others as streams. Raises DocumentError."""
    try:
        directory = find_directory(file, size)
    except DocumentError:
        yield from (child for child in salvage(file, size, limits) if wanted.search(child.name))
        raise
    for entry in iter_entries(file, directory):
        if wanted.search(entry.name) and not entry.directory:
            try:
                yield _member(file, size, entry, small(entry))
            except DocumentError as error:
                yield failed_member(entry.name, entry.index, error)
    yield from rest(file, directory.end, size, directory.entries, "package", kind=Kind.EMBEDDED_OBJECT)


def _member(file: BinaryIO, size: int, entry: ZipEntry, small: int) -> Child:
    reader = part_reader(file, size, entry)
    whole = entry.size <= small
    return Child(
        name=entry.name,
        kind=Kind.EMBEDDED_OBJECT,
        ordinal=entry.index,
        data=reader.whole() if whole else None,
        stream=None if whole else reader.stream(),
        size_hint=None if whole else entry.size,
    )
