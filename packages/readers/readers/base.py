"""Interface of a format handler (design §5).

A handler turns bytes into children and text. It never touches disk, the database or the clock; bad data raises
`DocumentError` with a code, and whatever was yielded before stays."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterator
from typing import Any, BinaryIO, Protocol, runtime_checkable

import msgspec

from readers.errors import DocumentError, too_large
from readers.modules import MEDIA_TYPES
from readers.passwords import NO_PASSWORDS, Passwords
from readers.records import Kind, Limits, TextState


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """One format as users know it: the only source of `edbench formats` and docs/formats.md (`make formats-page`).
    Sentences are fragments without a full stop: "cells by rows, hidden sheets too"."""

    title: str  # "Excel workbooks, 97 to 2003"
    extensions: tuple[str, ...]  # the usual ones, lower case, without the dot; the bytes decide, not these
    media_types: tuple[str, ...] = ()  # the handler's media types that are this format; () for all
    text: str = ""  # what becomes text; "" if the state is `empty` (a container), `no text layer` or `unsupported`
    metadata: tuple[str, ...] = ()  # keys of readers.keys that it may give
    children: str = ""  # what its children are, in their order; "" where it has none
    announces: str = ""  # what gives the number of children ("the central directory"); "" where nothing does
    leaves_out: tuple[str, ...]  # what is not extracted, and limits of its own; at least one

    def alone(self) -> tuple[Declared, ...]:
        """The declarations of a handler that reads this format only."""
        return (self,)


class Source(Protocol):
    """The bytes of one item, in memory or as a file on the filer."""

    @property
    def name(self) -> bytes:
        """The item's own name; handlers may use its extension to break ties, never as a path."""

    @property
    def size(self) -> int:
        """Size in bytes."""

    @property
    def head(self) -> bytes:
        """The first bytes (at least 4 KiB, or all if fewer)."""

    @property
    def passwords(self) -> Passwords:
        """Passwords to try if the item is encrypted."""

    def open(self) -> BinaryIO:
        """A new seekable, buffered reader at position 0; the handler closes it."""

    def whole(self, limit: int) -> bytes:
        """Return all bytes. Raises DocumentError `too_large` if there are more than `limit`."""


class MemorySource(msgspec.Struct, frozen=True):
    """A source that is in memory."""

    name: bytes
    data: bytes
    passwords: Passwords = NO_PASSWORDS

    @property
    def size(self) -> int:
        return len(self.data)

    @property
    def head(self) -> bytes:
        return self.data[:4096]

    def open(self) -> BinaryIO:
        return io.BytesIO(self.data)

    def whole(self, limit: int) -> bytes:
        if len(self.data) > limit:
            raise too_large(f"{len(self.data)} bytes; the limit is {limit}")
        return self.data


TEXT_STATE = "text_state"  # in a child's notes: the best state that its text can have, which its bytes do not show


class Child(msgspec.Struct, kw_only=True):
    """One child of a container or document.

    Exactly one of `data` and `stream` is given; neither where `error` gives the reason. The caller reads a `stream` to
    its end before it requests the next child. Reading it may raise DocumentError, which then belongs to this child (and
    makes it a failed child if no byte was usable). `error` marks a child that the format announces but whose bytes are
    not available: it gets a row with the exception (an emitted child), unless `emit` is False (then it counts as
    failed). Together with `data` it means that the bytes are damaged and the readable ones are kept; its `missing` are
    children of this child that are not in them."""

    name: bytes  # as the format stores it, undecoded where it is bytes; b"" if it has none
    kind: Kind
    ordinal: int  # byte offset (mbox), directory index (zip), position with failures counted (elsewhere)
    data: bytes | None = None
    stream: BinaryIO | None = None
    size_hint: int | None = None  # announced size of a stream
    error: DocumentError | None = None
    emit: bool = True
    shown: str | None = None  # the name as text, where the format declares the name's charset
    # Which one of the siblings with its name it is (readers.records.Siblings); 0: the caller counts.
    occurrence: int = 0
    media_type: str | None = None  # declared by the parent (a MIME part's Content-Type); `identify` decides
    notes: dict[str, Any] = msgspec.field(default_factory=dict)  # added to its metadata: how it was opened


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A range of a big container that one task works on: mbox byte offsets or zip directory indexes."""

    start: int
    stop: int
    announced: int | None = None  # children that the format announces in it; given for all ranges or for none
    known: dict[str, Any] = msgspec.field(default_factory=dict)  # JSON: what the handler learned when it cut the ranges


class Text(msgspec.Struct, kw_only=True):
    """Text and metadata of one item."""

    text: str = ""
    state: TextState | None = None  # None: ok if there is text, else empty
    pages: int | None = None  # where the format knows; else text characters / 3,000 rounded up, at least 1
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)  # JSON-able; keys: subject from to cc bcc date …
    error: DocumentError | None = None  # why the text was cut short; the text up to there is kept


class MessageHashes(msgspec.Struct, kw_only=True):
    """Hashes over a message's fields (glossary: hash, Message-ID hash)."""

    content_hash: bytes  # sha256 over normalised fields
    message_id_hash: bytes | None  # EDRM MIH: MD5 of the Message-ID in its angle brackets


@runtime_checkable
class Handler(Protocol):
    """One format family. Instances are stateless and shared."""

    name: str
    media_types: tuple[str, ...]  # each media type is declared by one handler only
    container: bool  # its only purpose is to hold others
    splits: bool  # `parts` may cut a big one into ranges
    whole: bool  # must be parsed whole: over Limits.parse_bytes it is too_large
    declared: tuple[Declared, ...]  # what users see about each of its formats; () only for plugins

    def announced(self, source: Source) -> int | None:
        """Return how many children the format announces (zip directory); None if it does not."""

    def parts(self, source: Source, target_bytes: int) -> list[Part]:
        """Return ranges of about `target_bytes` that cover all children exactly once; [] if it cannot be split."""

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield the children in order. A DocumentError raised between children means that the rest is lost."""

    def text(self, source: Source, limits: Limits) -> Text:
        """Return text and metadata. Raises DocumentError if there is none."""

    def message_hashes(self, source: Source, limits: Limits) -> MessageHashes | None:
        """Return a message's hashes, else None. Never raises DocumentError: damaged fields count as empty."""


class LeafHandler:
    """Base class for formats without children; also the defaults of the optional methods of a handler. The media types
    of a handler of this package are those of its module in readers.modules, unless it names some of them.

    Every built-in handler overrides `declared`: one `Declared` for each format people have a name for (the
    zip handler is an example). Without it the handler works, but a unit test fails, because
    docs/formats.md (`make formats-page`) and `edbench formats` would omit it."""

    name = ""
    media_types: tuple[str, ...] = ()
    container = False
    splits = False
    whole = True
    declared: tuple[Declared, ...] = ()

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "media_types" not in vars(cls) and cls.__module__.startswith("readers."):
            cls.media_types = MEDIA_TYPES.get(cls.__module__.removeprefix("readers."), cls.media_types)

    def announced(self, source: Source) -> int | None:
        return None

    def parts(self, source: Source, target_bytes: int) -> list[Part]:
        return []

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        return iter(())

    def text(self, source: Source, limits: Limits) -> Text:
        return Text(state=TextState.UNSUPPORTED)

    def message_hashes(self, source: Source, limits: Limits) -> MessageHashes | None:
        return None


class ContainerHandler(LeafHandler):
    """Base class for formats that only hold others: they have no text, and are read a piece at a time."""

    container = True
    whole = False

    def text(self, source: Source, limits: Limits) -> Text:
        return Text(state=TextState.EMPTY)


@functools.cache
def _is_leaf(kind: type[Handler]) -> bool:
    return issubclass(kind, LeafHandler) and all(
        getattr(kind, method) is getattr(LeafHandler, method) for method in ("announced", "parts", "children")
    )


def is_leaf(handler: Handler) -> bool:
    """Return whether nothing it reads is a container or has children, so that the caller need not request them."""
    return not handler.container and _is_leaf(type(handler))
