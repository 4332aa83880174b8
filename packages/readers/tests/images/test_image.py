"""Images: size and format from the header, frames of a TIFF, and breaking off where it is plain."""

from __future__ import annotations

import io
import random
import struct

import pytest
from PIL import Image, features

from core.records import Limits
from readers.base import MemorySource, Text
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.images.handler import ImageHandler
from readers.records import TextState


def make(form: str, *, frames: int = 1, size: tuple[int, int] = (123, 45)) -> bytes:
    """A picture in this format, written by an independent library."""
    pictures = [Image.effect_noise(size, 50 + i).convert("RGB") for i in range(frames)]
    out = io.BytesIO()
    pictures[0].save(out, form, **({"save_all": True, "append_images": pictures[1:]} if frames > 1 else {}))
    return out.getvalue()


def read(data: bytes) -> Text:
    """What the handler says about these bytes."""
    return ImageHandler().text(MemorySource(b"x", data), Limits())


@pytest.mark.parametrize("form", ["JPEG", "PNG", "GIF", "TIFF", "BMP", "WEBP"])
def test_size_and_format(form: str) -> None:
    out = read(make(form))
    assert out.metadata == {"format": form.lower(), "width": 123, "height": 45}
    assert (out.state, out.text, out.error) == (TextState.NO_TEXT_LAYER, "", None)


def test_tiff_frames_are_pages() -> None:
    assert read(make("TIFF", frames=3)).pages == 3
    assert read(make("PNG")).pages is None


def test_tiff_chain_that_loops_ends() -> None:
    data = b"II*\0\x08\0\0\0" + b"\x01\0" + b"\0\x01\x03\0\x01\0\0\0\x07\0\0\0" + b"\x08\0\0\0"
    out = read(data)
    assert (out.pages, out.metadata["width"]) == (1, 7)


@pytest.mark.parametrize("form", ["JPEG", "PNG", "BMP", "WEBP"])
def test_truncated_picture(form: str) -> None:
    data = make(form)
    out = read(data[: len(data) // 2])
    assert out.metadata["width"] == 123
    assert out.error is not None
    assert out.error.code is ExceptionCode.TRUNCATED


@pytest.mark.parametrize("form", ["JPEG", "PNG", "GIF", "TIFF", "BMP", "WEBP"])
def test_header_alone_is_an_error(form: str) -> None:
    """Without a whole header there is nothing to say but an error with a code."""
    with pytest.raises(DocumentError) as caught:
        read(make(form)[:12])
    assert caught.value.code in (ExceptionCode.TRUNCATED, ExceptionCode.CORRUPT)


@pytest.mark.parametrize("form", ["JPEG", "PNG"])
def test_appended_bytes_are_no_damage(form: str) -> None:
    assert read(make(form) + b"appended" * 2000).error is None


def test_heic_is_a_picture_with_a_size() -> None:
    sizes = b"".join(
        b"\0\0\0\x14ispe" + bytes(4) + struct.pack(">II", *size) for size in ((160, 120), (4032, 3024), (512, 512))
    )
    data = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + b"\0\0\0\x50meta" + sizes
    assert identify(MemorySource(b"a", data)) == "image/heic"
    out = read(data)
    assert out.state is TextState.NO_TEXT_LAYER
    assert out.metadata == {"format": "heic", "width": 4032, "height": 3024}


@pytest.mark.skipif(not features.check("jpg_2000"), reason="this Pillow writes no JPEG 2000")
def test_jpeg_2000_has_a_size() -> None:
    data = make("JPEG2000")
    assert identify(MemorySource(b"a", data)) == "image/jp2"
    out = read(data)
    assert (out.state, out.error) == (TextState.NO_TEXT_LAYER, None)
    assert out.metadata == {"format": "jpeg2000", "width": 123, "height": 45}
    assert read(data[:40]).metadata == {"format": "jpeg2000"}


def test_exif_of_a_still() -> None:
    """AVIF and HEIC keep it as an item of their box `meta`; what Pillow writes is found, damaged boxes say nothing."""
    told = Image.Exif()
    told[0x010F], told[0x0132] = "Maker", "2024:01:02 03:04:05"
    out = io.BytesIO()
    Image.new("RGB", (64, 48), "red").save(out, "AVIF", exif=told)
    found = read(out.getvalue()).metadata
    assert (found["make"], found["modified"]) == ("Maker", "2024-01-02T03:04:05")
    assert (found["width"], found["height"]) == (64, 48)
    rng = random.Random(2)
    for _ in range(200):
        data = bytearray(out.getvalue())
        data[rng.randrange(12, len(data))] = rng.randrange(256)
        assert read(bytes(data)).metadata["format"] in ("avif", "heic")
