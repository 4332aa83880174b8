"""readers.mail.mbox.handler: messages by their From_ lines, whole and by ranges, in constant memory."""

import io
import itertools
import mailbox
import tracemalloc
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.records import Limits
from readers.base import MemorySource, Part
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.mail.eml import EmlHandler
from readers.mail.mbox.handler import MboxHandler
from readers.records import TextState

HANDLER = MboxHandler()
LIMITS = Limits()
FROM = b"From a@b.example Mon Jan  1 00:00:00 2024"


def read(data: bytes, limits: Limits = LIMITS, part: Part | None = None) -> list[tuple[int, bytes]]:
    found = []
    for child in HANDLER.children(MemorySource(b"x.mbox", data), limits, part):
        assert child.name == b"message@%d" % child.ordinal
        body = child.data if child.data is not None else child.stream.read()  # type: ignore[union-attr]
        found.append((child.ordinal, body))
    return found


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_messages_are_what_lies_between(newline: bytes) -> None:
    one, two = b"Subject: 1\n\nfirst\n\n", b"Subject: 2\n\n>From quoted\nlast line\n"
    data = (FROM + b"\n" + one + b"\n" + FROM + b"\n" + two + b"\n").replace(b"\n", newline)
    second = data.index(FROM, 1)
    assert read(data) == [(0, one.replace(b"\n", newline)), (second, two.replace(b"\n", newline))]


def test_carriage_returns_alone_are_line_ends() -> None:
    one, two = b"Subject: 1\n\nfirst\n", b"Subject: 2\n\nlast line\n"
    data = FROM + b"\n" + one + b"\n" + FROM + b"\n" + two + b"\n"
    mac, second = data.replace(b"\n", b"\r"), data.index(FROM, 1)
    assert read(mac) == [(0, one), (second, two)]
    assert read(mac, Limits(parse_bytes=8)) == [(0, one), (second, two)]
    assert read(mac, part=Part(start=5, stop=len(mac))) == [(second, two)]
    assert identify(MemorySource(b"x", mac)) == "application/mbox"
    assert identify(MemorySource(b"x", (b"From: a@b.c\n" + one).replace(b"\n", b"\r"))) == "message/rfc822"


def test_the_end_of_the_file_need_not_be_blank() -> None:
    assert read(FROM + b"\nSubject: 1\n\ntext\n") == [(0, b"Subject: 1\n\ntext\n")]
    assert read(FROM + b"\nSubject: 1\n\ntext") == [(0, b"Subject: 1\n\ntext")]
    assert read(FROM) == [(0, b"")]


@pytest.mark.parametrize(
    "line",
    [
        b"From the 3 of us, with love",
        b"From Russia with love\nYear: 1963",
        b"From January 2019 on it was so",
        b"From 12:30 there is lunch",
        b"From 10:30 on 5 March 2024 the office is closed",
        b"From 5 Mar 2024 10:30 on, the office is closed",
        FROM + b" said these words",
        b"From john@example.org",
        b"From January 2019:\nNote: prose",
        b"From " + b"x" * 5000 + b" 12:30:00 2024",
        b">" + FROM,
    ],
)
def test_body_text_does_not_split(line: bytes) -> None:
    body = b"Subject: 1\n\nHello\n\n" + line + b"\nmore\n"
    assert read(FROM + b"\n" + body) == [(0, body)]


def test_a_from_line_inside_a_paragraph_does_not_split() -> None:
    body = b"Subject: 1\n\nHello\n" + FROM + b"\nmore\n"
    assert read(FROM + b"\n" + body) == [(0, body)]
    sloppy = FROM + b"\nSubject: 1\n\nHello\n" + FROM + b"\nSubject: 2\n\nBye\n"
    assert [body for _, body in read(sloppy)] == [b"Subject: 1\n\nHello\n", b"Subject: 2\n\nBye\n"]


@pytest.mark.parametrize(
    "line",
    [
        b"From - Tue Mar 05 10:11:12 2024",
        b"From ???@??? Tue Mar 05 10:11:12 2024",
        b"From a@b.example Tue, 5 Mar 2024 10:11:12 +0100 (CET)",
        b"From a@b.example Tue Mar  5 10:11:12 MET DST 2024",
        b"From a@b.example Tue Mar  5 10:11 2024 remote from host",
        b"From Ann B. Example Tue Mar  5 10:11:12 +0100 2024",
        b"From a@b.example mar. mars 5 10:11:12 2024",
    ],
)
def test_dates_of_the_from_line(line: bytes) -> None:
    message = line + b"\nX-Own: 1\nX-Other: 2\n\nx\n\n"
    assert len(read(message * 3)) == 3


@pytest.mark.parametrize(
    "line",
    [b"From - ", b"From 1844347792267117879@xxx", b"From a@b.example 2024-01-01", b"From MAILER-DAEMON 12:30:00"],
)
def test_variants_of_the_from_line(line: bytes) -> None:
    """Mozilla, Google Takeout and others write less than RFC 4155 asks for."""
    message = line + b"\nFrom: a@b.example\n\nx\n\n"
    assert len(read(message * 3)) == 3


def test_byte_order_mark_and_leading_blank_line() -> None:
    message = FROM + b"\nSubject: 1\n\nx\n"
    assert read(b"\xef\xbb\xbf" + message) == [(3, b"Subject: 1\n\nx\n")]
    assert read(b"\n" + message) == [(1, b"Subject: 1\n\nx\n")]


@pytest.mark.parametrize("marks", [b"> ", b">>", b">"])
@pytest.mark.parametrize("front", [b"", b"\xef\xbb\xbf", b"\n\n"])
def test_a_store_that_was_quoted(front: bytes, marks: bytes) -> None:
    bodies = [b"Subject: %d\nTo: a@b.example\n\nx\n>From here on\n" % number for number in range(2)]
    one, two = (mark.strip() + FROM + b"\n" + body for mark, body in zip((b">", marks[1:]), bodies, strict=True))
    data = front + one + b"\n" + two
    assert identify(MemorySource(b"x.mbox", data)) == "application/mbox"
    assert read(data) == [(len(front), bodies[0]), (len(front) + len(one) + 1, bodies[1])]
    assert len(read(data, part=Part(start=len(front) + 10, stop=len(data)))) == 1
    assert identify(MemorySource(b"x.eml", one)) == "message/rfc822"
    assert identify(MemorySource(b"x", one), "message/rfc822") == "message/rfc822"
    assert len(read(FROM + b"\n" + bodies[0] + b"\n>" + FROM + b"\n" + bodies[1])) == 1


def test_no_from_line_is_corrupt() -> None:
    """A file that holds no message says so instead of being an empty container."""
    with pytest.raises(DocumentError, match=r"^corrupt:"):
        read(b"nothing of the kind\n")


def test_a_container_has_no_text() -> None:
    assert HANDLER.text(MemorySource(b"", FROM), LIMITS).state is TextState.EMPTY
    assert HANDLER.announced(MemorySource(b"", FROM)) is None


def test_content_length_states_where_a_message_ends() -> None:
    """Where a From_ line or the end of the file is there; else it is wrong, as after a change of line ends."""
    body = b"Hello\n\n" + FROM + b"\nSubject: not a message\nX: y\n\ninner\n"
    one = b"Subject: 1\nContent-Length: %d\n\n"
    two = FROM + b"\nSubject: 2\n\nBye\n"
    assert [found for _, found in read(FROM + b"\n" + one % len(body) + body + b"\n" + two)] == [
        one % len(body) + body,
        b"Subject: 2\n\nBye\n",
    ]
    assert len(read(FROM + b"\n" + one % len(body) + body)) == 1
    for wrong in (len(body) - 3, len(body) + 9, 10**9, 0):
        assert len(read(FROM + b"\n" + one % wrong + body + b"\n" + two)) == 3


OPEN = (
    b"Received: by a\n" * 1_500
    + b"Subject: 1\nContent-Type: multipart/mixed; boundary=bb\n\n--bb\n\nintro\n--bb\nContent-Type: text/x-patch\n\n"
)
PATCH = b"From 1234567890abcdef1234567890abcdef12345678 Mon Sep 17 00:00:00 2001\nFrom: J <j@x>\nSubject: fix\n\n--- a.c\n\n"


@pytest.mark.parametrize("patches", [1, 3])
def test_a_from_line_in_an_open_multipart_is_inside(patches: int) -> None:
    whole = OPEN + PATCH * patches + b"--bb--\n"
    two = FROM + b"\nSubject: 2\n\nBye\n"
    assert [found for _, found in read(FROM + b"\n" + whole + b"\n" + two)] == [whole, b"Subject: 2\n\nBye\n"]
    cut = FROM + b"\n" + OPEN + b"cut\n\n"
    assert len(read(cut + two)) == 2
    assert len(read(cut + FROM + b"\n" + whole + b"\n" + two)) == 3
    assert identify(MemorySource(b"0001.patch", PATCH)) == "text/plain"
    assert identify(MemorySource(b"patches.mbox", PATCH)) == "application/mbox"


LINES = st.sampled_from(
    [
        b"Content-Length: 60",
        b"Content-Type: multipart/mixed; boundary=bb",
        b"--bb",
        b"--bb--",
        FROM + b"\nContent-Length: 20\n\n",
        FROM + b"\nContent-Type: multipart/mixed; boundary=bb\n\n--bb\n",
        b"",
        b"",
        FROM,
        b"From - ",
        b"Subject: x",
        b"text",
        b"From here",
        b"X" * 3000,
        b"\r",
        b"From a@b 12:30",
        b">From x",
    ]
)


@given(st.lists(LINES, max_size=40), st.integers(1, 4000), st.sampled_from([1, 40, 5000, 1 << 30]))
def test_ranges_give_every_message_once(lines: list[bytes], target: int, limit: int) -> None:
    data = FROM + b"\n" + b"\n".join(lines)
    limits = Limits(parse_bytes=limit)
    whole = read(data)
    parts = HANDLER.parts(MemorySource(b"", data), target)
    together = [found for part in parts for found in read(data, limits, part)] if parts else read(data, limits)
    assert together == whole
    if parts:
        assert (parts[0].start, parts[-1].stop) == (0, len(data))
        assert all(a.stop == b.start for a, b in itertools.pairwise(parts))
    ends = [offset for offset, _ in whole[1:]] + [len(data)]
    assert whole[0][0] == 0
    for (offset, body), end in zip(whole, ends, strict=True):
        assert end - offset - len(body) <= data[offset:].find(b"\n") % (len(data) + 2) + 3


def test_agrees_with_the_standard_library(tmp_path: Path) -> None:
    path = tmp_path / "x.mbox"
    box = mailbox.mbox(path)
    for i in range(50):
        box.add(f"From: a@b.example\nSubject: {i}\n\nFrom me\n\nFrom you\n" + "line\n" * i)
    box.flush()
    data = path.read_bytes()
    assert [body for _, body in read(data)] == [box.get_bytes(i) for i in range(50)]


class Repeated:
    """A large mbox that exists in pieces only: one message over and over, then a huge one."""

    def __init__(self, message: bytes, count: int, huge: int) -> None:
        self._message, self._count, self._huge = message, count, huge
        self.name = b"big.mbox"
        self.size = len(message) * count + len(FROM) + 2 + huge
        self.head = message

    def open(self) -> BinaryIO:
        return io.BufferedReader(_RepeatedFile(self._message, self._count, self._huge, self.size), 1 << 16)

    def whole(self, limit: int) -> bytes:
        raise DocumentError(ExceptionCode.TOO_LARGE, "must not be read whole")


class _RepeatedFile(io.RawIOBase):
    def __init__(self, message: bytes, count: int, huge: int, size: int) -> None:
        super().__init__()
        self._unit, self._count, self._huge, self._size, self._at = message, count, huge, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset if whence == 0 else self._size + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        boundary = len(self._unit) * self._count
        if self._at < boundary:
            inside = self._at % len(self._unit)
            data = (self._unit * (len(view) // len(self._unit) + 2))[
                inside : inside + min(len(view), boundary - self._at)
            ]
        else:
            front = FROM + b"\n\n"
            inside = self._at - boundary
            data = (
                front[inside : inside + len(view)]
                if inside < len(front)
                else b"y" * min(len(view), self._size - self._at)
            )
        view[: len(data)] = data
        self._at += len(data)
        return len(data)


def test_memory_stays_constant() -> None:
    """A 90 MB mbox whose last message is larger than the parse limit is read with a few MB of memory."""
    message = FROM + b"\nSubject: x\n\n" + b"some text of a line\n" * 500 + b"\n"
    source = Repeated(message, 3_000, 60_000_000)
    tracemalloc.start()
    count = streamed = 0
    for child in HANDLER.children(source, Limits(parse_bytes=4_000_000)):
        count += 1
        if child.stream is not None:
            assert child.size_hint == 60_000_001
            while piece := child.stream.read(1 << 20):
                streamed += len(piece)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (count, streamed) == (3_001, 60_000_001)
    assert peak < 40_000_000


def test_a_separator_without_sender_and_date() -> None:
    """As Thunderbird writes it, in front of a header; in front of prose it is none."""
    one, two = b"Subject: 1\n\nfirst\n", b"X-Mozilla-Status: 0001\nSubject: 2\n\nlast\n"
    data = FROM + b"\n" + one + b"\nFrom \n" + two
    assert read(data) == [(0, one), (data.index(b"From \n"), two)]
    assert len(read(FROM + b"\n" + one + b"\nFrom \nnow on\n")) == 1


def test_what_lacks_a_header_is_declared_a_message() -> None:
    data = FROM + b"\nSubject: 1\n\nDear\n\n" + FROM + b"\n\nwordsafter\n"
    found = list(HANDLER.children(MemorySource(b"x.mbox", data), LIMITS))
    assert [child.media_type for child in found] == ["message/rfc822"] * 2
    source = MemorySource(found[1].name, found[1].data or b"")
    assert identify(source, found[1].media_type) == "message/rfc822"
    assert EmlHandler().text(source, LIMITS).error is not None
