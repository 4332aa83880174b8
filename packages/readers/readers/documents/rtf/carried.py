"""Objects and pictures: the position of their bytes in the RTF, and their type."""

from __future__ import annotations

from dataclasses import dataclass

from readers.documents.rtf import words
from readers.documents.rtf.groups import TOKEN, group_end

_NOT_HEX = bytes(c for c in range(256) if c not in b"0123456789abcdefABCDEF")


@dataclass(slots=True)
class Carried:
    """An object or picture: the position of its group's content in the bytes."""

    kind: bytes  # "object", or the extension of a picture
    start: int
    stop: int
    rendering: bool = False  # stands for an object or for another picture


def payload(data: bytes, carried: Carried) -> tuple[bytes, bytes]:
    """(the last picture format named, the bytes) of an object or a picture: its hexadecimal digits and \\bin bytes, in order."""
    digits, out, kinds = list[bytes](), list[bytes](), [b""]
    at = carried.start
    while 0 <= at < carried.stop:
        at = _payload_tokens(data, at, carried.stop, digits, out, kinds)
    out.append(_decoded(digits))
    return kinds[-1], b"".join(out)


def _decoded(digits: list[bytes]) -> bytes:
    text = b"".join(digits).translate(None, _NOT_HEX)
    digits.clear()
    return bytes.fromhex(text[: len(text) & ~1].decode("ascii"))


def _payload_tokens(data: bytes, at: int, stop: int, digits: list[bytes], out: list[bytes], kinds: list[bytes]) -> int:
    """Collects digits, \\bin bytes and formats of a group, its inner groups left out; returns where to continue, or
    -1."""
    for token in TOKEN.finditer(data, at, stop):
        if token.lastindex == 6:
            digits.append(token[6])
        elif token[1] == b"bin":
            length = max(0, int(token[2] or b"0"))
            if length:  # some write the word without a number, and digits behind it
                out += (_decoded(digits), data[token.end() : min(stop, token.end() + length)])
            return token.end() + length
        elif token[1] in words.PICTURES:
            kinds.append(words.PICTURES[token[1]])
        elif token[5] == b"{":
            return group_end(data, token.end()) + 1
    return -1
