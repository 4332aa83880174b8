"""formats.images.exif: what cameras note, written by an independent library into each picture format."""

from __future__ import annotations

import io
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from core.records import Limits
from formats.base import MemorySource
from formats.images import exif, heif
from formats.images.handler import ImageHandler

TAKEN = {
    "make": "Edbench",
    "model": "Model 1",
    "taken": "2019-07-05T04:03:02+02:00",
    "latitude": 52.5,
    "longitude": -13.2566667,
}


def _exif() -> Image.Exif:
    tags = Image.Exif()
    tags[0x010F], tags[0x0110] = "Edbench", "Model 1"
    tags[0x8769] = {0x9003: "2019:07:05 04:03:02", 0x9011: "+02:00"}
    tags[0x8825] = {1: "N", 2: (52.0, 30.0, 0.0), 3: "W", 4: (13.0, 15.0, 24.0)}
    return tags


def picture(form: str) -> bytes:
    """A picture with Exif, by Pillow."""
    out = io.BytesIO()
    Image.new("RGB", (20, 10), "red").save(out, form, exif=_exif().tobytes())
    return out.getvalue()


def read(data: bytes) -> dict[str, object]:
    found = ImageHandler().text(MemorySource(b"", data), Limits()).metadata
    return {key: value for key, value in found.items() if key not in ("format", "width", "height")}


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_what_pillow_wrote(form: str) -> None:
    """Camera, date with its zone, and place, in four formats."""
    assert read(picture(form)) == TAKEN


def test_without_exif() -> None:
    """Nothing is made up."""
    out = io.BytesIO()
    Image.new("RGB", (20, 10)).save(out, "JPEG")
    assert read(out.getvalue()) == {}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b"2020:01:02 03:04:05", "2020-01-02T03:04:05"),
        (b"2020:01:02", "2020-01-02"),
        (b"0000:00:00 00:00:00", None),
        (b"    ", None),
    ],
)
def test_dates(value: bytes, shown: str | None) -> None:
    """As cameras with and without a clock write them."""
    entry = struct.pack("<HHII", 0x0132, 2, len(value) + 1, 26)
    data = b"II*\0" + struct.pack("<IH", 8, 1) + entry + bytes(4) + value + b"\0"
    assert exif.metadata(io.BytesIO(data), len(data), "tiff").get("modified") == shown


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_damage_is_no_error(data: st.DataObject) -> None:
    """Any byte of the block may be wrong."""
    sample = bytearray(picture("TIFF"))
    for _ in range(data.draw(st.integers(1, 6))):
        sample[data.draw(st.integers(8, len(sample) - 1))] = data.draw(st.integers(0, 255))
    exif.metadata(io.BytesIO(bytes(sample)), len(sample), "tiff")


def test_a_box_longer_than_any_file() -> None:
    """As a fuzzer made one: the next box would begin where no file reaches."""
    box = struct.pack(">I4sQ", 1, b"ftyp", 0x8C8C8C8C8C8C8C8C) + bytes(80)
    assert heif.exif_place(io.BytesIO(box), len(box)) is None
