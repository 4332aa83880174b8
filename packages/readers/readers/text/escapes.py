"""Escaped letters in text that is shown unchanged: strings of JSON (RFC 8259, 7), numbers for letters in XML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from readers.clean import paired

# What JSON begins with, lines of JSON and the scripts of Twitter's archives too; not so INI files, logs, or code.
_VALUE = r"(?:-?\d[\d.eE+-]{0,30}+|true|false|null)"
_JSON = re.compile(
    rf"\s*+(?:window\.[\w.]{{1,100}}\s*+=\s*+)?(?:\{{\s*+\"|\[\s*+(?:{_VALUE}\s*+,\s*+|(?!)){{0,100}}+[{{\[\"])"
)
# Within a line: as many strings without a backslash as there are, in one go; else one string. One that does not end reaches
# to the end of the line, so that time grows with the length only.
_STRINGS = re.compile(r"(?:\"[^\"\\\n]*+\"[^\"\n]*+|(?!))++|\"([^\"\\\n]*+(?:\\.[^\"\\\n]*+|(?!))*+)\"?")
_TELLING = re.compile(
    r"(?:[^\\]++|\\[^bfnrtu]|(?!))*+\\[bfnrtu]"
)  # not `\"`, `\/` and the like: words are the same without
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_STRICT = json.JSONDecoder(strict=False)

_NUMBERS = re.compile(r"(?:&#(?:x[0-9a-fA-F]{1,8}|[0-9]{1,8});|(?!))++")
_NUMBER = re.compile(r"&#(?:x([0-9a-fA-F]+)|([0-9]+));")
_LONGEST = 12  # characters of a number
_MOST = 0x10FFFF


def is_json(text: str) -> bool:
    """Whether text begins as JSON does."""
    return _JSON.match(text) is not None


def decoded_strings(text: str) -> Iterator[str]:
    """Those strings of JSON in which an escape stands for a letter or white space, as they are meant, each once. Strings need
    not be closed, nor the rest be JSON. Nothing is looked at but lines with a backslash."""
    told: set[str] = set()
    at = 0
    while (at := text.find("\\", at)) >= 0:
        start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        at = len(text) if end < 0 else end
        for match in _STRINGS.finditer(text, start, at):
            raw = match[1]
            if (
                raw
                and _TELLING.match(_without_ends(raw))
                and (string := _decoded(raw)) not in told
                and not string.isspace()
            ):
                told.add(string)
                yield string


def _without_ends(raw: str) -> str:
    """Without line ends behind it, as in the lines of a notebook: no word is more by them."""
    end = len(raw)
    while end > 1 and raw[end - 2] == "\\" and raw[end - 1] in "nrt":
        end -= 2
    return raw[:end]


def _decoded(raw: str) -> str:
    try:
        text: str = _STRICT.decode(f'"{raw}"')
    except ValueError:  # escapes of other languages
        text = _ESCAPE.sub(_character, raw)
    text = paired(text).replace("\0", "")
    try:  # Facebook escapes each byte of UTF-8
        return text if text.isascii() else text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


def _character(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16)) if escape[1] else _CONTROLS.get(escape[2], escape[2])


def with_letters(pieces: Iterable[str]) -> Iterator[str]:
    """Text in pieces, letters instead of the numbers of letters (`&#252;`); halves of surrogate pairs, as phones write them,
    joined. Names (`&amp;`) stay."""
    rest = half = ""
    for piece in pieces:
        piece, rest = rest + piece, ""
        begun = piece.rfind("&", max(0, len(piece) - _LONGEST))
        if begun >= 0 and ";" not in piece[begun:]:
            piece, rest = piece[:begun], piece[begun:]
        if half or "&#" in piece:
            piece = half + (_NUMBERS.sub(_letters, piece) if "&#" in piece else piece)
            half = piece[-1] if piece and "\ud800" <= piece[-1] < "\udc00" else ""
            piece = paired(piece[:-1] if half else piece)
        yield piece
    yield paired(half + rest)


def _letters(numbers: re.Match[str]) -> str:
    return _NUMBER.sub(_letter, numbers[0])


def _letter(number: re.Match[str]) -> str:
    code = int(number[1], 16) if number[1] else int(number[2])
    return chr(code) if 0 < code <= _MOST else number[0]
