"""Mail stores in mbox format (RFC 4155), read in one pass or by byte ranges, in constant memory.

A message is what is between its From_ line and the next one (`from_line` decides what counts as one, `inside` whether
it is in a message), without the blank line that ends it; ">From " quoting is left as stored, because undoing it would
guess. In a store whose first From_ line is quoted, because a mail program took the store for a message, quoted lines
start messages too. A message belongs to the range that holds the first byte of its From_ line; where a range begins,
the messages before it are looked at as far back as `_LOOK_BACK`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, cast

from readers.base import Child, ContainerHandler, Declared, Part, Source
from readers.errors import corrupt
from readers.mail.mbox.from_line import LOOK_AHEAD, MAX_FROM_LINE, is_quoted, starts_message
from readers.records import Kind, Limits
from readers.streams import RangeStream

# The end of a message in an mbox according to its header, so that a From_ line inside it does not begin another
# message: mail with patches attached, stores that quote nothing (mboxcl2).

HEADER = 1 << 16  # bytes of a header that are examined
_LENGTH = re.compile(rb"^content-length[ \t]*:[ \t]*(\d{1,15})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_BOUNDARY = re.compile(rb"oundary[ \t]*=[ \t]*(?:\"([^\"\r\n]{1,200})\"|([^\s;\"]{1,200}))")
_DECLARED = re.compile(rb"boundary[^\n]{0,20}\Z", re.IGNORECASE)
_NAMED = 30  # bytes in front of a boundary in which it is declared


class Claims(NamedTuple):
    """A message's length from its From_ line, by its Content-Length; its boundary; its body's position."""

    length: int | None
    boundary: bytes
    body: int


def claims_of(window: bytes, at: int) -> Claims | None:
    """Return the claims about the end of the message whose From_ line is at `at`; None for most messages."""
    limit = at + HEADER
    end = window.find(b"\n\n", at, limit)
    other = window.find(b"\n\r\n", at, limit if end < 0 else end)
    if end < 0 and other < 0:
        return None
    body = other + 3 if other >= 0 else end + 2
    multipart, length = window.find(b"ultipart/", at, body), window.find(b"ength:", at, body)
    declared = _BOUNDARY.search(window, multipart, body) if multipart >= 0 else None
    announced = _LENGTH.search(window, at, body) if length >= 0 else None
    if declared is None and announced is None:
        return None
    boundary = (declared[1] or declared[2]).rstrip() if declared else b""
    return Claims(body - at + int(announced[1]) if announced else None, boundary, body - at)


def ends_at(around: bytes) -> bool:
    """Return whether a message ends after the first of these bytes."""
    rest = around.lstrip(b"\r\n")
    blank = around[: len(around) - len(rest)]
    return b"\n" in blank and (not rest or starts_message(rest, 0, after_blank=True))


def is_open(window: bytes, boundary: bytes, begin: int, end: int) -> bool:
    """Return whether the multipart is opened in this range, and not closed."""
    delimiter = b"\n--" + boundary
    return window.rfind(delimiter + b"--", begin, end) < 0 and window.find(delimiter, begin, end) >= 0


def next_delimiter(window: bytes, boundary: bytes, at: int, end: int) -> int:
    """Return the next delimiter, or -1, also if the boundary is declared again before, by a copy."""
    while (at := window.find(boundary, at, end)) >= 0:
        if window.startswith(b"\n--", at - 3):
            return at
        if _DECLARED.search(window, max(0, at - _NAMED), at):
            return -1
        at += len(boundary)
    return -1


_READ = 1 << 20
_LOOK_BACK = 1 << 20  # bytes before a range in which messages that reach into it may begin
_FORWARD = 1 << 20  # bytes in which an open multipart has its next delimiter
_MOST_DOUBTS = 1_000  # messages of a range with a multipart that is open and has no further delimiter
_BEFORE = 3  # bytes in front of a line that show whether a blank line is there
_BOM = b"\xef\xbb\xbf"


class MboxHandler(ContainerHandler):
    """A mail store; its messages are its children, named `message@<offset>`."""

    name = "mbox"
    splits = True
    declared = Declared(
        title="Mail stores in mbox format",
        extensions=("mbox", "mbx"),
        children="messages in order, named by their offset; from one From_ line to the next",
        leaves_out=(
            "`>From ` quoting is left as it is",
            "carriage returns of a store whose lines end in carriage return only: its messages have line feeds",
            "folder indexes that mail programs store next to it",
        ),
    ).alone()

    def parts(self, source: Source, target_bytes: int) -> list[Part]:
        """Return even byte ranges, without reading the file."""
        count = -(-source.size // max(1, target_bytes))
        if count < 2:
            return []
        cuts = [source.size * i // count for i in range(count + 1)]
        return [Part(start=a, stop=b) for a, b in itertools.pairwise(cuts)]

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield the messages whose From_ line starts in the range; one over the parse limit as a stream. Raises
        DocumentError `corrupt` if a whole file has no From_ line."""
        start, stop = (part.start, part.stop) if part else (0, source.size)
        found = False
        lines_end_in_cr = b"\r" in source.head and b"\n" not in source.head
        quoted = is_quoted(source.head)
        with source.open() as opened:
            file = cast(BinaryIO, _WithLineFeeds(opened)) if lines_end_in_cr else opened
            for child in _Scan(file, start, stop, limits.parse_bytes, quoted=quoted).messages():
                found = True
                yield child
        if not found and start == 0 and stop >= source.size:
            raise corrupt("no From_ line in the mbox")


class _WithLineFeeds:
    """A Macintosh file, whose lines end in a carriage return, with a line feed in place of each."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek = file.seek
        self.tell = file.tell

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        return self._file.read(size).replace(b"\r", b"\n")


class _Scan:
    """One pass over a file. The window contains the current message, unless that is over the limit: then only its last
    bytes are kept and only its end is searched."""

    def __init__(self, file: BinaryIO, start: int, stop: int, limit: int, *, quoted: bool) -> None:
        self._file = file
        self._quoted = quoted  # `>From ` starts messages as well
        self._start, self._stop, self._limit = start, stop, limit
        self._doubts = _MOST_DOUBTS
        self._base = max(0, start - _LOOK_BACK)  # file offset of the window's first byte
        self._window = b""
        self._ended = False

    def messages(self) -> Iterator[Child]:
        begin = self._next(self._base, first=True)
        while begin is not None and begin < self._stop:
            self._drop_before(begin)
            after = self._behind(begin)
            if begin >= self._start:
                yield self._child(begin, after if after is not None else self._base + len(self._window))
            begin = after

    def _behind(self, begin: int) -> int | None:
        """Return the offset of the next message: of the first From_ line that is not inside the one at `begin`, by its
        Content-Length or an open multipart."""
        if begin + HEADER > self._base + len(self._window) and not self._ended:
            self._read_on(begin, begin)
        claims = claims_of(self._window, begin - self._base)
        found = self._next(begin + 1, hold=begin)
        if claims is None or found is None:
            return found
        if claims.length is not None and found < (end := begin + claims.length) and self._ends_at(end):
            return self._next(end, hold=begin)
        seen = begin + claims.body - 1  # up to where the multipart is known to be open
        while found is not None and claims.boundary:
            delimiter = self._delimiter_behind(begin, claims.boundary, seen, found)
            if delimiter is None:
                break
            found, seen = self._next(delimiter, hold=begin), delimiter - 3
        return found

    def _ends_at(self, offset: int) -> bool:
        """Return whether a message ends at this offset: a From_ line follows, or the end of the file."""
        self._file.seek(offset - 1)
        return ends_at(self._file.read(LOOK_AHEAD + _BEFORE))

    def _delimiter_behind(self, begin: int, boundary: bytes, seen: int, found: int) -> int | None:
        """Return the position of a delimiter after the From_ line at `found`, if the multipart of the message at
        `begin` is open there; None if that line begins another message."""
        if self._base > begin or self._doubts <= 0:
            return None
        if not is_open(self._window, boundary, seen - self._base, found - self._base):
            return None
        while found + _FORWARD > self._base + len(self._window) and not self._ended:
            self._read_on(found, begin)
            if self._base > begin:
                return None
        at = next_delimiter(self._window, boundary, found - self._base, found - self._base + _FORWARD)
        if at >= 0:
            return self._base + at
        self._doubts -= 1
        return None

    def _child(self, begin: int, end: int) -> Child:
        name = b"message@%d" % begin
        if self._base <= begin:
            raw = self._window[begin - self._base : end - self._base]
            return Child(
                name=name, kind=Kind.MESSAGE, ordinal=begin, data=_without_frame(raw), media_type="message/rfc822"
            )
        self._file.seek(begin)
        line = self._file.read(MAX_FROM_LINE + 1)
        body = begin + line.find(b"\n") + 1 if b"\n" in line else end
        self._file.seek(max(body, end - _BEFORE))
        tail = self._file.read(end - max(body, end - _BEFORE))
        length = end - body - (len(tail) - len(_without_separator(tail)))
        return Child(
            name=name,
            kind=Kind.MESSAGE,
            ordinal=begin,
            stream=RangeStream.buffered(self._file, body, length),
            size_hint=length,
            media_type="message/rfc822",
        )

    def _next(self, at: int, *, first: bool = False, hold: int | None = None) -> int | None:
        """Return the offset of the first From_ line at or after `at`; None if there is no more. Bytes from `hold` on
        stay in the window as long as they are within the limit."""
        if first and self._at_start_of_file():
            return self._base + (3 if self._window.startswith(_BOM) else 0)
        position = at
        while True:
            index = max(0, position - self._base - 1)
            while (index := self._from_line(index)) >= 0:
                if index + 1 + LOOK_AHEAD > len(self._window) and not self._ended:
                    break
                if self._base + index + 1 >= at and self._starts(index + 1, after_blank=self._blank_before(index)):
                    return self._base + index + 1
                index += 1
            if self._ended:
                return None
            position = self._base + (index if index >= 0 else max(0, len(self._window) - 5)) + 1
            self._read_on(position, hold)

    def _at_start_of_file(self) -> bool:
        if self._base:
            return False
        self._read_on(0, 0)
        return self._starts(3 if self._window.startswith(_BOM) else 0, after_blank=True)

    def _from_line(self, index: int) -> int:
        """Return the index of the next newline before a From_ line, or -1."""
        found = self._window.find(b"\nFrom ", index)
        quoted = self._window.find(b"\n>From ", index, found if found >= 0 else None) if self._quoted else -1
        return quoted if quoted >= 0 else found

    def _starts(self, index: int, *, after_blank: bool) -> bool:
        quoted = self._quoted and self._window.startswith(b">", index)
        return starts_message(self._window, index + quoted, after_blank=after_blank)

    def _blank_before(self, newline: int) -> bool:
        """Return whether the line that this newline ends is blank."""
        before = self._window[max(0, newline - 2) : newline]
        if before.endswith(b"\r"):
            before = before[:-1]
        return before.endswith(b"\n") or (not before and self._base == 0)

    def _drop_before(self, offset: int) -> None:
        """Drop the bytes before the message at `offset`, once that is worth the copy."""
        if offset - self._base > _READ:
            self._window = self._window[offset - self._base :]
            self._base = offset

    def _read_on(self, searched: int, hold: int | None) -> None:
        """Read more, twice as much each time a held message outgrows the window."""
        keep = searched - _BEFORE - 1
        if hold is not None and self._base <= hold and self._base + len(self._window) - hold <= self._limit:
            keep = hold
        cut = max(0, min(keep - self._base, len(self._window)))
        position = self._base + len(self._window)
        wanted = max(_READ, len(self._window) - cut)
        pieces = [self._window[cut:]]
        self._file.seek(position)
        while wanted > 0:
            piece = self._file.read(_READ)
            if not piece:
                self._ended = True
                break
            pieces.append(piece)
            wanted -= len(piece)
        self._window = b"".join(pieces)
        self._base += cut


def _without_frame(raw: bytes) -> bytes:
    """Return a message without its From_ line and the blank line that ends it."""
    newline = raw.find(b"\n")
    return _without_separator(raw[newline + 1 :]) if newline >= 0 else b""


def _without_separator(body: bytes) -> bytes:
    """Remove one line end at the end, if that is a blank line."""
    if not body.endswith(b"\n"):
        return body
    rest = body[:-2] if body.endswith(b"\r\n") else body[:-1]
    return rest if not rest or rest.endswith(b"\n") else body
