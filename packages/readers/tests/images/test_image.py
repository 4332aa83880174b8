"""Images: size and format from the header, frames of a TIFF, and breaking off where it is plain."""

import io
import random
import struct
import zlib

import pytest
from as_found import read_by
from PIL import Image, PngImagePlugin, TiffImagePlugin, features

from core.records import Limits
from readers.base import MemorySource, Text
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.images.bitmaps import with_header
from readers.images.handler import ImageHandler
from readers.records import TextState

read, _ = read_by(ImageHandler())


def make(form: str, *, frames: int = 1, size: tuple[int, int] = (123, 45)) -> bytes:
    """A picture in this format, written by an independent library."""
    pictures = [Image.effect_noise(size, 50 + i).convert("RGB") for i in range(frames)]
    out = io.BytesIO()
    pictures[0].save(out, form, **({"save_all": True, "append_images": pictures[1:]} if frames > 1 else {}))
    return out.getvalue()


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
    assert (out.error and out.error.code) is ExceptionCode.TRUNCATED


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
    reported = Image.Exif()
    reported[0x010F], reported[0x0132] = "Maker", "2024:01:02 03:04:05"
    out = io.BytesIO()
    Image.new("RGB", (64, 48), "red").save(out, "AVIF", exif=reported)
    found = read(out.getvalue()).metadata
    assert (found["make"], found["modified"]) == ("Maker", "2024-01-02T03:04:05")
    assert (found["width"], found["height"]) == (64, 48)
    rng = random.Random(2)
    for _ in range(200):
        data = bytearray(out.getvalue())
        data[rng.randrange(12, len(data))] = rng.randrange(256)
        assert read(bytes(data)).metadata["format"] in ("avif", "heic")


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


XMP = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:p="http://ns.adobe.com/photoshop/1.0/" xmlns:xmp="http://ns.adobe.com/xap/1.0/">
<rdf:Description p:City="Kraków" xmp:CreatorTool="Someprogram">
<dc:description><rdf:Alt><rdf:li xml:lang="x-default">Signing of the lease</rdf:li></rdf:Alt></dc:description>
<dc:subject><rdf:Bag><rdf:li>harbour</rdf:li><rdf:li>contract</rdf:li></rdf:Bag></dc:subject>
</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>""".encode()
CAPTIONS = ["Kraków", "Signing of the lease", "harbour", "contract"]


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


def read_of_captions(data: bytes, limits: Limits | None = None) -> Text:
    """What the handler says of the picture; it never calls a caption the picture's own text."""
    out = read(data, limits or Limits())
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
    out = read_of_captions(data)
    assert out.text.splitlines() == CAPTIONS
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
    out = read_of_captions(data)
    assert out.text.splitlines() == ["Überführung", "pier", "A. Nowak"]
    assert (out.metadata["author"], out.metadata["keywords"]) == ("A. Nowak", "pier")


def test_text_chunks_and_comments() -> None:
    info = PngImagePlugin.PngInfo()
    info.add_text("Title", "Harbour plan")
    info.add_text("Comment", "see the annex", zip=True)
    info.add_itxt("Description", "Порт", zip=True)
    info.add_text("Software", "Someprogram")
    out = read_of_captions(picture("PNG", pnginfo=info))
    assert out.text.splitlines() == ["Harbour plan", "see the annex", "Порт"]
    assert (out.metadata["title"], out.metadata["description"]) == ("Harbour plan", "Порт")
    assert read_of_captions(picture("JPEG", comment=b"scanned by the notary")).text == "scanned by the notary\n"


def test_a_description_in_exif_is_a_caption() -> None:
    tags = Image.Exif()
    tags[0x010E] = "Gate seven"
    assert read_of_captions(picture("JPEG", exif=tags.tobytes())).text == "Gate seven\n"
    assert read_of_captions(picture("JPEG", exif=tags.tobytes(), comment=b"Gate seven")).text == "Gate seven\n"


def test_damage_costs_the_caption_only() -> None:
    broken = [
        with_segments((0xE1, b"http://ns.adobe.com/xap/1.0/\0<not"), (0xED, b"Photoshop 3.0\x008BIM\x04\x04")),
        tiff(33723, b"\x1c\x02\x78\xff\xff"),
    ]
    assert [read_of_captions(data).text for data in broken] == ["", ""]
    info = PngImagePlugin.PngInfo()
    info.add(b"zTXt", b"Comment\0\0" + zlib.compress(b"a" * 30_000_000))
    info.add(b"zTXt", b"Author\0\0no zlib stream")
    assert len(read_of_captions(picture("PNG", pnginfo=info)).text) <= 1_001


@pytest.mark.parametrize("form", ["JPEG", "AVIF"])
def test_a_caption_that_is_cut_at_the_limit_is_reported(form: str) -> None:
    tags = Image.Exif()
    tags[0x010E] = "Gate seven"
    whole, cut = (read(picture(form, exif=tags.tobytes()), Limits(text_characters=n)) for n in (11, 10))
    assert (whole.text, whole.state) == ("Gate seven\n", TextState.NO_TEXT_LAYER)
    assert (cut.text, cut.state) == ("Gate seven", TextState.TRUNCATED_BY_LIMIT)
