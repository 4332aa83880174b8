"""Text as pages: lines of a fixed width on A4, in DejaVu Sans Mono as far as that has the characters."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterator, Sequence

from PIL import Image, ImageDraw, ImageFont

from worker.phases.producing.imaging.faces import can_shape, face_for, is_plain, is_right_to_left, lacking, own_face

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


def drawn(lines: Sequence[str], dpi: int, lost: set[str] | None = None) -> Image.Image:
    """One page, in shades of grey. `lost` gets what of it has no glyph in any typeface here."""
    width, height = (round(side * dpi) for side in A4_INCHES)
    page = Image.new("L", (width, height), 255)
    draw, face = ImageDraw.Draw(page), font(_POINTS, dpi)
    left, step = round(_MARGIN_INCHES * dpi), round(_POINTS * 1.2 * dpi / 72)
    for number, line in enumerate(lines):
        if not line:
            continue
        if is_plain(line):
            draw.text((left, left + number * step), line, fill=0, font=face)
        else:
            _shaped(draw, line, (left, left + number * step, width - left), dpi, set() if lost is None else lost)
    return page


def _shaped(draw: ImageDraw.ImageDraw, line: str, place: tuple[int, int, int], dpi: int, lost: set[str]) -> None:
    """A line with letters that are joined, run from the right, or are not in our own typeface; as small as it has to be."""
    left, top, right = place
    path, index = face_for(line)
    lost.update(lacking(path, index, line))
    shaping = can_shape()
    if not shaping:
        lost.update(c for c in line if unicodedata.bidirectional(c) in ("R", "AL"))
    engine = ImageFont.Layout.RAQM if shaping else ImageFont.Layout.BASIC
    pixels = round(_POINTS * dpi / 72)
    face = ImageFont.truetype(path, pixels, index, layout_engine=engine)
    if (long := draw.textlength(line, font=face)) > right - left:
        face = ImageFont.truetype(path, max(1, int(pixels * (right - left) / long)), index, layout_engine=engine)
        long = draw.textlength(line, font=face)
    draw.text((right - long if is_right_to_left(line) else left, top), line, fill=0, font=face)


def font(points: float, dpi: int) -> ImageFont.FreeTypeFont:
    """Our own typeface in a size."""
    return own_face(0, round(points * dpi / 72))
