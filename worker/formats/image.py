"""Common images: no text (that would take OCR), their size, and the frames of a TIFF as pages."""

from __future__ import annotations

from core.records import Limits, TextState
from worker.formats import image_size
from worker.formats.base import Handler, LeafHandler, Source, Text

_READERS = (
    (b"\x89PNG", "png", image_size.png),
    (b"\xff\xd8", "jpeg", image_size.jpeg),
    (b"GIF8", "gif", image_size.gif),
    (b"BM", "bmp", image_size.bmp),
    (b"RIFF", "webp", image_size.webp),
    (b"II", "tiff", image_size.tiff),
    (b"MM", "tiff", image_size.tiff),
)


class ImageHandler(LeafHandler):
    """Raster images of any size; only headers and a few bytes at the end are read."""

    name = "image"
    media_types: tuple[str, ...] = ("image/jpeg", "image/png", "image/gif", "image/tiff", "image/bmp", "image/webp")
    whole = False

    def text(self, source: Source, limits: Limits) -> Text:
        """No text: `width`, `height` (pixels) and `format` as metadata. DocumentError `truncated` or `corrupt` when
        not even the header is there; in `error` when the picture breaks off."""
        head = source.head
        for magic, label, reader in _READERS:
            if head.startswith(magic):
                with source.open() as file:
                    found = reader(file, source.size)
                return Text(
                    state=TextState.NO_TEXT_LAYER,
                    pages=found.frames,
                    metadata={"format": label, "width": found.width, "height": found.height},
                    error=found.error,
                )
        return Text(state=TextState.NO_TEXT_LAYER)


HANDLERS: tuple[Handler, ...] = (ImageHandler(),)
