"""Common parts of both kinds of metafile: runs of characters joined to lines, and the fonts of the runs."""

from __future__ import annotations

import struct

from readers.charset import CodePage
from readers.fonts import FONT_CODECS

_GAP = 0.3  # of a run's mean advance; a run nearer to the end of the last one continues its word
_CONTROLS = dict.fromkeys(range(0x20), " ") | {0x09: "\t", 0: None, 0x7F: None}


class Lines:
    """Runs in the order of their records. Runs at one height are a line; a run that begins where the one before it ends
    continues its word."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._height: float | None = None
        self._end: float | None = None
        self._near = 0.0
        self.glyphs = 0  # runs that are numbers of a font's glyphs, which cannot be decoded

    def add(self, text: str, x: float, y: float, width: float | None = None) -> None:
        """Add a run at this position; `width`, if known, is in the same units."""
        text = text.translate(_CONTROLS)
        if not text:
            return
        if self._height is not None:
            joined = self._end is not None and abs(x - self._end) <= self._near
            self._pieces.append("\n" if y != self._height else "" if joined else " ")
        self._pieces.append(text)
        self._height = y
        self._end = None if width is None else x + width
        self._near = 0.0 if width is None else _GAP * abs(width) / len(text)

    def text(self) -> str:
        """Return all lines."""
        return "".join(self._pieces)


class Fonts:
    """The fonts of a device context by their handles, and the one that is selected."""

    def __init__(self) -> None:
        self._codecs: dict[int, str] = {}
        self._pages: dict[str, CodePage] = {}
        self._now = "cp1252"
        self._saved: list[str] = []

    def make(self, handle: int, charset: int) -> None:
        """Record a font with this character set."""
        self._codecs[handle] = FONT_CODECS.get(charset, "cp1252")

    def forget(self, handle: int) -> None:
        """Delete the object with this handle."""
        self._codecs.pop(handle, None)

    def select(self, handle: int) -> None:
        """Select the font for the text that follows; pens and brushes change nothing."""
        self._now = self._codecs.get(handle, self._now)

    def save(self) -> None:
        """Save the selection for `restore`."""
        self._saved.append(self._now)

    def restore(self, number: int) -> None:
        """Restore the selection of `number` saves ago (below zero), or of the save of that number."""
        keep = len(self._saved) + number if number < 0 else number - 1
        if 0 <= keep < len(self._saved):
            self._now = self._saved[keep]
            del self._saved[keep:]

    def text(self, raw: bytes) -> str:
        """Decode characters in the code page of the selected font, until they contradict it."""
        return self._pages.setdefault(self._now, CodePage(self._now)).text(raw)


def advance(data: bytes, at: int, count: int, form: str, step: int = 1) -> float | None:
    """Return the sum of every `step`th of `count` distances; None if they are not complete."""
    size = struct.calcsize(form) * count
    if at <= 0 or count <= 0 or at + size > len(data):
        return None
    return float(sum(struct.unpack_from(f"<{count}{form}", data, at)[::step]))
