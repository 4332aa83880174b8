"""Opticon OPT: a line a page: page id, volume, path, Y where a document begins, folder, box, and its page count."""

from __future__ import annotations

from collections.abc import Sequence


def lines(volume: str, pages: Sequence[tuple[str, str]]) -> bytes:
    """The pages of one item: id (its Bates number) and path with slashes. Numbers and paths of ours hold no comma."""
    out = []
    for number, (page, path) in enumerate(pages):
        backslashed = path.replace("/", "\\")
        begins = ("Y", "", "", str(len(pages))) if number == 0 else ("", "", "", "")
        out.append(",".join((page, volume, backslashed, *begins)) + "\r\n")
    return "".join(out).encode()
