"""Typesetting of text as pages, with the installed typefaces."""

from __future__ import annotations

import importlib.util
import itertools
import subprocess
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont, features

from core.errors import SystemFault

_OWN = (
    "DejaVuSansMono.ttf",
    "DejaVuSans.ttf",
)  # the first where it has the character; the second has Hebrew and more Arabic
_NOTHING = "\uffff"  # not a character, and drawn like one that a typeface lacks
_SECONDS = 120
_RIGHT_TO_LEFT = ("R", "AL", "RLE", "RLO", "RLI")
_CUTS = ("bold", "italic", "oblique", "light", "thin", "black")  # tried after a plain one
_MOST_FACES = 24  # faces that have a character, as listed by the system


@cache
def own_face(number: int, pixels: int) -> ImageFont.FreeTypeFont:
    """Return a typeface that comes with matplotlib: the same glyphs on every machine. Characters are set next to each
    other in the given order."""
    return ImageFont.truetype(own_path(number), pixels, layout_engine=ImageFont.Layout.BASIC)


@cache
def own_path(number: int) -> str:
    """Return the typeface's file."""
    found = importlib.util.find_spec("matplotlib")
    assert found is not None
    assert found.submodule_search_locations is not None
    return str(Path(found.submodule_search_locations[0]) / "mpl-data/fonts/ttf" / _OWN[number])


def can_shape() -> bool:
    """Return whether letters can be joined and right-to-left text be ordered on this machine (raqm with FriBiDi)."""
    return bool(features.check("raqm") and features.check("fribidi"))


def is_right_to_left(line: str) -> bool:
    """Return whether the first letter of a line runs from right to left."""
    for character in line:
        kind = unicodedata.bidirectional(character)
        if kind == "L":
            return False
        if kind in _RIGHT_TO_LEFT:
            return True
    return False


def is_plain(line: str) -> bool:
    """Return whether the characters are set next to each other in their order, and our own typeface has all of them."""
    if line.isascii():
        return True
    return not any(map(_is_joined, line)) and not lacking(own_path(0), 0, line)


def _is_joined(character: str) -> bool:
    return unicodedata.bidirectional(character) in ("R", "AL") or unicodedata.category(character)[0] == "M"


def face_for(line: str) -> tuple[str, int]:
    """Return file and number of the face that has the most of a line's characters; on a tie the first, ours before
    others."""
    best, least = (own_path(0), 0), len(line) + 1
    seen: set[tuple[str, int]] = set()
    queue = [(own_path(0), 0), (own_path(1), 0)]
    while queue:
        face = queue.pop(0)
        if face in seen or len(seen) > _MOST_FACES:
            continue
        seen.add(face)
        missing = lacking(*face, line)
        if len(missing) < least:
            best, least = face, len(missing)
        if not missing:
            break
        if not queue:  # search once for what ours lack: the first character of each script
            queue = [other for other in installed(ord(missing[0])) if other not in seen]
    return best


def lacking(path: str, index: int, line: str) -> str:
    """Return the characters of a line for which a face has no glyph."""
    return "".join(c for c in dict.fromkeys(line) if not c.isspace() and not _shows(path, index, c))


def _shows(path: str, index: int, character: str) -> bool:
    """Return whether a face has this character. A face that cannot be read has none for now, which is not cached: the
    cause may be a lack of memory or files. Our own typefaces must be readable: a page without them would differ from
    one that is drawn later. Raises SystemFault."""
    try:
        return _has(path, index, character)
    except OSError as error:
        if path in (own_path(0), own_path(1)):
            raise SystemFault(f"{path} cannot be loaded ({error}); check the free memory, then resume") from error
        return False


@cache
def _has(path: str, index: int, character: str) -> bool:
    """Return whether a face has a glyph for this character. Raises OSError."""
    if unicodedata.category(character) in ("Cf", "Mn"):  # invisible by themselves
        return True
    face = _measuring(path, index)
    mask, nothing = face.getmask(character), face.getmask(_NOTHING)
    return mask.size != nothing.size or bytes(mask) != bytes(nothing)


@cache
def _measuring(path: str, index: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(path, 20, index, layout_engine=ImageFont.Layout.BASIC)


_SHORT = ("out of memory", "cannot get parse buffer")  # what fontconfig prints about it


@cache
def installed(character: int) -> tuple[tuple[str, int], ...]:
    """Return the installed faces that have a character, according to fontconfig; empty if fontconfig is not installed.
    Raises SystemFault if it fails: a page without these faces would differ from one that is drawn later."""
    command = ["fc-list", "--format", "%{file}\t%{index}\n", f":charset={character:x}:scalable=true"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except FileNotFoundError:
        return ()
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SystemFault(
            f"fc-list did not list the installed typefaces ({error}); check fontconfig, then resume"
        ) from error
    # A process that is short of memory or files gets no answer, and fc-list may call that success: it would be no typeface for
    # as long as this slot lives, and the same page another one than elsewhere.
    # Its output is not complete either where it reports that memory was short, and its configuration not read.
    errors = done.stderr.lower()
    if done.returncode or (not done.stdout and "error" in errors) or any(short in errors for short in _SHORT):
        why = done.stderr.strip().partition("\n")[0][:200] or f"exit status {done.returncode}"
        raise SystemFault(
            f"fc-list did not list the installed typefaces ({why}); check fontconfig and the free memory, then resume"
        )
    lines = (line.rpartition("\t") for line in done.stdout.splitlines())
    found = [(path, int(index)) for path, _, index in lines if path and index.isdigit() and int(index) < 1 << 16]
    return tuple(sorted(found, key=lambda face: (any(cut in face[0].lower() for cut in _CUTS), face))[:_MOST_FACES])


A4_INCHES = (8.27, 11.69)
COLUMNS, LINES = 92, 68
_MARGIN_INCHES, _POINTS = 0.75, 9.0
_TAB = 8


def typeset(text: str, most: int) -> list[Sequence[str]]:
    """Return lines by page, at most `most` + 1 pages: the additional page shows that there were too many."""
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
    """Return how many characters of a line fit, up to the end of a word if possible."""
    widths = itertools.accumulate(map(_width, line))
    cut = next((number for number, width in enumerate(widths) if width > COLUMNS), len(line))
    blank = line.rfind(" ", cut // 2, cut + 1)
    return blank + 1 if blank > 0 else max(1, cut)


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)


def drawn(lines: Sequence[str], dpi: int, lost: set[str] | None = None) -> Image.Image:
    """Draw one page, in shades of grey; add to `lost` the characters without a glyph in any typeface here."""
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
    """Draw a line with letters that are joined, run from the right, or are not in our own typeface; as small as
    necessary."""
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
    """Return our own typeface in a size."""
    return own_face(0, round(points * dpi / 72))
