"""What people wrote about a picture is text: where programs put it, and nothing of what they write for themselves."""

from __future__ import annotations

import io
import struct
import zlib

import pytest
from PIL import Image, PngImagePlugin, TiffImagePlugin

from core.records import Limits
from readers.base import MemorySource, Text
from readers.images.handler import ImageHandler
from readers.records import TextState

XMP = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:p="http://ns.adobe.com/photoshop/1.0/" xmlns:xmp="http://ns.adobe.com/xap/1.0/">
<rdf:Description p:City="Kraków" xmp:CreatorTool="Someprogram">
<dc:description><rdf:Alt><rdf:li xml:lang="x-default">Signing of the lease</rdf:li></rdf:Alt></dc:description>
<dc:subject><rdf:Bag><rdf:li>harbour</rdf:li><rdf:li>contract</rdf:li></rdf:Bag></dc:subject>
</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>""".encode()
SAID = ["Kraków", "Signing of the lease", "harbour", "contract"]


def data_set(number: int, value: bytes, record: int = 2) -> bytes:
    return struct.pack(">BBBH", 0x1C, record, number, len(value)) + value


IPTC = (
    data_set(90, b"\x1b%G", 1)
    + data_set(120, "Überführung".encode())
    + data_set(25, b"pier")
    + data_set(80, b"A. Nowak")
)
RESOURCES = b"8BIM\x04\x04\0\0" + struct.pack(">I", len(IPTC)) + IPTC


def picture(form: str, **options: object) -> bytes:
    """A picture by Pillow."""
    out = io.BytesIO()
    Image.new("RGB", (20, 10), "red").save(out, form, **options)
    return out.getvalue()


def with_segments(*segments: tuple[int, bytes]) -> bytes:
    """A JPEG with these segments behind its first two bytes."""
    jpeg = picture("JPEG")
    return jpeg[:2] + b"".join(struct.pack(">BBH", 0xFF, kind, len(d) + 2) + d for kind, d in segments) + jpeg[2:]


def read(data: bytes, limits: Limits | None = None) -> Text:
    """What the handler says of the picture; it never calls a caption the picture's own text."""
    out = ImageHandler().text(MemorySource(b"x", data), limits or Limits())
    assert out.state is TextState.NO_TEXT_LAYER
    return out


def tiff(tag: int, value: bytes) -> bytes:
    """A TIFF with one more tag."""
    tags = TiffImagePlugin.ImageFileDirectory_v2()
    tags[tag] = value
    tags.tagtype[tag] = 1
    return picture("TIFF", tiffinfo=tags)


def png() -> bytes:
    """A PNG with XMP where programs put it."""
    info = PngImagePlugin.PngInfo()
    info.add_itxt("XML:com.adobe.xmp", XMP.decode())
    return picture("PNG", pnginfo=info)


@pytest.mark.parametrize(
    "data",
    [
        with_segments((0xE1, b"http://ns.adobe.com/xap/1.0/\0" + XMP)),
        png(),
        picture("WEBP", xmp=XMP),
        tiff(700, XMP),
    ],
    ids=["jpeg", "png", "webp", "tiff"],
)
def test_xmp(data: bytes) -> None:
    out = read(data)
    assert out.text.splitlines() == SAID
    assert (out.metadata["description"], out.metadata["keywords"]) == ("Signing of the lease", "harbour, contract")


@pytest.mark.parametrize(
    "data",
    [
        with_segments((0xED, b"Photoshop 3.0\0" + RESOURCES)),
        with_segments((0xED, b"Photoshop 3.0\0" + RESOURCES[:20]), (0xED, b"Photoshop 3.0\0" + RESOURCES[20:])),
        tiff(33723, IPTC),
        tiff(34377, RESOURCES),
    ],
    ids=["jpeg", "two segments", "tiff", "tiff of Photoshop"],
)
def test_iptc(data: bytes) -> None:
    out = read(data)
    assert out.text.splitlines() == ["Überführung", "pier", "A. Nowak"]
    assert (out.metadata["author"], out.metadata["keywords"]) == ("A. Nowak", "pier")


def test_text_chunks_and_comments() -> None:
    info = PngImagePlugin.PngInfo()
    info.add_text("Title", "Harbour plan")
    info.add_text("Comment", "see the annex", zip=True)
    info.add_itxt("Description", "Порт", zip=True)
    info.add_text("Software", "Someprogram")
    out = read(picture("PNG", pnginfo=info))
    assert out.text.splitlines() == ["Harbour plan", "see the annex", "Порт"]
    assert (out.metadata["title"], out.metadata["description"]) == ("Harbour plan", "Порт")
    assert read(picture("JPEG", comment=b"scanned by the notary")).text == "scanned by the notary\n"


def test_exif_says_it_too() -> None:
    tags = Image.Exif()
    tags[0x010E] = "Gate seven"
    assert read(picture("JPEG", exif=tags.tobytes())).text == "Gate seven\n"
    assert read(picture("JPEG", exif=tags.tobytes(), comment=b"Gate seven")).text == "Gate seven\n"


def test_damage_costs_the_caption_only() -> None:
    broken = [
        with_segments((0xE1, b"http://ns.adobe.com/xap/1.0/\0<not"), (0xED, b"Photoshop 3.0\x008BIM\x04\x04")),
        tiff(33723, b"\x1c\x02\x78\xff\xff"),
    ]
    assert [read(data).text for data in broken] == ["", ""]
    info = PngImagePlugin.PngInfo()
    info.add(b"zTXt", b"Comment\0\0" + zlib.compress(b"a" * 30_000_000))
    info.add(b"zTXt", b"Author\0\0no zlib stream")
    assert len(read(picture("PNG", pnginfo=info)).text) <= 1_001
    assert read(png(), Limits(text_characters=5)).text == "Krakó"
