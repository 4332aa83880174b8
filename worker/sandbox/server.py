"""The sandbox's side: passes the slot's requests to the handlers, and the answers back. Keeps sources and generators by
number.

It has no notion of jobs and tasks, and holds only what it was given to read and the passwords to try on it."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import BinaryIO, cast

from core.errors import EdbenchError, SourceFileError, SystemFault
from readers.base import Child, Handler, MemorySource, MessageHashes, Source, is_leaf
from readers.errors import DocumentError, too_large
from readers.identification.identify import identify
from readers.passwords import NO_PASSWORDS, Passwords
from readers.records import FixedLimits
from readers.registry import handler_for
from readers.streams import ByteStream
from worker.items.guard import guarded
from worker.items.sources import CHUNK
from worker.parsers import own_set
from worker.sandbox import messages
from worker.sandbox.sandbox import RenderedItem

Ask = Callable[[messages.Question], messages.Reply]


class SlotFault(SystemFault):
    """The slot has a fault of the system; the sandbox only unwinds."""


def checked(reply: messages.Reply) -> messages.Reply:
    """Return the reply if it carries a result; raise the error that it reports otherwise."""
    if reply.fault:
        raise SlotFault("the slot could not read")
    if reply.error is None:
        return reply
    error = reply.error
    if reply.errno is not None:
        raise SourceFileError(error.code, error.detail, missing=error.missing, errno=reply.errno)
    raise error.raised()


class FarSource:
    """See readers.base.Source."""

    def __init__(self, key: int, name: bytes, size: int, passwords: Passwords, ask: Ask, closed: list[int]) -> None:
        """Store the arguments; `closed` gets the numbers of files that are no longer needed."""
        self.name = name
        self.size = size
        self.passwords = passwords
        self._key = key
        self._ask = ask
        self._closed = closed
        self._head: bytes | None = None

    @property
    def head(self) -> bytes:
        if self._head is None:
            self._head = checked(self._ask(messages.Head(self._key))).data
        return self._head

    def open(self) -> BinaryIO:
        file = checked(self._ask(messages.Open(self._key))).file
        return cast(BinaryIO, io.BufferedReader(_FarFile(file, self.size, self._ask, self._closed), CHUNK))

    def whole(self, limit: int) -> bytes:
        if self.size > limit:
            raise too_large(f"{self.size} bytes; the limit is {limit}")
        return checked(self._ask(messages.Whole(self._key, limit))).data


class _FarFile(ByteStream):
    """A file that the slot has open; each read is made by the slot."""

    def __init__(self, file: int, size: int, ask: Ask, closed: list[int]) -> None:
        super().__init__()
        self._file = file
        self._size = size
        self._ask = ask
        self._closed = closed
        self._at = 0

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        data = checked(self._ask(messages.Read(self._file, self._at, min(size, 1 << 26)))).data
        self._at += len(data)
        return data

    def readall(self) -> bytes:
        return self.read()

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        base = (0, self._at, self._size)[whence]
        if base + offset < 0:
            raise OSError(22, "Invalid argument")
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def close(self) -> None:
        if not self.closed:
            self._closed.append(self._file)
        super().close()


_BATCH_CHILDREN = 64
_BATCH_BYTES = 1 << 18
_BATCH_SECONDS = 0.05  # so that the slot's deadline of an item stays that of a few of its children


@dataclass(slots=True)
class _Opened:
    """A generator, the stream of its last child, and the keys of the children of its last batch."""

    children: Iterator[Child]
    stream: BinaryIO | None = None


@dataclass(slots=True)
class Server:
    """State of one sandbox. `handlers`: by name."""

    pipe: messages.Pipe
    handlers: dict[str, Handler]
    limits: FixedLimits = field(default_factory=FixedLimits)
    passwords: Passwords = NO_PASSWORDS
    sources: dict[int, Source] = field(default_factory=dict)
    generators: dict[int, _Opened] = field(default_factory=dict)
    closed: list[int] = field(default_factory=list)  # files, to be reported with the next message
    pages: RenderedItem = field(default_factory=RenderedItem)
    _keys: int = 0

    def serve(self) -> None:
        """Serve requests until the slot is gone. Raises messages.Ended."""
        while True:
            request = messages.REQUESTS.decode(self.pipe.receive())
            answer = self._answer(request)
            del request
            answer.closed = self._take_closed()
            self.pipe.send(messages.ENCODER.encode(answer))
            del answer

    def _take_closed(self) -> list[int]:
        closed = self.closed[:]
        self.closed.clear()
        return closed

    def _ask(self, question: messages.Question) -> messages.Reply:
        if isinstance(question, messages.Read):
            question.closed = self._take_closed()
        self.pipe.send(messages.ENCODER.encode(question))
        return messages.REPLIES.decode(self.pipe.receive())

    def _answer(self, request: messages.Request) -> messages.Answer:
        try:
            self._settle(request)
            with guarded:
                return self._answered(request.what)
        except SlotFault:
            return messages.Fault()
        except DocumentError as error:
            return messages.Failed(messages.err(error))

    def _settle(self, request: messages.Request) -> None:
        for key in request.forget:
            self.sources.pop(key, None)
        for number in request.close:
            opened = self.generators.pop(number, None)
            if opened is not None and (close := getattr(opened.children, "close", None)) is not None:
                _quietly(close)
        if request.limits is not None:
            self.limits = request.limits
        if request.bank is not None:
            self.passwords = Passwords(request.bank) if request.bank else NO_PASSWORDS

    def _source(self, ref: messages.Ref) -> Source:
        if ref.name is None:
            return self.sources[ref.key]
        source: Source
        if ref.data is not None:
            source = MemorySource(ref.name, ref.data, self.passwords)
        else:
            source = FarSource(ref.key, ref.name, ref.size, self.passwords, self._ask, self.closed)
        self.sources[ref.key] = source
        return source

    def _answered(self, what: messages.Asked) -> messages.Answer:
        match what:
            case messages.Identify():
                return self._identify(what)
            case messages.Announced():
                return messages.Count(
                    messages.counted(self.handlers[what.handler].announced(self._source(what.source)))
                )
            case messages.Parts():
                parts = self.handlers[what.handler].parts(self._source(what.source), what.target)
                return messages.Ranges([messages.range_of(part) for part in parts])
            case messages.Children():
                part = None if what.part is None else what.part.part()
                children = self.handlers[what.handler].children(self._source(what.source), self.limits, part)
                self.generators[what.generator] = _Opened(children)
                return self._batch(self.generators[what.generator])
            case messages.More():
                return self._batch(self.generators[what.generator])
            case messages.Pull():
                stream = self.generators[what.generator].stream
                return messages.Piece(b"" if stream is None else stream.read(what.size))
            case messages.TakeText():
                return self._text(what)
            case messages.Hashes():
                return _far(self.handlers[what.handler].message_hashes(self._source(what.source), self.limits))
            case messages.OpenPages():
                return messages.Count(
                    self.pages.open(self._source(what.source), what.media_type, self.limits, what.choice)
                )
            case messages.Page():
                return self.pages.page(what.number)
            case messages.Settle():
                if what.pages:
                    self.pages.close()
                return messages.Count(None)
            case messages.Introduce():
                if what.versions:
                    return messages.ParsersListed(own_set().text.encode())
                return messages.Introduced([messages.introduction(handler) for handler in self.handlers.values()])

    def _identify(self, what: messages.Identify) -> messages.Answer:
        source = self._source(what.source)
        answer = messages.Type(identify(source, what.declared))
        if what.generator:
            with suppress(DocumentError):  # the slot asks for what is missing, and gets the error then
                self._go_on(answer, source, what.generator)
        return answer

    def _go_on(self, answer: messages.Type, source: Source, generator: int) -> None:
        handler = handler_for(answer.media_type)
        with guarded:
            answer.hashes = _far(handler.message_hashes(source, self.limits))
            if not (handler.container or is_leaf(handler)):
                opened = self.generators[generator] = _Opened(handler.children(source, self.limits))
                answer.batch = self._batch(opened)

    def _batch(self, opened: _Opened) -> messages.Batch:
        """A few children, up to one with a stream."""
        opened.stream = None
        children: list[messages.FarChild] = []
        size, until = 0, time.monotonic() + _BATCH_SECONDS
        while len(children) < _BATCH_CHILDREN and size < _BATCH_BYTES and time.monotonic() < until:
            try:
                with guarded:
                    child = next(opened.children, None)
            except DocumentError as error:
                return messages.Batch(children, ended=True, error=messages.err(error))
            if child is None:
                return messages.Batch(children, ended=True, error=None)
            children.append(self._described(child))
            size += len(child.data or b"") + 200
            if child.stream is not None:
                opened.stream = child.stream
                break
        return messages.Batch(children, ended=False, error=None)

    def _described(self, child: Child) -> messages.FarChild:
        key = 0
        if child.data is not None:
            self._keys -= 1
            key = self._keys
            self.sources[key] = MemorySource(child.name, child.data, self.passwords)
        return messages.FarChild(
            name=child.name,
            kind=child.kind,
            ordinal=child.ordinal,
            data=child.data,
            stream=child.stream is not None,
            size_hint=messages.sized(child.size_hint),
            error=None if child.error is None else messages.err(child.error),
            emit=child.emit,
            shown=None if child.shown is None else messages.plain(child.shown),
            occurrence=child.occurrence,
            media_type=None if child.media_type is None else messages.plain(child.media_type),
            notes=messages.packed(child.notes),
            key=key,
        )

    def _text(self, what: messages.TakeText) -> messages.Answer:
        taken = self.handlers[what.handler].text(self._source(what.source), self.limits)
        text = taken.text[: self.limits.text_characters + 1]  # one more shows the slot that there was more
        return messages.FarText(
            text=text.encode("utf-8", "surrogatepass"),
            state=taken.state,
            pages=messages.paged(taken.pages),
            metadata=messages.packed(taken.metadata),
            error=None if taken.error is None else messages.err(taken.error),
        )


def _far(hashes: MessageHashes | None) -> messages.FarHashes:
    return (
        messages.FarHashes(None, None)
        if hashes is None
        else messages.FarHashes(hashes.content_hash, hashes.message_id_hash)
    )


def _quietly(close: Callable[[], None]) -> None:
    """Close a generator that is no longer needed; its errors concern no item."""
    try:
        with guarded:
            close()
    except (EdbenchError, DocumentError):
        return
