"""RAR archives: recognised, and reported as unsupported.

The algorithm is described by the licence of UnRAR only, which forbids what open licences grant; no library reads RAR
without that code or a system library that has to be installed apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from core.errors import DocumentError, ExceptionCode
from core.records import Limits, TextState
from worker.formats.base import Child, Handler, LeafHandler, Part, Source, Text


class RarHandler(LeafHandler):
    """An archive whose members stay unread; that some are missing is said."""

    name = "rar"
    media_types: tuple[str, ...] = ("application/vnd.rar",)
    container = True
    whole = False

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """None: raises `unsupported`."""
        yield from ()
        raise DocumentError(ExceptionCode.UNSUPPORTED, "RAR archives cannot be opened; repack it as zip or 7z")

    def text(self, source: Source, limits: Limits) -> Text:
        """None: an archive says nothing by itself."""
        return Text(state=TextState.EMPTY)


HANDLERS: tuple[Handler, ...] = (RarHandler(),)
