"""Sizes, frames and EXIF of pictures; the first byte says which kind."""

from reading import files, handler

_KINDS = ("jpeg", "png", "gif", "tiff", "webp", "bmp", "svg+xml")
_READERS = [handler(f"image/{kind}") for kind in _KINDS]
_SUFFIXES = (".jpg", ".png", ".gif", ".tif", ".webp", ".bmp", ".svg")
SEEDS = [bytes([number]) + data for number, suffix in enumerate(_SUFFIXES) for data in files(suffix)]


def read(data: bytes) -> None:
    if data:
        _READERS[data[0] % len(_READERS)](data[1:])
