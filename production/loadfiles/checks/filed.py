"""The files that `hashes.csv` has of each record, and whether they are there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from core.errors import UsageError
from production.loadfiles.reading import inside, read_csv, regular

KINDS = (NATIVE, TEXT, IMAGE) = ("native", "text", "image")
_COLUMNS = ("path", "bytes", "md5", "sha256", "begin", "kind", "page")
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Filed:
    """One file, in the list's own words."""

    path: str  # relative to the production, with slashes
    bytes: str
    md5: str
    sha256: str
    kind: str
    page: str  # of an image, from 1


def read_filed(listed: Path) -> Iterator[tuple[str, list[Filed]]]:
    """The number of each record that has files, and these. Raises UsageError."""
    for begin, rows in groupby(_rows(listed), key=lambda row: row["begin"] or ""):
        yield begin, [Filed(**{name: row[name] or "" for name in _COLUMNS if name != "begin"}) for row in rows]


def _rows(listed: Path) -> Iterator[Mapping[str, str]]:
    for number, row in enumerate(read_csv(listed)):
        if number == 0 and (lacking := [name for name in _COLUMNS if name not in row]):
            raise UsageError(f"{listed} has no column {', '.join(lacking)}")
        yield row


def wrong(root: Path, file: Filed, listed: str) -> str | None:
    """Why a file is not what the list says; None where it is. The whole of it is read."""
    found = inside(root, file.path)
    if found is None:
        return f"{listed}: {file.path!r} is outside the production"
    read = _read(found)
    if read is None:
        return f"{file.path}: missing"
    size, md5, sha256 = read
    if (md5, sha256) != (file.md5, file.sha256):
        return f"{file.path}: its hash differs from {listed}"
    if str(size) != file.bytes:
        return f"{file.path}: it has {size:,} bytes, {listed} has {file.bytes or 'no size'}"
    return None


def _read(path: Path) -> tuple[int, str, str] | None:
    """Bytes, MD5 and SHA-256; None where nothing can be read."""
    size, md5, sha256 = 0, hashlib.md5(usedforsecurity=False), hashlib.sha256()
    if not regular(path):
        return None
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                size += len(chunk)
                md5.update(chunk)
                sha256.update(chunk)
    except OSError:
        return None
    return size, md5.hexdigest(), sha256.hexdigest()
