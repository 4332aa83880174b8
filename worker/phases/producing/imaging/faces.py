"""Which typeface a line of text is drawn with: the one that comes with a dependency, and others that are installed where that
lacks characters."""

from __future__ import annotations

import importlib.util
import subprocess
import unicodedata
from functools import cache
from pathlib import Path

from PIL import ImageFont, features

from core.errors import SystemFault

_OWN = (
    "DejaVuSansMono.ttf",
    "DejaVuSans.ttf",
)  # the first for all that it has; the second knows Hebrew and more Arabic
_NOTHING = "\uffff"  # no character, and drawn as one that a typeface lacks
_SECONDS = 120
_RIGHT_TO_LEFT = ("R", "AL", "RLE", "RLO", "RLI")
_CUTS = ("bold", "italic", "oblique", "light", "thin", "black")  # that come after a plain one
_MOST_FACES = 24  # of those that have a character, as the system lists them


@cache
def own_face(number: int, pixels: int) -> ImageFont.FreeTypeFont:
    """One that comes with matplotlib: the same glyphs on every machine. Characters stand side by side as they come."""
    return ImageFont.truetype(own_path(number), pixels, layout_engine=ImageFont.Layout.BASIC)


@cache
def own_path(number: int) -> str:
    """Its file."""
    found = importlib.util.find_spec("matplotlib")
    assert found is not None
    assert found.submodule_search_locations is not None
    return str(Path(found.submodule_search_locations[0]) / "mpl-data/fonts/ttf" / _OWN[number])


def can_shape() -> bool:
    """Whether letters are joined and right-to-left text is put in its order here (raqm with FriBiDi)."""
    return bool(features.check("raqm") and features.check("fribidi"))


def is_right_to_left(line: str) -> bool:
    """Whether a line begins so: as its first letter does."""
    for character in line:
        kind = unicodedata.bidirectional(character)
        if kind == "L":
            return False
        if kind in _RIGHT_TO_LEFT:
            return True
    return False


def is_plain(line: str) -> bool:
    """Whether its characters stand side by side in their order, and our own typeface has all of them."""
    if line.isascii():
        return True
    return not any(map(_is_joined, line)) and not lacking(own_path(0), 0, line)


def _is_joined(character: str) -> bool:
    return unicodedata.bidirectional(character) in ("R", "AL") or unicodedata.category(character)[0] == "M"


def face_for(line: str) -> tuple[str, int]:
    """File and number of the face that has the most of a line's characters; of equals the first, ours before others."""
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
        if not queue:  # what ours lack is looked for once: the first character of each script
            queue = [other for other in installed(ord(missing[0])) if other not in seen]
    return best


def lacking(path: str, index: int, line: str) -> str:
    """The characters of a line that a face has no glyph of."""
    return "".join(c for c in dict.fromkeys(line) if not c.isspace() and not _shows(path, index, c))


def _shows(path: str, index: int, character: str) -> bool:
    """A face that cannot be read has nothing now, which is not kept: it may be for want of memory or files. Ours are whole, and a
    page without them would be another than one that is drawn later. Raises SystemFault."""
    try:
        return _has(path, index, character)
    except OSError as error:
        if path in (own_path(0), own_path(1)):
            raise SystemFault(f"{path} cannot be loaded ({error}); check the free memory, then resume") from error
        return False


@cache
def _has(path: str, index: int, character: str) -> bool:
    """Raises OSError."""
    if unicodedata.category(character) in ("Cf", "Mn"):  # nothing to see by themselves
        return True
    face = _measuring(path, index)
    mask, nothing = face.getmask(character), face.getmask(_NOTHING)
    return mask.size != nothing.size or bytes(mask) != bytes(nothing)


@cache
def _measuring(path: str, index: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(path, 20, index, layout_engine=ImageFont.Layout.BASIC)


_SHORT = ("out of memory", "cannot get parse buffer")  # what fontconfig says of it


@cache
def installed(character: int) -> tuple[tuple[str, int], ...]:
    """Faces of this system that have a character, by what fontconfig knows; none where it is not there. Raises SystemFault
    where it does not answer: a page without them would be another than one that is drawn later."""
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
    # Nor is what it tells all of it where it says that memory was short, and its configuration not read.
    said = done.stderr.lower()
    if done.returncode or (not done.stdout and "error" in said) or any(short in said for short in _SHORT):
        why = done.stderr.strip().partition("\n")[0][:200] or f"exit status {done.returncode}"
        raise SystemFault(
            f"fc-list did not list the installed typefaces ({why}); check fontconfig and the free memory, then resume"
        )
    lines = (line.rpartition("\t") for line in done.stdout.splitlines())
    found = [(path, int(index)) for path, _, index in lines if path and index.isdigit() and int(index) < 1 << 16]
    return tuple(sorted(found, key=lambda face: (any(cut in face[0].lower() for cut in _CUTS), face))[:_MOST_FACES])
