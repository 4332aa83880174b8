"""readers.images.exif: what cameras note, written by an independent library into each picture format."""

import io
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from core.records import Limits
from readers.base import MemorySource
from readers.images import exif, heif
from readers.images.handler import ImageHandler

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
    assert read(picture(form)) == TAKEN


def test_without_exif() -> None:
    out = io.BytesIO()
    Image.new("RGB", (20, 10)).save(out, "JPEG")
    assert read(out.getvalue()) == {}


def test_a_box_longer_than_any_file() -> None:
    """As a fuzzer made one: the next box would begin where no file reaches."""
    box = struct.pack(">I4sQ", 1, b"ftyp", 0x8C8C8C8C8C8C8C8C) + bytes(80)
    assert heif.exif_place(io.BytesIO(box), len(box)) is None


def _block(tags: dict[int, tuple[int, bytes]], order: str, gps: dict[int, tuple[int, bytes]] | None = None) -> bytes:
    """A TIFF file of these tags, which are the first directory's; those of the place in one of their own."""
    if gps is not None:
        tags = tags | {0x8825: (4, struct.pack(order + "I", 0))}
    at = 8
    size = 2 + 12 * len(tags) + 4
    out = {b"<": b"II*\0", b">": b"MM\0*"}[order.encode()] + struct.pack(order + "I", 8)
    entries, values = b"", b""
    for tag, (kind, value) in sorted(tags.items()):
        count = len(value) // 4 if kind == 4 else len(value)
        inline = value.ljust(4, b"\0") if len(value) <= 4 else struct.pack(order + "I", at + size + len(values))
        values += value if len(value) > 4 else b""
        if tag == 0x8825:
            inline = b"GPS!"
        entries += struct.pack(order + "HHI", tag, kind, count) + inline
    block = out + struct.pack(order + "H", len(tags)) + entries + bytes(4) + values
    if gps is None:
        return block
    behind = bytearray(_block(gps, order)[8:])
    (tag, (_, value)) = next(iter(gps.items()))
    behind[10:14] = struct.pack(order + "I", len(block) + len(behind) - len(value))
    return block.replace(b"GPS!", struct.pack(order + "I", len(block))) + bytes(behind)


def _read(data: bytes) -> tuple[str, dict[str, object]]:
    found = exif.read(io.BytesIO(data), len(data), "tiff")
    return "\n".join(found.lines), {**found.likely, **found.metadata}


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b"ASCII\0\0\0plain words\0\0", "plain words"),
        (b"ASCII\0\0\0" + "größe und maß".encode(), "größe und maß"),
        (b"ASCII\0\0\0" + "Größe und Maß für alle".encode("cp1252"), "Größe und Maß für alle"),
        (bytes(8) + b"no code", "no code"),
        (b"no code at all", "no code at all"),
        (b"UNICODE\0" + "Größe ł".encode("utf-16-le"), "Größe ł"),
        (b"UNICODE\0" + "Größe ł".encode("utf-16-be"), "Größe ł"),
        (b"UNICODE\0" + "日本語の説明".encode("utf-16-le") + bytes(6), "日本語の説明"),
        (b"UNICODE\0" + "日本語の説明".encode("utf-16-be") + bytes(6), "日本語の説明"),
        (b"UNICODE\0" + "Отпуск на море".encode("utf-16-be"), "Отпуск на море"),
        (b"UNICODE\0" + "Отпуск на море".encode("utf-16-le"), "Отпуск на море"),
        (b"UNICODE\0" + "\ufeffmarked é".encode("utf-16-be"), "marked é"),
        (b"UNICODE\0written as ascii!", "written as ascii!"),
        (b"UNICODE\0" + "größe in UTF-8".encode(), "größe in UTF-8"),
        (b"JIS\0\0\0\0\0" + "日本語の説明".encode("iso2022_jp"), "日本語の説明"),
        (b"JIS\0\0\0\0\0" + bytes(c & 0x7F for c in "日本語の説明".encode("euc_jp")), "日本語の説明"),
        (b"JIS\0\0\0\0\0" + "日本語の説明".encode("cp932"), "日本語の説明"),
        (b"JIS\0\0\0\0\0plain", "plain"),
        (b"UNICODE\0" + bytes(20), ""),
        (b"ASCII\0\0\0" + b" " * 40, ""),
        (b"ASCII\0\0\0" + b"long " * 2_000 + b"lastword", ("long " * 2_000 + "lastword")),
    ],
)  # fmt: skip
def test_comments_in_each_charset_code(order: str, value: bytes, shown: str) -> None:
    assert _read(_block({0x9286: (7, value)}, order))[0] == shown
    if shown:
        assert _read(_block({}, order, gps={0x001C: (7, value)}))[0] == shown


@pytest.mark.parametrize("order", ["<", ">"])
def test_tags_of_windows(order: str) -> None:
    names = {0x9C9B: "title", 0x9C9C: "description", 0x9C9D: "author", 0x9C9E: "keywords", 0x9C9F: "subject"}
    shown = {tag: f"{key} Ünïcode 説明" for tag, key in names.items()}
    lines, metadata = _read(
        _block({tag: (1, text.encode("utf-16-le") + b"\0\0") for tag, text in shown.items()}, order)
    )
    assert set(lines.split("\n")) == set(shown.values())
    assert metadata == {key: shown[tag] for tag, key in names.items()}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("Größe".encode(), "Größe"),
        ("Übersicht der Größen für März".encode("cp1252"), "Übersicht der Größen für März"),
        ("Отпуск на Чёрном море летом".encode("cp1251"), "Отпуск на Чёрном море летом"),
        ("会議の写真と説明です".encode("cp932"), "会議の写真と説明です"),
        (b"Photographer\0Editor\0", "Photographer; Editor"),
    ],
)
def test_strings_in_other_charsets(value: bytes, shown: str) -> None:
    found = ImageHandler().text(MemorySource(b"", _picture(_block({0x010E: (2, value + b"\0")}, "<"))), Limits())
    assert found.text == f"{shown}\n"
    assert found.metadata["description"] == shown
    legacy = value not in (shown.encode(), b"Photographer\0Editor\0")
    assert ("charset" in found.metadata) == legacy


def _picture(block: bytes) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (2, 2)).save(out, "JPEG")
    segment = b"Exif\0\0" + block
    return out.getvalue()[:2] + b"\xff\xe1" + struct.pack(">H", len(segment) + 2) + segment + out.getvalue()[2:]


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_damage_is_no_error(data: st.DataObject) -> None:
    sample = bytearray(picture("TIFF"))
    for _ in range(data.draw(st.integers(1, 6))):
        sample[data.draw(st.integers(8, len(sample) - 1))] = data.draw(st.integers(0, 255))
    exif.read(io.BytesIO(bytes(sample)), len(sample), "tiff")
