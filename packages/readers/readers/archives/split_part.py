"""Further parts of split archives (`.7z.002`, `.zip.002`, `.z02`), recognised only by their names."""

from __future__ import annotations

from readers.base import Declared, LeafHandler, Source, Text
from readers.errors import unsupported
from readers.records import Limits

MEDIA_TYPE = "application/x-archive-part"


class SplitPartHandler(LeafHandler):
    """The middle or the end of an archive that begins in another file."""

    name = "part"
    whole = False
    declared = Declared(
        title="Further parts of split archives",
        extensions=("7z.002", "zip.002", "z02"),
        leaves_out=("everything: the exception is `unsupported`; join the parts to read them",),
    ).alone()

    def text(self, source: Source, limits: Limits) -> Text:
        """Raise DocumentError `unsupported`."""
        raise unsupported("a further part of a split archive; join the parts first")
