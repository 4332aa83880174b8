"""EXIF of a JPEG: the input is the block itself."""

import io

from readers.images import exif

_TAGS = b"II*\0\x08\0\0\0\x02\0\x10\x01\x02\0\x05\0\0\0\x26\0\0\0\x69\x87\x04\0\x01\0\0\0\x08\0\0\0\0\0\0\0abcd\0"
SEEDS = [_TAGS]


def read(data: bytes) -> None:
    block = b"Exif\0\0" + data[:65_000]
    whole = b"\xff\xd8\xff\xe1" + (len(block) + 2).to_bytes(2, "big") + block + b"\xff\xd9"
    exif.read(io.BytesIO(whole), len(whole), "JPEG")
