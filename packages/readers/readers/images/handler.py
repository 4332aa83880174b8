"""Common images: no text (that needs OCR), their size, their Exif data, and the frames of a TIFF as pages."""

from __future__ import annotations

from readers import clean
from readers.base import Declared, LeafHandler, Source, Text
from readers.charset import CHARSET_KEYS
from readers.errors import truncated
from readers.images import captions, exif
from readers.images.heif import breaks_off
from readers.images.size import reader_of
from readers.records import Limits, TextState

_RASTER = ("image/jpeg", "image/png", "image/gif", "image/tiff", "image/bmp", "image/webp")
_STILLS = ("image/heic", "image/heif", "image/avif")
_JPEG_2000 = ("image/jp2", "image/jpx")
_EXIF_KEYS = (
    *("format", "width", "height", "description", "make", "model", "application", "author", "copyright", "title"),
    *("subject", "keywords", "taken", "digitised", "modified", "latitude", "longitude"),
)


class ImageHandler(LeafHandler):
    """Raster images of any size; only headers and a few bytes at the end are read."""

    name = "image"
    whole = False
    declared: tuple[Declared, ...] = (
        Declared(
            title="Pictures (JPEG, PNG, GIF, TIFF, BMP, WebP)",
            media_types=_RASTER,
            extensions=("jpg", "jpeg", "png", "gif", "tif", "tiff", "bmp", "webp"),
            text="captions, comments, keywords, names and places in Exif, IPTC and XMP, text chunks of PNG, comments of JPEG",
            metadata=(*_EXIF_KEYS, *CHARSET_KEYS),
            leaves_out=(
                "text in the picture: the state is `no text layer` unless `--ocr` finds some",
                "comments and XMP of GIF; data after the first 64 chunks",
            ),
        ),
        Declared(
            title="Pictures (HEIC, HEIF, AVIF)",
            media_types=_STILLS,
            extensions=("heic", "heif", "avif"),
            text="descriptions and comments in Exif",
            metadata=(*_EXIF_KEYS, *CHARSET_KEYS),
            leaves_out=(
                "text in the picture, even with `--ocr`: the state is `no text layer`",
                "XMP, and all pictures except the main one",
            ),
        ),
        Declared(
            title="Pictures (JPEG 2000)",
            media_types=_JPEG_2000,
            extensions=("jp2", "jpx", "jpf"),
            metadata=("format", "width", "height"),
            leaves_out=(
                "text in the picture, even with `--ocr`: the state is `no text layer`",
                "Exif and XMP, and whether the picture is complete",
            ),
        ),
    )

    def text(self, source: Source, limits: Limits) -> Text:
        """Return the captions as text (the picture itself has `no_text_layer`); `width`, `height` (pixels), `format`,
        and camera, dates and place of Exif as metadata. Raises DocumentError `truncated` or `corrupt` if not even the
        header is complete; `error` reports a picture that breaks off."""
        head = source.head
        if head[4:8] == b"ftyp":
            out = _still(head)
            with source.open() as file:
                if breaks_off(file, source.size):
                    out.error = truncated("the file is incomplete or contains no picture")
                found = exif.read(file, source.size, str(out.metadata["format"]))
            out.metadata |= found.likely | found.metadata
            return _captioned(out, found, "", limits)
        if head[4:8] == b"jP  ":
            return _jpeg_2000(head)
        raster = reader_of(head)
        if raster is None:
            return Text(state=TextState.NO_TEXT_LAYER)
        label, reader = raster
        with source.open() as file:
            size = reader(file, source.size)
            found = exif.read(file, source.size, label)
            about, caption = captions.read(file, source.size, label)
        out = Text(
            pages=size.frames,
            metadata={
                "format": label,
                "width": size.width,
                "height": size.height,
                **found.likely,
                **about,
                **found.metadata,
            },
            error=size.error,
        )
        return _captioned(out, found, caption, limits)


def _captioned(out: Text, found: exif.Exif, caption: str, limits: Limits) -> Text:
    """Add the captions of Exif and others; one that is cut is reported instead of the missing text layer."""
    text = clean.Collector(limits.text_characters)
    text.lines(line for line in found.lines if line not in caption)
    text.add(caption)
    out.text, out.state = text.text(), TextState.TRUNCATED_BY_LIMIT if text.cut else TextState.NO_TEXT_LAYER
    clean.note_charset(out, found.charset)
    return out


def _still(head: bytes) -> Text:
    """Read HEIC and AVIF (ISO/IEC 23008-12): the size of the largest image in its properties (`ispe`)."""
    sizes = []
    at = head.find(b"ispe")
    while at >= 0 and at + 16 <= len(head):
        sizes.append((int.from_bytes(head[at + 8 : at + 12], "big"), int.from_bytes(head[at + 12 : at + 16], "big")))
        at = head.find(b"ispe", at + 4)
    width, height = max(sizes, key=lambda size: size[0] * size[1], default=(0, 0))
    metadata = {"format": "avif" if head[8:12] == b"avif" else "heic"}
    return Text(
        state=TextState.NO_TEXT_LAYER, metadata={**metadata, "width": width, "height": height} if width else metadata
    )


def _jpeg_2000(head: bytes) -> Text:
    """Read JP2 and JPX (ISO/IEC 15444-1, I.5.3): the box `ihdr`, which is the first in the box `jp2h`."""
    metadata: dict[str, object] = {"format": "jpeg2000"}
    at = head.find(b"ihdr", head.find(b"jp2h") + 1)
    if at >= 0 and at + 12 <= len(head):
        metadata["width"] = int.from_bytes(head[at + 8 : at + 12], "big")
        metadata["height"] = int.from_bytes(head[at + 4 : at + 8], "big")
    return Text(state=TextState.NO_TEXT_LAYER, metadata=metadata)
