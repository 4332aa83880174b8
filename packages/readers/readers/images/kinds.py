"""Raster pictures by how they begin, and their size. Loads no parser: a slot asks it of what it shows to OCR."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

from readers.base import Source
from readers.images import size as image_size

SizeReader = Callable[[BinaryIO, int], image_size.Size]
_READERS: tuple[tuple[bytes, str, SizeReader], ...] = (
    (b"\x89PNG", "png", image_size.png),
    (b"\xff\xd8", "jpeg", image_size.jpeg),
    (b"GIF8", "gif", image_size.gif),
    (b"BM", "bmp", image_size.bmp),
    (b"RIFF", "webp", image_size.webp),
    (b"II", "tiff", image_size.tiff),
    (b"MM", "tiff", image_size.tiff),
)


def reader_of(head: bytes) -> tuple[str, SizeReader] | None:
    """What kind of raster picture begins so, and what reads its size; None for anything else."""
    return next(((label, reader) for magic, label, reader in _READERS if head.startswith(magic)), None)


def measured(source: Source) -> tuple[str, image_size.Size] | None:
    """Kind and size of a raster picture; None when it is none, DocumentError as `text`."""
    raster = reader_of(source.head)
    if raster is None:
        return None
    with source.open() as file:
        return raster[0], raster[1](file, source.size)
