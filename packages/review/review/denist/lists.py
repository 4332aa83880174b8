"""Lists of hashes, read in pieces: memory does not grow with a list.

Text has one hash on each line, MD5, SHA-1 or SHA-256 in hexadecimal, first in the line: the output of md5sum and
similar programs, with a backslash before the hash if the name has one or a line break, and NSRL's RDS 2 `NSRLFile.txt`,
whose first column is SHA-1. SQLite is NSRL's RDS 3 (NIST, "RDSv3 format", 2022): its table METADATA, or FILE, has a
column sha256."""

from __future__ import annotations

import enum
import hashlib
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from core.errors import UsageError, read_problem

BLOCK_BYTES = 16_000_000
LONGEST_LINE = 1_000_000  # bytes; a file with longer ones is not a list
_ROWS = 100_000  # of SQLite at a time
_SQLITE = b"SQLite format 3\0"
_TABLES = ("METADATA", "FILE")
_FIRST = re.compile(rb'[ \t]*\\?"?((?:[0-9A-Fa-f]{64}|[0-9A-Fa-f]{40}|[0-9A-Fa-f]{32}))(?![0-9A-Za-z])')
_EMPTY = re.compile(
    rb'\s*(?:#.*|"?(?:sha|md)-?\d+"?\s*(?:,.*)?)?\Z', re.IGNORECASE
)  # empty, a comment, or the header of RDS 2

Digests = npt.NDArray[np.uint8]  # rows × bytes of a digest


class HashKind(enum.Enum):
    """The kind of a list's hashes, by their length in bytes."""

    MD5 = 16
    SHA1 = 20
    SHA256 = 32


@dataclass(slots=True)
class HashList:
    """A list of hashes. Counts are right once all of `pieces` was consumed."""

    path: Path
    kind: HashKind
    sqlite: bool
    hashes: int = 0
    bad: int = 0  # lines, or rows, without a hash of this kind
    first_bad: int = 0  # its number, from 1
    sha256: str = ""  # of its file, in hex
    _line: int = field(default=0, repr=False)

    def pieces(self) -> Iterator[Digests]:
        """Yield all hashes, in pieces. Raises UsageError if the list cannot be read, or has no hash."""
        self.hashes = self.bad = self.first_bad = self._line = 0
        state = hashlib.sha256()
        try:
            for piece in self._rows() if self.sqlite else map(self._parsed, _blocks(self.path, state.update)):
                self.hashes += len(piece)
                yield piece
            if not self.sqlite:
                self.sha256 = state.hexdigest()
            elif not self.sha256:  # its rows were read, and not its bytes
                with self.path.open("rb") as file:
                    self.sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        except (OSError, sqlite3.Error) as error:
            raise UsageError(f"{read_problem(self.path, error)}; give a list of hashes") from error
        if not self.hashes:
            raise UsageError(f"{self.path} contains no hash")

    def _rows(self) -> Iterator[Digests]:
        with closing(_opened(self.path)) as database:
            table, column = _column(database, self.path)
            cursor = database.execute(f'SELECT "{column}" FROM "{table}"')
            while rows := cursor.fetchmany(_ROWS):
                lines = b"".join(f"{value}\n".encode("utf-8", "replace") for (value,) in rows)
                yield self._parsed(lines)

    def _parsed(self, lines: bytes) -> Digests:
        size = self.kind.value
        digests = _even(lines, size)
        if digests is None:
            return self._one_by_one(lines)
        self._line += len(digests)
        return digests

    def _one_by_one(self, lines: bytes) -> Digests:
        """Parse lines of any form."""
        digits, found = 2 * self.kind.value, []
        for line in lines.splitlines():
            self._line += 1
            match = _FIRST.match(line)
            if match is not None and len(match[1]) == digits:
                found.append(match[1])
            elif not _EMPTY.match(line):
                self.bad += 1
                self.first_bad = self.first_bad or self._line
        return np.frombuffer(bytes.fromhex(b"".join(found).decode("ascii")), np.uint8).reshape(-1, self.kind.value)


def hash_list(path: Path) -> HashList:
    """Open the list, with the kind of its first hash. Raises UsageError if it has none, or cannot be read."""
    try:
        with path.open("rb") as file:
            sqlite = file.read(len(_SQLITE)) == _SQLITE
        if sqlite:
            with closing(_opened(path)) as database:
                return HashList(path, HashKind[_column(database, path)[1].upper()], sqlite=True)
        for block in _blocks(path):
            for line in block.splitlines():
                if match := _FIRST.match(line):
                    return HashList(path, HashKind(len(match[1]) // 2), sqlite=False)
    except (OSError, sqlite3.Error) as error:
        raise UsageError(f"{read_problem(path, error)}; give a list of hashes") from error
    raise UsageError(f"{path} contains no hash; each line must begin with an MD5, SHA-1 or SHA-256 in hexadecimal")


def _blocks(path: Path, read: Callable[[bytes], object] = bytes) -> Iterator[bytes]:
    """Yield the file in whole lines, without a byte order mark; `read` is called with all bytes read."""
    with path.open("rb") as file:
        rest = file.read(3)
        read(rest)
        rest = b"" if rest == b"\xef\xbb\xbf" else rest
        while block := file.read(BLOCK_BYTES):
            read(block)
            end = block.rfind(b"\n") + 1
            if end:
                yield rest + block[:end]
                rest = block[end:]
            else:
                rest += block
            if len(rest) > LONGEST_LINE:
                raise UsageError(f"{path} has a line of more than {LONGEST_LINE:,} bytes: it is not a list of hashes")
        if rest:
            yield rest


def _even(lines: bytes, size: int) -> Digests | None:
    """Parse lines that contain only a hash, with equal line ends; None for others. Ten times as fast as one by one."""
    for end in (b"\n", b"\r\n"):
        width = 2 * size + len(end)
        if len(lines) % width:
            continue
        table = np.frombuffer(lines, np.uint8).reshape(-1, width)
        if not bool((table[:, 2 * size :] == np.frombuffer(end, np.uint8)).all()):
            continue
        try:
            digests = bytes.fromhex(table[:, : 2 * size].tobytes().decode("ascii"))
        except ValueError:  # UnicodeDecodeError is one
            continue
        if len(digests) == size * len(table):  # `fromhex` skips white space within a line
            return np.frombuffer(digests, np.uint8).reshape(-1, size)
    return None


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(os.fsencode(path.absolute()))}?mode=ro&immutable=1", uri=True)


def _column(database: sqlite3.Connection, path: Path) -> tuple[str, str]:
    """Return table and column of the best available hash."""
    for table in _TABLES:
        columns = {str(row[1]).lower() for row in database.execute(f'PRAGMA table_info("{table}")')}
        for column in ("sha256", "sha1", "md5"):
            if column in columns:
                return table, column
    raise UsageError(f"{path} has neither a table METADATA nor FILE with a column sha256, sha1 or md5 (NSRL RDS 3)")


class DigestSet:
    """Digests of one length in which lists are looked up, numbered in the given order; equal ones may occur several
    times. A digest of zeros means none and is never found.

    It is sorted by the first eight bytes as a number: a CPU looks up ten million in a second or two. All digests that begin
    with these bytes are then compared whole. A list is neither sorted nor stored."""

    def __init__(self, digests: Digests) -> None:
        heads = _heads(digests)
        self._order = np.argsort(heads, kind="stable")
        self._heads = heads[self._order]
        self._digests = digests[self._order]
        self._found = np.zeros(len(digests), bool)

    def look_up(self, piece: Digests) -> None:
        """Mark the digests that are in this piece of a list."""
        if not len(self._heads) or not len(piece):
            return
        heads = _heads(piece)
        at = np.searchsorted(self._heads, heads)
        rows = np.arange(len(piece))
        while True:
            there = at < len(self._heads)
            there[there] = self._heads[at[there]] == heads[rows[there]]
            at, rows = at[there], rows[there]
            if not len(at):
                return
            equal = (self._digests[at] == piece[rows]).all(axis=1)
            self._found[at[equal]] = True
            at = at + 1  # the next may begin alike, or be equal

    def found(self) -> npt.NDArray[np.bool_]:
        """Return, for each digest in the given order, whether it was in any piece so far."""
        out = np.zeros(len(self._found), bool)
        out[self._order] = self._found & self._digests.any(axis=1)
        return out


def _heads(digests: Digests) -> npt.NDArray[np.uint64]:
    return np.ascontiguousarray(digests[:, :8]).view(">u8").reshape(-1).astype(np.uint64)
