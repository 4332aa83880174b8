"""Decoding of text that programs write under a charset's label where Python's codec of that name fails.

Programs of Windows write their own code pages under the labels of Japan and Taiwan (CP50220 and CP51932 for ISO-2022-JP
and EUC-JP, CP950 and HKSCS for Big5), and browsers read them so (https://encoding.spec.whatwg.org/); databases and Java
write characters beyond 16 bits as two halves in UTF-8 (CESU-8, Unicode Technical Report 26), and Java a NUL as two
bytes. What the codec reads is not changed. Two bytes that encode no character are skipped together, so that decoding
does not resume in their middle."""

from __future__ import annotations

import codecs
import functools
import re
from collections.abc import Callable

_STRICT = "formats.wider-strict"
_REPLACE = "formats.wider"
_REPLACEMENT = "\ufffd"
_KATAKANA = b"\x1b(I"  # JIS X 0201: one byte for each of the narrow ones
_NARROW = {byte: 0xFF61 + byte - 0x21 for byte in range(0x21, 0x60)}
_SECOND_SET = b"\x1b$(D"  # JIS X 0212
_SHIFT = 8  # bytes in front of a character in which an escape sequence may select that set


def errors_of(codec: str, errors: str = "replace") -> str:
    """Return the name of a codec's error handler, for `bytes.decode` and incremental decoders: `replace` or `strict`
    after the variants that programs write were tried."""
    if codec not in _WIDER:
        return errors
    return _STRICT if errors == "strict" else _REPLACE


@functools.cache
def _japanese(lead: int, trail: int) -> str:
    """Return the character of a pair of JIS X 0208 as Windows extends it, through Shift-JIS; "" if there is none."""
    if not (0x21 <= lead <= 0x7E and 0x21 <= trail <= 0x7E):
        return ""
    first = ((lead - 0x21) >> 1) + (0x81 if lead < 0x5F else 0xC1)
    second = trail + (0x7E if lead % 2 == 0 else 0x20 if trail >= 0x60 else 0x1F)
    return _read(bytes((first, second)), "cp932")


@functools.cache
def _read(pair: bytes, codec: str) -> str:
    """Return the character of two bytes; "" if there is none."""
    try:
        return pair.decode(codec)
    except UnicodeDecodeError:
        return ""


def _euc_jp(data: bytes, at: int, _end: int) -> tuple[str, int]:
    size = 3 if data[at] == 0x8F else 2
    pair = data[at : at + size]
    if len(pair) == size and min(pair[1:]) >= 0xA1:
        return (_japanese(pair[0] - 0x80, pair[1] - 0x80) if size == 2 else ""), at + size
    return "", at + 1


def _iso2022_jp(data: bytes, at: int, end: int) -> tuple[str, int]:
    if data.startswith(_KATAKANA, at):  # the codec does not know it
        stop = data.find(b"\x1b", at + 1)
        stop = len(data) if stop < 0 else stop
        return data[at + len(_KATAKANA) : stop].decode("latin-1").translate(_NARROW), stop
    if end - at != 2:
        return "", end
    if data[at + 1] < 0x21:  # an escape sequence or a line end: half of a character is missing
        return "", at + 1
    if data.rfind(_SECOND_SET, max(0, at - _SHIFT), at) >= 0:
        return "", end
    return _japanese(data[at], data[at + 1]), end


def _big5(data: bytes, at: int, _end: int) -> tuple[str, int]:
    pair = data[at : at + 2]
    character = (_read(pair, "big5hkscs") or _read(pair, "cp950")) if len(pair) == 2 else ""
    return character, at + (2 if character else _broken(pair))


def _pair(data: bytes, at: int, end: int) -> tuple[str, int]:
    return "", max(end, at + _broken(data[at : at + 2]))


def _broken(pair: bytes) -> int:
    """Return how many of two bytes that encode no character are skipped: only the first if the second is ASCII."""
    return 2 if len(pair) == 2 and 0x81 <= pair[0] <= 0xFE and pair[1] >= 0x80 else 1


HALVES = re.compile(rb"\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf]")


def _utf8(data: bytes, at: int, end: int) -> tuple[str, int]:
    if halves := HALVES.match(data, at):
        return halves[0].decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass").decode(
            "utf-16"
        ), halves.end()
    return ("\0", at + 2) if data.startswith(b"\xc0\x80", at) else ("", end)


# By the name of the failed codec, functions that return the character ("" for none) and where decoding resumes. The
# arguments are the bytes, and the start and end of the codec's failure.
_WIDER: dict[str, Callable[[bytes, int, int], tuple[str, int]]] = {
    "utf-8": _utf8,
    "euc_jp": _euc_jp,
    "iso2022_jp": _iso2022_jp,
    "iso2022_jp_ext": _iso2022_jp,
    "big5": _big5,
    **dict.fromkeys(("big5hkscs", "cp950", "cp932", "cp949"), _pair),
}


def _strict(error: UnicodeError) -> tuple[str, int]:
    character, behind = _met(error)
    if not character:
        raise error
    return character, behind


def _replaced(error: UnicodeError) -> tuple[str, int]:
    character, behind = _met(error)
    return character or _REPLACEMENT, behind


def _met(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return _WIDER[error.encoding](error.object, error.start, error.end)


codecs.register_error(_STRICT, _strict)
codecs.register_error(_REPLACE, _replaced)
