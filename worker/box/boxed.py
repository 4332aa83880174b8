"""The handlers in a process whose parsing is done in its sandbox: same names and types, no parsing here."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, cast

from readers import registry
from readers.base import Child, Handler, LeafHandler, MessageHashes, Part, Source, Text
from readers.identification.identify import identify_by
from readers.records import Limits
from worker.box.box import Box, boxed_rendering
from worker.box.messages import (
    Announced,
    Batch,
    Children,
    Count,
    FarChild,
    FarHashes,
    FarText,
    Hashes,
    Identify,
    Introduction,
    More,
    Parts,
    Piece,
    Pull,
    Ranges,
    Settle,
    TakeText,
    Type,
    range_of,
    unpacked,
)
from worker.items.sources import CHUNK
from worker.ocr.pages import render_by

if TYPE_CHECKING:
    from typing_extensions import Buffer


def install(box: Box) -> None:
    """From now on this process identifies and parses nothing itself: every handler it gets forwards to the sandbox.
    Waits until the sandbox is running: otherwise the fork server's loading would be charged to an item's time."""
    registry.replace(boxed(handler, box) for handler in box.introduced())
    identify_by(lambda source, declared: box.ask(Identify(box.ref(source), declared), Type).media_type)
    render_by(boxed_rendering(box))


def boxed(handler: Introduction, box: Box) -> Handler:
    """What stands for this handler."""
    return BoxedLeaf(handler, box) if handler.leaf else BoxedHandler(handler, box)


class BoxedLeaf(LeafHandler):
    """One without children."""

    def __init__(self, handler: Introduction, box: Box) -> None:
        self.name = handler.name
        self.media_types = handler.media_types
        self.container = handler.container
        self.splits = handler.splits
        self.whole = handler.whole
        self._box = box
        self._hashes = handler.hashes
        self._announces = handler.announces

    def text(self, source: Source, limits: Limits) -> Text:
        box = self._box
        far = box.ask(TakeText(box.ref(source), self.name), FarText, limits)
        try:
            return far.opened()
        except ValueError as error:
            box.broken(error)

    def message_hashes(self, source: Source, limits: Limits) -> MessageHashes | None:
        if not self._hashes:
            return None
        box = self._box
        far = box.ask(Hashes(box.ref(source), self.name), FarHashes, limits)
        if far.content is None:
            return None
        return MessageHashes(content_hash=far.content, message_id_hash=far.message_id)


class BoxedHandler(BoxedLeaf):
    """One that may have children."""

    def announced(self, source: Source) -> int | None:
        if not self._announces:
            return None
        return self._box.ask(Announced(self._box.ref(source), self.name), Count).value

    def parts(self, source: Source, target_bytes: int) -> list[Part]:
        if not self.splits:
            return []
        ranges = self._box.ask(Parts(self._box.ref(source), self.name, target_bytes), Ranges)
        try:
            return [one.part() for one in ranges.parts]
        except ValueError as error:
            self._box.broken(error)

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        box = self._box
        ref = box.ref(source)
        number = box.new_generator(ref)
        wanted = None if part is None else range_of(part)
        try:
            batch = box.ask(Children(ref, self.name, wanted, number), Batch, limits)
            while True:
                error = None if batch.error is None else box.raised(batch.error)
                yield from self._of(batch, number)
                if batch.ended:
                    break
                batch = box.ask(More(number), Batch)
        finally:
            box.end_generator(number, ref, Settle())
        if error is not None:
            raise error

    def _of(self, batch: Batch, number: int) -> Iterator[Child]:
        box = self._box
        last = len(batch.children) - 1
        for position, far in enumerate(batch.children):
            if far.stream and (position < last or far.data is not None or batch.ended):
                box.broken("a stream where none can be")
            if far.data is not None:
                box.keep(far.key, far.name, far.data)
            try:
                yield self._child(far, number)
            finally:
                if far.data is not None:
                    box.drop(far.key, far.name, far.data)
                    far.data = None

    def _child(self, far: FarChild, number: int) -> Child:
        try:
            notes = unpacked(far.notes)
        except ValueError as error:
            self._box.broken(error)
        return Child(
            name=far.name,
            kind=far.kind,
            ordinal=far.ordinal,
            data=far.data,
            stream=cast(BinaryIO, BoxedStream(self._box, number)) if far.stream else None,
            size_hint=far.size_hint,
            error=None if far.error is None else far.error.raised(),
            emit=far.emit,
            shown=far.shown,
            occurrence=far.occurrence,
            media_type=far.media_type,
            notes=notes,
        )


class BoxedStream(io.RawIOBase):
    """The bytes of a child that is too large for one message."""

    def __init__(self, box: Box, generator: int) -> None:
        super().__init__()
        self._box = box
        self._generator = generator

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes; b"" at the end."""
        wanted = CHUNK if size < 0 else size
        data = self._box.ask(Pull(self._generator, wanted), Piece).data
        if len(data) > wanted:
            self._box.broken("more bytes than were asked for")
        return data

    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)
