"""Messages between slot and sandbox, checked as they are decoded: a sandbox that a file has taken over may send
anything.

Only plain values cross, in msgpack by msgspec: of the right types, in bounds, or `msgspec.ValidationError`. Metadata
crosses as JSON, so that it is JSON. Texts cross as UTF-8 that may hold lone surrogates, as handlers give them."""

from __future__ import annotations

import json
import os
import struct
from functools import partial
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from readers.base import Handler, LeafHandler, Part, Text, is_leaf
from readers.errors import DocumentError, ExceptionCode
from readers.records import FixedLimits, Kind, TextState

_LENGTH = struct.Struct("<Q")
MOST_BYTES = 1 << 30  # of a message; the slot's own memory limit comes before
_AT_ONCE = 4 << 20  # a larger message gets memory of its own, which the kernel clears: twice the CPU time


class Ended(Exception):
    """The other side is gone."""


class Nonsense(Exception):
    """The received data is no message."""


class Pipe:
    """One end of the connection between slot and sandbox."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer = mmap(-1, _AT_ONCE, MAP_PRIVATE | MAP_ANONYMOUS)  # only what is used of it is ever there
        self._view = memoryview(self._buffer)

    def send(self, message: bytes) -> None:
        """Send all of a message. Raises Ended."""
        try:
            written = os.writev(self._descriptor, (_LENGTH.pack(len(message)), message)) - _LENGTH.size
            if written < 0:
                raise Ended
            if written < len(message):
                rest = memoryview(message)[written:]
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Ended from error

    def receive(self) -> memoryview:
        """Return the next message, valid until the next call. Raises Ended, and Nonsense for one that is too long."""
        got = self._into(self._view, _LENGTH.size)
        (length,) = _LENGTH.unpack_from(self._buffer)
        if length > MOST_BYTES:
            raise Nonsense(f"a message of {length} bytes")
        end = _LENGTH.size + length
        if end <= _AT_ONCE:
            if got < end:
                self._into(self._view[got:end], end - got)
            elif got > end:
                raise Nonsense("more than one message")
            return self._view[_LENGTH.size : end]
        whole = memoryview(bytearray(length))
        have = got - _LENGTH.size
        whole[:have] = self._view[_LENGTH.size : got]
        self._into(whole[have:], length - have)
        return whole

    def _into(self, view: memoryview, least: int) -> int:
        """Read at least `least` bytes, and no more than fit; return how many. Neither side sends twice in a row, so
        none belong to the next message."""
        got = 0
        while got < least:
            try:
                count = os.readv(self._descriptor, (view[got:],))
            except ConnectionResetError as error:
                raise Ended from error
            if not count:
                raise Ended
            got += count
        return got


_MOST_NESTED = 32  # values within values of metadata
_I63 = (1 << 63) - 1
_MOST_COUNTED = 1 << 40  # of children and the like; their sums fit into the database's columns
_MOST_PAGES = (1 << 31) - 1
Number = Annotated[int, Meta(ge=0, le=_I63)]
Counted = Annotated[int, Meta(ge=0, le=_MOST_COUNTED)]
Key = Annotated[
    int, Meta(ge=-_I63, le=_I63)
]  # of a source: those of the slot's are above 0, those of the sandbox below
Name = Annotated[bytes, Meta(max_length=1 << 20)]
Word = Annotated[str, Meta(max_length=1 << 20)]
MediaType = Annotated[str, Meta(pattern=r"\A[!-~]{1,255}\Z")]


class Err(Struct, array_like=True):
    """A DocumentError as it is sent."""

    code: ExceptionCode
    detail: Word
    missing: Counted | None = None

    def raised(self) -> DocumentError:
        return DocumentError(self.code, self.detail, missing=self.missing)


class Ref(Struct, array_like=True):
    """A source: one the other side knows, or (`name` given) a new one, its bytes with it or read on request."""

    key: Key
    name: bytes | None = None
    data: bytes | None = None
    size: int = 0


class Range(Struct, array_like=True):
    """See readers.base.Part."""

    start: Number
    stop: Number
    announced: Counted | None
    known: bytes  # JSON

    def part(self) -> Part:
        """Return the part. Raises ValueError if it is invalid."""
        if b"\\u0000" in self.known:
            raise ValueError("a zero character in what is stored with a task")
        return Part(start=self.start, stop=self.stop, announced=self.announced, known=unpacked(self.known))


def range_of(part: Part) -> Range:
    """Return the part as it is sent."""
    return Range(part.start, part.stop, counted(part.announced), packed(part.known))


# The requests of the slot. `handler` is a name in the registry.


class Identify(Struct, array_like=True, tag=0):
    """Identify a source. With a `generator`, the answer also has what is requested next (Hashes, Children)."""

    source: Ref
    declared: str | None
    generator: int = 0


class Announced(Struct, array_like=True, tag=1):
    source: Ref
    handler: str


class Parts(Struct, array_like=True, tag=2):
    source: Ref
    handler: str
    target: int


class Children(Struct, array_like=True, tag=3):
    """Open a generator under the number that the slot chose; the answer is its first batch."""

    source: Ref
    handler: str
    part: Range | None
    generator: int


class More(Struct, array_like=True, tag=4):
    generator: int


class Pull(Struct, array_like=True, tag=5):
    """Request bytes of the stream of the last child of a generator's last batch."""

    generator: int
    size: int


class TakeText(Struct, array_like=True, tag=6):
    source: Ref
    handler: str


class Hashes(Struct, array_like=True, tag=7):
    source: Ref
    handler: str


class OpenPages(Struct, array_like=True, tag=8):
    """Open a PDF or picture whose pages are to be recognised; the answer is their number (Count)."""

    source: Ref
    media_type: str
    choice: dict[str, Any]


class Page(Struct, array_like=True, tag=9):
    number: int


class Settle(Struct, array_like=True, tag=10):
    """A request with no content but its envelope, and possibly the release of the open item."""

    pages: bool = False


class Introduce(Struct, array_like=True, tag=11):
    """List the sandbox's handlers, because the slot loads none, or its parsers and their `versions`."""

    versions: bool = False


Asked = (
    Identify | Announced | Parts | Children | More | Pull | TakeText | Hashes | OpenPages | Page | Settle | Introduce
)


class Request(Struct, array_like=True):
    """A request of the slot, with its other notices."""

    what: Asked
    forget: list[int] = []  # keys of sources
    close: list[int] = []  # generators
    limits: FixedLimits | None = None  # from now on
    bank: dict[str, int] | None = None  # passwords with their lines, from now on


# What the sandbox answers.


class Spoken(Struct, array_like=True, kw_only=True):
    """A message of the sandbox. `closed`: files of the slot's that are no longer needed."""

    closed: list[int] = []


class Failed(Spoken, tag=0):
    error: Err


class Fault(Spoken, tag=1):
    """The slot could not read what was requested, and knows why."""


class Type(Spoken, tag=2):
    media_type: MediaType
    hashes: FarHashes | None = None  # None: ask for them
    batch: Batch | None = None  # of children, the first; None: ask for it


class Count(Spoken, tag=3):
    value: Counted | None


class Ranges(Spoken, tag=4):
    parts: Annotated[list[Range], Meta(max_length=1_000_000)]


class FarChild(Struct, array_like=True):
    """See readers.base.Child. With `data` it is a source that the sandbox keeps under `key`."""

    name: Name
    kind: Kind
    ordinal: Number
    data: bytes | None
    stream: bool
    size_hint: Number | None
    error: Err | None
    emit: bool
    shown: Word | None
    occurrence: Number
    media_type: Word | None
    notes: bytes  # JSON; b"" for none
    key: Annotated[int, Meta(ge=-_I63, le=0)]


class Batch(Spoken, tag=5):
    """The next children, the last of which may have a stream; with `ended` there are no more, because of `error` if any."""

    children: list[FarChild]
    ended: bool
    error: Err | None


class Piece(Spoken, tag=6):
    data: bytes


class FarText(Spoken, tag=7):
    """See readers.base.Text."""

    text: bytes
    state: TextState | None
    pages: Annotated[int, Meta(ge=0, le=_MOST_PAGES)] | None
    metadata: bytes
    error: Err | None

    def opened(self) -> Text:
        """Return the text. Raises ValueError if it is invalid."""
        error = None if self.error is None else self.error.raised()
        text = self.text.decode("utf-8", "surrogatepass")
        return Text(text=text, state=self.state, pages=self.pages, metadata=unpacked(self.metadata), error=error)


class FarHashes(Spoken, tag=8):
    content: Annotated[bytes, Meta(max_length=64)] | None
    message_id: Annotated[bytes, Meta(max_length=64)] | None


class Rendered(Spoken, tag=9):
    """A page as PGM; no bytes for one that is blank."""

    data: bytes
    dpi: Annotated[int, Meta(ge=1, le=100_000)] | None


class Introduction(Struct, array_like=True, frozen=True):
    """Properties of a handler that a slot has to know; see readers.base.Handler."""

    name: Word
    media_types: Annotated[tuple[MediaType, ...], Meta(max_length=10_000)]
    container: bool
    splits: bool
    whole: bool
    leaf: bool
    announces: bool  # whether it overrides `announced`; otherwise that is not requested
    hashes: bool


def introduction(handler: Handler) -> Introduction:
    """Return the properties of a handler."""

    def own(method: str) -> bool:
        return getattr(type(handler), method, None) is not getattr(LeafHandler, method)

    return Introduction(
        name=handler.name,
        media_types=handler.media_types,
        container=handler.container,
        splits=handler.splits,
        whole=handler.whole,
        leaf=is_leaf(handler),
        announces=own("announced"),
        hashes=own("message_hashes"),
    )


class Introduced(Spoken, tag=10):
    handlers: Annotated[list[Introduction], Meta(max_length=10_000)]


class ParsersListed(Spoken, tag=11):
    parsers: Annotated[bytes, Meta(max_length=1 << 20)]  # JSON


# The requests of the sandbox while it works.


class Head(Struct, array_like=True, tag=20):
    key: Key


class Whole(Struct, array_like=True, tag=21):
    key: Key
    limit: int


class Open(Struct, array_like=True, tag=22):
    key: Key


class Read(Spoken, tag=23):
    """`size` bytes of a file from `offset`, or (-1) all from there."""

    file: int
    offset: Number
    size: Annotated[int, Meta(ge=-1, le=1 << 26)]


Answer = (
    Failed | Fault | Type | Count | Ranges | Batch | Piece | FarText | FarHashes | Rendered | Introduced | ParsersListed
)
Question = Head | Whole | Open | Read


class Reply(Struct, array_like=True):
    """Answer to a question: bytes, the number of an opened file, or the error (of a fault, only that there was one)."""

    data: bytes = b""
    file: int = 0
    error: Err | None = None
    errno: int | None = None  # of a SourceFileError
    fault: bool = False


REQUESTS = msgspec.msgpack.Decoder(Request)
REPLIES = msgspec.msgpack.Decoder(Reply)
SPOKEN: msgspec.msgpack.Decoder[Answer | Question] = msgspec.msgpack.Decoder(Answer | Question)
ENCODER = msgspec.msgpack.Encoder()


def packed(value: dict[str, Any]) -> bytes:
    """Return metadata as it is sent."""
    return json.dumps(value).encode("ascii") if value else b""


def unpacked(data: bytes) -> dict[str, Any]:
    """Return the metadata from `packed`. Raises ValueError for anything that is not a moderately nested JSON object."""
    if not data:
        return {}
    try:
        value = json.loads(data)
    except RecursionError as error:
        raise ValueError("metadata is nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError("metadata is not an object")
    if data.count(b"{") + data.count(b"[") > _MOST_NESTED:
        _check_depth(value, _MOST_NESTED)
    return value


def _check_depth(value: Any, left: int) -> None:
    if not left:
        raise ValueError("metadata is nested too deeply")
    if isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            _check_depth(inner, left - 1)


def plain(text: str) -> str:
    """Replace the characters that UTF-8 cannot encode."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def err(error: DocumentError) -> Err:
    """Return the error as it is sent."""
    return Err(error.code, plain(error.detail)[: 1 << 16], counted(error.missing))


def counted(value: int | None, most: int = _MOST_COUNTED) -> int | None:
    """Limit a number that a file claims to the range 0 to `most`."""
    return None if value is None else max(0, min(value, most))


paged = partial(counted, most=_MOST_PAGES)  # a number of pages that a file claims
sized = partial(counted, most=_I63)  # a number of bytes
