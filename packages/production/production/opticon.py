"""Opticon load files (OPT): write ours, and read those of any program, as the format defines them. One line for each
page: page id, volume, path, Y at the start of a document, folder, box, and its page count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import UsageError, reading_errors


def lines(volume: str, pages: Sequence[tuple[str, str]]) -> bytes:
    """Return the lines of one item's pages: id (its Bates number) and path with slashes. Our numbers and paths contain
    no comma."""
    out = []
    for number, (page, path) in enumerate(pages):
        backslashed = path.replace("/", "\\")
        begins = ("Y", "", "", str(len(pages))) if number == 0 else ("", "", "", "")
        out.append(",".join((page, volume, backslashed, *begins)) + "\r\n")
    return "".join(out).encode()


_LONGEST = 1_000_000  # characters of a line
_VALUES = 7  # page id, volume, path, Y where a document begins, Y for folder and box, pages of the document


@dataclass(frozen=True, slots=True)
class Page:
    """One line of an Opticon file."""

    id: str
    volume: str
    path: str
    begins: bool
    count: str  # of the document's pages, on its first line; may be empty


def read_opt(path: Path) -> Iterator[tuple[str, list[Page]]]:
    """Yield the id of each document's first page, and its pages. A document begins at the first line, and at each line
    that is marked so. Raises UsageError."""
    document: list[Page] = []
    for page in _pages(path):
        if page.begins and document:
            yield document[0].id, document
            document = []
        document.append(page)
    if document:
        yield document[0].id, document


def _pages(path: Path) -> Iterator[Page]:
    with reading_errors(path), path.open(encoding="utf-8-sig", errors="backslashreplace", newline="") as file:
        number = 0
        while line := file.readline(_LONGEST):
            number += 1
            if line.strip("\r\n"):
                yield _page(path, number, line.rstrip("\r\n"))


def _page(path: Path, number: int, line: str) -> Page:
    values = [value.strip() for value in line.split(",")]
    if len(values) != _VALUES or "\0" in line:
        what = "is UTF-16 or not text" if "\0" in line else f"has {len(values)} values, but a page has {_VALUES}"
        raise UsageError(f"{path}, line {number:,}, {what}")
    begins = values[3].upper()
    if begins not in ("", "Y") or not values[0]:
        what = "has no page id" if not values[0] else f"has {values[3][:40]!r} instead of Y or nothing"
        raise UsageError(f"{path}, line {number:,}, {what}")
    return Page(id=values[0], volume=values[1], path=values[2], begins=begins == "Y", count=values[6])
