"""Text as pages: lines of a fixed width on A4, in DejaVu Sans Mono."""

from __future__ import annotations

import importlib.util
import itertools
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

A4_INCHES = (8.27, 11.69)
COLUMNS, LINES = 92, 68
_MARGIN_INCHES, _POINTS = 0.75, 9.0
_TAB = 8


def typeset(text: str, most: int) -> list[Sequence[str]]:
    """Lines by page, at most `most` + 1 pages: whoever gets one more knows that there were too many."""
    pages: list[Sequence[str]] = []
    page: list[str] = []
    for line in _lines(text):
        if len(page) == LINES:
            pages.append(page)
            if len(pages) > most:
                return pages
            page = []
        page.append(line)
    return [*pages, page]


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        line = "".join(c if c.isprintable() else " " for c in line.expandtabs(_TAB)).rstrip()
        while len(line) > COLUMNS // 2 and _width(line) > COLUMNS:
            cut = _fitting(line)
            yield line[:cut].rstrip()
            line = line[cut:].lstrip()
        yield line


def _fitting(line: str) -> int:
    """How many characters of a line fit, to the end of a word where there is one."""
    widths = itertools.accumulate(map(_width, line))
    cut = next((number for number, width in enumerate(widths) if width > COLUMNS), len(line))
    blank = line.rfind(" ", cut // 2, cut + 1)
    return blank + 1 if blank > 0 else max(1, cut)


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)


def drawn(lines: Sequence[str], dpi: int) -> Image.Image:
    """One page, in shades of grey."""
    width, height = (round(side * dpi) for side in A4_INCHES)
    page = Image.new("L", (width, height), 255)
    draw, face = ImageDraw.Draw(page), font(_POINTS, dpi)
    left, step = round(_MARGIN_INCHES * dpi), round(_POINTS * 1.2 * dpi / 72)
    for number, line in enumerate(lines):
        if line:
            draw.text((left, left + number * step), line, fill=0, font=face)
    return page


@cache
def font(points: float, dpi: int) -> ImageFont.FreeTypeFont:
    """DejaVu Sans Mono as matplotlib has it: its glyphs are the same on every machine."""
    found = importlib.util.find_spec("matplotlib")
    assert found is not None
    assert found.submodule_search_locations is not None
    path = Path(found.submodule_search_locations[0]) / "mpl-data/fonts/ttf/DejaVuSansMono.ttf"
    return ImageFont.truetype(str(path), round(points * dpi / 72), layout_engine=ImageFont.Layout.BASIC)
