"""Bitmaps without the header of a file, as documents carry them."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from readers.images.bitmaps import with_header


def bitmap(mode: str) -> bytes:
    """A file of Pillow's."""
    out = io.BytesIO()
    Image.new(mode, (5, 3), 1 if mode == "1" else None).save(out, "BMP")
    return out.getvalue()


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA"])
def test_a_bitmap_is_the_file_that_it_was(mode: str) -> None:
    file = bitmap(mode)
    made = with_header(file[14:])
    with Image.open(io.BytesIO(made)) as one, Image.open(io.BytesIO(file)) as other:
        assert one.convert("RGBA").tobytes() == other.convert("RGBA").tobytes()


@pytest.mark.parametrize(
    "dib", [b"", bytes(40), b"\x28\0\0\0" + b"\xff" * 60, bitmap("RGB")[14:50], b"text of a letter" * 9]
)
def test_what_is_no_bitmap(dib: bytes) -> None:
    assert with_header(dib) == b""


def test_the_older_header() -> None:
    dib = bytes.fromhex("0c0000000200010001000100") + bytes(3) + b"\xff" * 3 + b"\x40\0\0\0"
    with Image.open(io.BytesIO(with_header(dib))) as picture:
        assert (picture.size, [picture.convert("L").getpixel((x, 0)) for x in (0, 1)]) == ((2, 1), [0, 255])
