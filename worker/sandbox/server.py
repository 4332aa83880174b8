"""The sandbox's side: passes the slot's requests to the handlers, and the answers back. Keeps sources and generators by
number.

It has no notion of jobs and tasks, and holds only what it was given to read and the passwords to try on it."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from core.errors import EdbenchError, SourceFileError, SystemFault
from readers.base import Child, Handler, MemorySource, MessageHashes, Source, is_leaf
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.passwords import NO_PASSWORDS, Passwords
from readers.records import FixedLimits
from readers.registry import handler_for
from worker.items.guard import guarded
from worker.items.sources import CHUNK
from worker.parsers import own_set
from worker.sandbox.messages import (
    ENCODER,
    REPLIES,
    REQUESTS,
    Announced,
    Answer,
    Batch,
    Children,
    Count,
    Failed,
    FarChild,
    FarHashes,
    FarText,
    Fault,
    Hashes,
    Head,
    Identify,
    Introduce,
    Introduced,
    More,
    Open,
    OpenPages,
    Page,
    ParsersListed,
    Parts,
    Piece,
    Pipe,
    Pull,
    Question,
    Ranges,
    Read,
    Ref,
    Reply,
    Request,
    Settle,
    TakeText,
    Type,
    Whole,
    counted,
    err,
    introduction,
    packed,
    paged,
    plain,
    range_of,
    sized,
)
from worker.sandbox.sandbox import RenderedItem

if TYPE_CHECKING:
    from typing_extensions import Buffer

Ask = Callable[[Question], Reply]


class SlotFault(SystemFault):
    """The slot has a fault of the system; the sandbox only unwinds."""


def checked(reply: Reply) -> Reply:
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
            self._head = checked(self._ask(Head(self._key))).data
        return self._head

    def open(self) -> BinaryIO:
        file = checked(self._ask(Open(self._key))).file
        return cast(BinaryIO, io.BufferedReader(_FarFile(file, self.size, self._ask, self._closed), CHUNK))

    def whole(self, limit: int) -> bytes:
        if self.size > limit:
            raise DocumentError(ExceptionCode.TOO_LARGE, f"{self.size} bytes; the limit is {limit}")
        return checked(self._ask(Whole(self._key, limit))).data


class _FarFile(io.RawIOBase):
    """A file that the slot has open; each read is made by the slot."""

    def __init__(self, file: int, size: int, ask: Ask, closed: list[int]) -> None:
        super().__init__()
        self._file = file
        self._size = size
        self._ask = ask
        self._closed = closed
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer).cast("B")
        data = checked(self._ask(Read(self._file, self._at, min(len(view), 1 << 26)))).data
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def readall(self) -> bytes:
        data = checked(self._ask(Read(self._file, self._at, -1))).data
        self._at += len(data)
        return data

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

    pipe: Pipe
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
            request = REQUESTS.decode(self.pipe.receive())
            answer = self._answer(request)
            del request
            answer.closed = self._take_closed()
            self.pipe.send(ENCODER.encode(answer))
            del answer

    def _take_closed(self) -> list[int]:
        closed = self.closed[:]
        self.closed.clear()
        return closed

    def _ask(self, question: Question) -> Reply:
        if isinstance(question, Read):
            question.closed = self._take_closed()
        self.pipe.send(ENCODER.encode(question))
        return REPLIES.decode(self.pipe.receive())

    def _answer(self, request: Request) -> Answer:
        try:
            self._settle(request)
            what = request.what
            with guarded:
                return _ANSWERS[type(what)](self, what)
        except SlotFault:
            return Fault()
        except DocumentError as error:
            return Failed(err(error))

    def _settle(self, request: Request) -> None:
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

    def _source(self, ref: Ref) -> Source:
        if ref.name is None:
            return self.sources[ref.key]
        source: Source
        if ref.data is not None:
            source = MemorySource(ref.name, ref.data, self.passwords)
        else:
            source = FarSource(ref.key, ref.name, ref.size, self.passwords, self._ask, self.closed)
        self.sources[ref.key] = source
        return source

    def _introduce(self, what: Introduce) -> Answer:
        if what.versions:
            return ParsersListed(own_set().text.encode())
        return Introduced([introduction(handler) for handler in self.handlers.values()])

    def _identify(self, what: Identify) -> Answer:
        source = self._source(what.source)
        answer = Type(identify(source, what.declared))
        if what.generator:
            with suppress(DocumentError):  # the slot asks for what is missing, and gets the error then
                self._go_on(answer, source, what.generator)
        return answer

    def _go_on(self, answer: Type, source: Source, generator: int) -> None:
        handler = handler_for(answer.media_type)
        with guarded:
            answer.hashes = _far(handler.message_hashes(source, self.limits))
            if not (handler.container or is_leaf(handler)):
                opened = self.generators[generator] = _Opened(handler.children(source, self.limits))
                answer.batch = self._batch(opened)

    def _announced(self, what: Announced) -> Answer:
        return Count(counted(self.handlers[what.handler].announced(self._source(what.source))))

    def _parts(self, what: Parts) -> Answer:
        parts = self.handlers[what.handler].parts(self._source(what.source), what.target)
        return Ranges([range_of(part) for part in parts])

    def _children(self, what: Children) -> Answer:
        part = None if what.part is None else what.part.part()
        children = self.handlers[what.handler].children(self._source(what.source), self.limits, part)
        self.generators[what.generator] = _Opened(children)
        return self._batch(self.generators[what.generator])

    def _more(self, what: More) -> Answer:
        return self._batch(self.generators[what.generator])

    def _batch(self, opened: _Opened) -> Batch:
        """A few children, up to one with a stream."""
        opened.stream = None
        children: list[FarChild] = []
        size, until = 0, time.monotonic() + _BATCH_SECONDS
        while len(children) < _BATCH_CHILDREN and size < _BATCH_BYTES and time.monotonic() < until:
            try:
                with guarded:
                    child = next(opened.children, None)
            except DocumentError as error:
                return Batch(children, ended=True, error=err(error))
            if child is None:
                return Batch(children, ended=True, error=None)
            children.append(self._described(child))
            size += len(child.data or b"") + 200
            if child.stream is not None:
                opened.stream = child.stream
                break
        return Batch(children, ended=False, error=None)

    def _described(self, child: Child) -> FarChild:
        key = 0
        if child.data is not None:
            self._keys -= 1
            key = self._keys
            self.sources[key] = MemorySource(child.name, child.data, self.passwords)
        return FarChild(
            name=child.name,
            kind=child.kind,
            ordinal=child.ordinal,
            data=child.data,
            stream=child.stream is not None,
            size_hint=sized(child.size_hint),
            error=None if child.error is None else err(child.error),
            emit=child.emit,
            shown=None if child.shown is None else plain(child.shown),
            occurrence=child.occurrence,
            media_type=None if child.media_type is None else plain(child.media_type),
            notes=packed(child.notes),
            key=key,
        )

    def _pull(self, what: Pull) -> Answer:
        stream = self.generators[what.generator].stream
        return Piece(b"" if stream is None else stream.read(what.size))

    def _text(self, what: TakeText) -> Answer:
        taken = self.handlers[what.handler].text(self._source(what.source), self.limits)
        text = taken.text[: self.limits.text_characters + 1]  # one more shows the slot that there was more
        return FarText(
            text=text.encode("utf-8", "surrogatepass"),
            state=taken.state,
            pages=paged(taken.pages),
            metadata=packed(taken.metadata),
            error=None if taken.error is None else err(taken.error),
        )

    def _hashes(self, what: Hashes) -> Answer:
        return _far(self.handlers[what.handler].message_hashes(self._source(what.source), self.limits))

    def _open_pages(self, what: OpenPages) -> Answer:
        return Count(self.pages.open(self._source(what.source), what.media_type, self.limits, what.choice))

    def _page(self, what: Page) -> Answer:
        return self.pages.page(what.number)

    def _nothing(self, what: Settle) -> Answer:
        if what.pages:
            self.pages.close()
        return Count(None)


_ANSWERS: dict[type, Callable[[Server, Any], Answer]] = {
    Identify: Server._identify,
    Announced: Server._announced,
    Parts: Server._parts,
    Children: Server._children,
    More: Server._more,
    Pull: Server._pull,
    TakeText: Server._text,
    Hashes: Server._hashes,
    OpenPages: Server._open_pages,
    Page: Server._page,
    Settle: Server._nothing,
    Introduce: Server._introduce,
}


def _far(hashes: MessageHashes | None) -> FarHashes:
    return FarHashes(None, None) if hashes is None else FarHashes(hashes.content_hash, hashes.message_id_hash)


def _quietly(close: Callable[[], None]) -> None:
    """Close a generator that is no longer needed; its errors concern no item."""
    try:
        with guarded:
            close()
    except (EdbenchError, DocumentError):
        return
