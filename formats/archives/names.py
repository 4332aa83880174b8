"""Names of members in archives whose format does not say which charset they are in (tar, cpio, ar, RAR 4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from formats.base import Child
from formats.charset_guess import guess, reads

_MOST = 500  # names that are looked at together


def shown(children: Iterable[Child]) -> Iterator[Child]:
    """The same children; names that are no UTF-8 are shown in what those that came so far are surely in, and so is the
    first of them. What nothing is sure of stays as it is: bytes that no charset was found for."""
    names: list[bytes] = []
    charset = ""
    for child in children:
        if child.shown is None and not _is_utf8(child.name):
            if len(names) < _MOST:
                names.append(child.name)
                charset = _charset(names) or charset
            if charset and reads(child.name, charset):
                child.shown = child.name.decode(charset, "replace")
        yield child


def _charset(names: list[bytes]) -> str:
    found = guess(b"\n".join(names))
    return found.codec if found.sure else ""


def _is_utf8(name: bytes) -> bool:
    if name.isascii():
        return True
    try:
        name.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
