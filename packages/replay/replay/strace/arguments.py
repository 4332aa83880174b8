"""The arguments of a system call, in its parentheses, and its result, after the equals sign."""

from __future__ import annotations

import errno
import re
from typing import NamedTuple

AT_FDCWD = -100
_TOO_LARGE = 1 << 60
_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"(?:\.\.\.)?|<(?:[^<>]|<[^<>]*>)*>|/\*.*?\*/|[{\[(]|[}\])]|, |[^"{}\[\](),/<]+|.', re.DOTALL
)
_ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|([0-7]{1,3})|(.))", re.DOTALL)
_NAMED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"v": b"\v", b"f": b"\f", b"a": b"\a", b"b": b"\b", b"e": b"\x1b"}
_DESCRIPTOR = re.compile(r"(-?\d+|AT_FDCWD)(?:<(.*)>)?", re.DOTALL)
_KIND = re.compile(r"stx?_mode=S_IF(\w+)")
_SIZE = re.compile(r"stx?_size=(\d{1,18})(?!\d)")
_FAILED = re.compile(r"-1 (E\w+)")


def split(text: str) -> list[str]:
    """Split the arguments at commas outside strings, structures and the paths of -y."""
    out: list[str] = []
    depth = 0
    current = ""
    for token in _TOKEN.findall(text):
        if token == ", " and depth == 0:
            out.append(current)
            current = ""
            continue
        if token in ("{", "[", "("):
            depth += 1
        elif token in ("}", "]", ")"):
            depth -= 1
        current += token
    if current:
        out.append(current)
    return out


def path(argument: str) -> bytes | None:
    """Return the bytes of a string in C's notation; None for anything else, and for one that was cut short."""
    if len(argument) < 2 or argument[0] != '"' or argument[-1] != '"':
        return None
    return _unescaped(argument[1:-1])


def _unescaped(text: str) -> bytes:
    raw = text.encode("latin-1")
    return _ESCAPE.sub(_one_escape, raw) if b"\\" in raw else raw


def _one_escape(match: re.Match[bytes]) -> bytes:
    if match[1]:
        return bytes((int(match[1], 16),))
    if match[2]:
        return bytes((int(match[2], 8) & 0xFF,))
    return _NAMED.get(match[3], match[3])


class Descriptor(NamedTuple):
    """A file descriptor as an argument or a result; -y adds its target."""

    number: int
    target: bytes | None  # a path, `pipe:[123]` …; None without -y


def descriptor(text: str) -> Descriptor | None:
    """Return the descriptor, -100 for AT_FDCWD; None if it is not one."""
    match = _DESCRIPTOR.match(text)
    if match is None:
        return None
    value = AT_FDCWD if match[1] == "AT_FDCWD" else int(match[1])
    target = None if match[2] is None else _unescaped(match[2].partition("<")[0])
    return Descriptor(value, target)


def file_path(target: bytes | None) -> bytes | None:
    """Return the target of -y if it is a path."""
    if target is None or not target.startswith(b"/"):
        return None
    return target.removesuffix(b" (deleted)").removesuffix(b"(deleted)")


def flags(argument: str) -> frozenset[str]:
    """Return `O_WRONLY|O_CREAT` as a set."""
    return frozenset(argument.split("|"))


def number(text: str) -> int | None:
    """Return a number in decimal or hexadecimal, or the first of `[123] => [456]`; None for NULL and for values that
    are not offsets."""
    text = text.strip("[").split("]", 1)[0].split(" ", 1)[0]
    try:
        value = int(text, 16) if text.startswith("0x") else int(text)
    except ValueError:
        return None
    return value if abs(value) < _TOO_LARGE else None


def returned(result: str) -> int | None:
    """Return the result of the call; None if it did not return (`?`)."""
    match = _DESCRIPTOR.match(result)
    return number(result if match is None or result.startswith("0x") else match[1])


def failure(result: str) -> int:
    """Return the errno of a call that failed, else 0; EIO for one that this system does not know."""
    match = _FAILED.match(result)
    return 0 if match is None else int(getattr(errno, match[1], errno.EIO))


def mode_and_size(text: str) -> tuple[str, int | None]:
    """Return the kind in a stat structure, `REG`, `DIR`, `LNK` … ("" if it has none), and the size."""
    kind, size = _KIND.search(text), _SIZE.search(text)
    return kind[1] if kind else "", int(size[1]) if size else None
