"""The slot's side of its sandbox: sends requests, serves the sandbox's reads meanwhile, and dies as the sandbox died.

One request is under way at a time. A sandbox that breaks the protocol (no message, not the requested answer, a key that
is not its own) is ended, and the slot with it: the item that the slot's row names is the cause."""

from __future__ import annotations

import dataclasses
import faulthandler
import io
import logging
import os
import select
import signal
import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NoReturn, TypeVar, cast

import msgspec

from core.errors import SourceFileError, SystemFault
from core.records import OcrChoice
from readers import registry
from readers.base import Child, Handler, LeafHandler, MemorySource, MessageHashes, Part, Source, Text
from readers.errors import DocumentError
from readers.identification.identify import identify_by
from readers.parsers import ParserSet
from readers.passwords import NO_PASSWORDS, Passwords
from readers.records import FixedLimits, Limits
from readers.streams import ByteStream
from worker.items.sources import CHUNK
from worker.ocr import pages
from worker.ocr.page import Page
from worker.ocr.pages import Rendering, render_by
from worker.sandbox import messages

PID = struct.Struct("<i")  # of the sandbox, the first thing that the fork server sends
STATUS = struct.Struct("<i?")  # a wait status, and whether the kernel had killed because memory ran out
EXIT_MEMORY, EXIT_BROKEN = 71, 70  # as worker.slots.slot has them
_WAIT_MS = 10_000


def die_alike(descriptor: int) -> NoReturn:
    """End this process as the sandbox ended, whose status the fork server sends on `descriptor`."""
    status, out_of_memory = _received_status(descriptor)
    if out_of_memory:
        os._exit(EXIT_MEMORY)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        faulthandler.disable()
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, (number,))
        os.kill(os.getpid(), number)
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else EXIT_BROKEN
    os._exit(code if code == EXIT_MEMORY else EXIT_BROKEN)


def _received_status(descriptor: int) -> tuple[int, bool]:
    """Return the status that the fork server sends; SIGKILL if it died, because its sandboxes died with it."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if poll.poll(_WAIT_MS):
        data = os.read(descriptor, STATUS.size)
        if len(data) == STATUS.size:
            status, memory = STATUS.unpack(data)
            return int(status), bool(memory)
    return int(signal.SIGKILL), False


_MOST_OPEN = 256  # a handler opens a few


@dataclass(slots=True)
class Files:
    """Sources by key, and their open files by number. KeyError for an unknown one: the sandbox invented it."""

    _sources: dict[int, Source] = field(default_factory=dict)
    _holders: Counter[int] = field(default_factory=Counter)  # number of holders of each source
    _open: dict[int, tuple[int, Any]] = field(default_factory=dict)  # number → key, file
    _numbers: int = 0

    def add(self, key: int, source: Source) -> None:
        """Add a source that may be read from now on, until it is released."""
        self._sources[key] = source
        self._holders[key] = 1

    def hold(self, key: int) -> None:
        """Add another holder of the source; nothing for a key without one."""
        if key in self._sources:
            self._holders[key] += 1

    def release(self, key: int) -> None:
        """Remove a holder of the source. Without one it may not be opened any more; its open files stay open."""
        if key in self._sources:
            self._holders[key] -= 1
            if not self._holders[key]:
                del self._holders[key], self._sources[key]

    def source(self, key: int) -> Source:
        return self._sources[key]

    def open_of(self, key: int) -> bool:
        """Return whether files of that source are open."""
        return any(of == key for of, _ in self._open.values())

    def open(self, key: int) -> int:
        """Open a source; return the number of the file."""
        if len(self._open) >= _MOST_OPEN:
            raise ValueError("too many files open")
        file = self._sources[key].open()
        self._numbers += 1
        # What is under the buffer: the reader's own buffer is in the sandbox, and each of its reads is one of ours.
        self._open[self._numbers] = key, (file.detach() if isinstance(file, io.BufferedReader) else file)
        return self._numbers

    def read(self, number: int, offset: int, size: int) -> bytes:
        _, file = self._open[number]
        file.seek(offset)
        return bytes(file.read(size) or b"")

    def close(self, numbers: Iterable[int]) -> None:
        """Close files; unknown numbers are ignored."""
        for number in numbers:
            opened = self._open.pop(number, None)
            if opened is not None:
                opened[1].close()


_T = TypeVar("_T")
log = logging.getLogger(__name__)


@dataclass(slots=True)
class Sandbox:
    """One sandbox, as long as this process lives. `status` receives the wait status of a sandbox that died."""

    pipe: messages.Pipe
    status: int
    pid: int = 0  # as the fork server reports it
    _known: dict[tuple[int, bytes], tuple[int, bytes]] = field(default_factory=dict)  # id of bytes, name → key, bytes
    _files: Files = field(default_factory=Files)
    _latest: tuple[int, Source] | None = None  # the source that was sent last
    _ahead: tuple[Source, int, messages.Type] | None = (
        None  # identified last: its generator, and what came with its type
    )
    _keys: int = 0
    _generators: int = 0
    _forget: list[int] = field(default_factory=list)
    _close: list[int] = field(default_factory=list)
    _limits: Limits | None = None
    _passwords: Passwords = NO_PASSWORDS
    _fault: BaseException | None = None  # error of a read of ours during the present request
    _busy: bool = False

    def ask(self, what: messages.Asked, wanted: type[_T], limits: Limits | None = None) -> _T:
        """Send a request and return the answer. Raises the handler's DocumentError, and what a read of ours raised."""
        request = messages.Request(what)
        if limits is not None and limits is not self._limits:
            self._limits, request.limits = limits, FixedLimits.of(limits)
        passwords = None if self._latest is None else self._latest[1].passwords
        if passwords is not None and passwords is not self._passwords:
            self._passwords = passwords
            request.bank = dict(passwords.bank)
        request.forget, self._forget = self._forget, []
        request.close, self._close = self._close, []
        self._fault = None
        self._busy = True
        try:
            answer = self._exchange(request)
            self._files.close(answer.closed)
        except MemoryError:
            os._exit(EXIT_MEMORY)  # half a message may be on its way, so it cannot continue
        except messages.Ended:
            die_alike(self.status)
        except (messages.Nonsense, msgspec.DecodeError, struct.error, ValueError, KeyError) as error:
            self.broken(error)
        finally:
            self._busy = False
        return self._unfolded(answer, wanted)

    def introduced(self) -> list[messages.Introduction]:
        """Return the sandbox's handlers, once the fork server has loaded them and the sandbox is running."""
        return self.ask(messages.Introduce(), messages.Introduced).handlers

    def parsers(self) -> ParserSet:
        """Return the sandbox's parsers with their versions. Call it before the sandbox has anything to read."""
        try:
            return ParserSet.of(
                messages.unpacked(self.ask(messages.Introduce(versions=True), messages.ParsersListed).parsers)
            )
        except ValueError as error:
            self.broken(error)

    def _exchange(self, request: messages.Request) -> messages.Answer:
        self.pipe.send(messages.ENCODER.encode(request))
        while True:
            message = messages.SPOKEN.decode(self.pipe.receive())
            if not isinstance(message, (messages.Head, messages.Whole, messages.Open, messages.Read)):
                return message
            self.pipe.send(messages.ENCODER.encode(self._reply(message)))

    def _unfolded(self, answer: messages.Answer, wanted: type[_T]) -> _T:
        fault = self._fault
        if fault is not None and not isinstance(fault, SourceFileError):
            raise fault
        if isinstance(answer, messages.Failed):
            raise self.raised(answer.error)
        if isinstance(answer, wanted):
            return answer
        return self.broken(f"{type(answer).__name__} instead of {wanted.__name__}")

    def raised(self, error: messages.Err) -> DocumentError:
        """Return the error to raise for the latest request: the one that a read of ours met, or the handler's own."""
        if isinstance(self._fault, SourceFileError) and self._fault.code is error.code:
            return self._fault
        return error.raised()

    def _reply(self, question: messages.Question) -> messages.Reply:
        """Serve a read. An error is kept, and reported to the sandbox as far as the handler has to know it."""
        try:
            match question:
                case messages.Head():
                    return messages.Reply(self._files.source(question.key).head)
                case messages.Whole():
                    return messages.Reply(self._files.source(question.key).whole(question.limit))
                case messages.Open():
                    return messages.Reply(file=self._files.open(question.key))
                case messages.Read():
                    self._files.close(question.closed)
                    return messages.Reply(self._files.read(question.file, question.offset, question.size))
        except SourceFileError as error:
            self._fault = self._fault or error
            return messages.Reply(error=messages.err(error), errno=error.errno)
        except DocumentError as error:
            return messages.Reply(error=messages.err(error))
        except SystemFault as error:
            self._fault = error
            return messages.Reply(fault=True)

    def broken(self, why: object) -> NoReturn:
        """End the process: the sandbox broke the protocol, so its answers cannot be used and its inputs are dropped."""
        log.error("a sandbox broke its protocol (%s); its slot ends", str(why)[:300])
        os._exit(EXIT_BROKEN)

    def identify(self, source: Source, declared: str | None, limits: Limits | None) -> str:
        """Return the media type. With `limits`, the exchange also brings hashes and first children of an item in
        memory."""
        self._forget_ahead()
        ref, number = self.ref(source), 0
        if limits is not None and isinstance(source, MemorySource):
            number = self.new_generator(ref)
        answer = self.ask(messages.Identify(ref, declared, number), messages.Type, limits)
        self._ahead = source, number, answer
        return answer.media_type

    def hashes_of(self, source: Source, handler: str, limits: Limits) -> messages.FarHashes:
        """Return the hashes of a message."""
        if self._ahead is not None and _same(self._ahead[0], source) and self._ahead[2].hashes is not None:
            return self._ahead[2].hashes
        return self.ask(messages.Hashes(self.ref(source), handler), messages.FarHashes, limits)

    def opened_ahead(self, source: Source) -> tuple[int, messages.Batch] | None:
        """Return the generator over this source that was opened when it was identified, and its first batch; once."""
        if self._ahead is None or not _same(self._ahead[0], source) or self._ahead[2].batch is None:
            return None
        _, number, answer = self._ahead
        batch, answer.batch = answer.batch, None
        return None if batch is None else (number, batch)

    def _forget_ahead(self) -> None:
        if self._ahead is not None and (unused := self.opened_ahead(self._ahead[0])) is not None:
            number, batch = unused
            self._close.append(number)
            self._forget += [child.key for child in batch.children if child.data is not None]
        self._ahead = None

    # Sources and generators

    def ref(self, source: Source) -> messages.Ref:
        """Return the sandbox's name of a source; the source is sent along if the sandbox does not know it yet."""
        if isinstance(source, MemorySource):
            known = self._known.get((id(source.data), source.name))
            if known is not None:
                return messages.Ref(known[0])
        if self._latest is not None and _same(self._latest[1], source):
            return messages.Ref(self._latest[0])
        self._forget_latest()
        self._keys += 1
        self._latest = self._keys, source
        if isinstance(source, MemorySource):
            return messages.Ref(self._keys, source.name, source.data)
        self._files.add(self._keys, source)
        return messages.Ref(self._keys, source.name, None, source.size)

    def _forget_latest(self) -> None:
        if self._latest is not None:
            key, self._latest = self._latest[0], None
            self._forget.append(key)
            self._files.release(key)

    def keep(self, key: int, name: bytes, data: bytes) -> None:
        """Note that the sandbox has a child's bytes already."""
        self._known[id(data), name] = key, data

    def drop(self, key: int, name: bytes, data: bytes) -> None:
        """Note that a child's bytes are no longer needed."""
        if self._known.get((id(data), name), (0,))[0] == key:
            del self._known[id(data), name]
        self._forget.append(key)

    def new_generator(self, ref: messages.Ref) -> int:
        """Return the number of a new generator over that source, which may be read until the generator ends."""
        self._generators += 1
        self._files.hold(ref.key)
        return self._generators

    def end_generator(self, number: int, ref: messages.Ref, settle: messages.Asked) -> None:
        """End the generator with the next request, or at once if files of ours are open for it."""
        self._close.append(number)
        self._files.release(ref.key)
        if self._files.open_of(ref.key) and not self._busy:
            self.ask(settle, messages.Count)


def _same(one: Source, other: Source) -> bool:
    if isinstance(one, MemorySource) and isinstance(other, MemorySource):
        return one.data is other.data and one.name == other.name
    return one is other


@dataclass(slots=True)
class RenderedItem:
    """The item whose pages are rendered; one at a time."""

    _rendering: Rendering | None = None
    _stack: ExitStack = field(default_factory=ExitStack)

    def open(self, source: Source, media_type: str, limits: Limits, choice: dict[str, Any]) -> int:
        """Open an item and return the number of its pages."""
        self.close()
        opened = pages.rendered(source, media_type, limits, OcrChoice(**choice))
        self._rendering = self._stack.enter_context(opened)
        return self._rendering.count

    def page(self, number: int) -> messages.Rendered:
        """Return one page. Raises KeyError when no item is open."""
        if self._rendering is None:
            raise KeyError("no item is open")
        page = self._rendering.page(number)
        return messages.Rendered(b"", None) if page is None else messages.Rendered(page.data, page.dpi)

    def close(self) -> None:
        """Close the item."""
        self._rendering = None
        self._stack.close()


@dataclass(frozen=True, slots=True)
class SandboxedRendering:
    """An item that is open in the sandbox."""

    sandbox: Sandbox
    count: int

    def page(self, number: int) -> Page | None:
        rendered = self.sandbox.ask(messages.Page(number), messages.Rendered)
        return Page(rendered.data, rendered.dpi or 70) if rendered.data else None


def sandboxed_rendering(sandbox: Sandbox) -> Any:
    """Return a function for `worker.ocr.pages.render_by` that renders in the sandbox."""

    @contextmanager
    def rendered(source: Source, media_type: str, limits: Limits, choice: OcrChoice) -> Iterator[Rendering]:
        asked = messages.OpenPages(sandbox.ref(source), media_type, dataclasses.asdict(choice))
        count = sandbox.ask(asked, messages.Count, limits).value
        try:
            yield SandboxedRendering(sandbox, count or 0)
        finally:
            sandbox.ask(messages.Settle(pages=True), messages.Count)

    return rendered


def install(sandbox: Sandbox) -> None:
    """Replace identification and every handler of this process by ones that forward to the sandbox. Waits until the
    sandbox is running: otherwise the fork server's loading would be charged to an item's time."""
    registry.replace(sandboxed(handler, sandbox) for handler in sandbox.introduced())
    identify_by(sandbox.identify)
    render_by(sandboxed_rendering(sandbox))


def sandboxed(handler: messages.Introduction, sandbox: Sandbox) -> Handler:
    """Return a handler that forwards to the sandbox's handler of this name."""
    return SandboxedLeaf(handler, sandbox) if handler.leaf else SandboxedHandler(handler, sandbox)


class SandboxedLeaf(LeafHandler):
    """Handler without children that forwards to the sandbox."""

    def __init__(self, handler: messages.Introduction, sandbox: Sandbox) -> None:
        self.name = handler.name
        self.media_types = handler.media_types
        self.container = handler.container
        self.splits = handler.splits
        self.whole = handler.whole
        self._sandbox = sandbox
        self._hashes = handler.hashes
        self._announces = handler.announces

    def text(self, source: Source, limits: Limits) -> Text:
        sandbox = self._sandbox
        far = sandbox.ask(messages.TakeText(sandbox.ref(source), self.name), messages.FarText, limits)
        try:
            return far.opened()
        except ValueError as error:
            sandbox.broken(error)

    def message_hashes(self, source: Source, limits: Limits) -> MessageHashes | None:
        if not self._hashes:
            return None
        far = self._sandbox.hashes_of(source, self.name, limits)
        if far.content is None:
            return None
        return MessageHashes(content_hash=far.content, message_id_hash=far.message_id)


class SandboxedHandler(SandboxedLeaf):
    """Handler with children that forwards to the sandbox."""

    def announced(self, source: Source) -> int | None:
        if not self._announces:
            return None
        return self._sandbox.ask(messages.Announced(self._sandbox.ref(source), self.name), messages.Count).value

    def parts(self, source: Source, target_bytes: int) -> list[Part]:
        if not self.splits:
            return []
        ranges = self._sandbox.ask(messages.Parts(self._sandbox.ref(source), self.name, target_bytes), messages.Ranges)
        try:
            return [one.part() for one in ranges.parts]
        except ValueError as error:
            self._sandbox.broken(error)

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        sandbox = self._sandbox
        ref = sandbox.ref(source)
        ahead = sandbox.opened_ahead(source) if part is None else None
        number = sandbox.new_generator(ref) if ahead is None else ahead[0]
        wanted = None if part is None else messages.range_of(part)
        try:
            batch = (
                sandbox.ask(messages.Children(ref, self.name, wanted, number), messages.Batch, limits)
                if ahead is None
                else ahead[1]
            )
            while True:
                error = None if batch.error is None else sandbox.raised(batch.error)
                yield from self._of(batch, number)
                if batch.ended:
                    break
                batch = sandbox.ask(messages.More(number), messages.Batch)
        finally:
            sandbox.end_generator(number, ref, messages.Settle())
        if error is not None:
            raise error

    def _of(self, batch: messages.Batch, number: int) -> Iterator[Child]:
        sandbox = self._sandbox
        last = len(batch.children) - 1
        for position, far in enumerate(batch.children):
            if far.stream and (position < last or far.data is not None or batch.ended):
                sandbox.broken("a stream where none is allowed")
            if far.data is not None:
                sandbox.keep(far.key, far.name, far.data)
            try:
                yield self._child(far, number)
            finally:
                if far.data is not None:
                    sandbox.drop(far.key, far.name, far.data)
                    far.data = None

    def _child(self, far: messages.FarChild, number: int) -> Child:
        try:
            notes = messages.unpacked(far.notes)
        except ValueError as error:
            self._sandbox.broken(error)
        return Child(
            name=far.name,
            kind=far.kind,
            ordinal=far.ordinal,
            data=far.data,
            stream=cast(BinaryIO, SandboxedStream(self._sandbox, number)) if far.stream else None,
            size_hint=far.size_hint,
            error=None if far.error is None else far.error.raised(),
            emit=far.emit,
            shown=far.shown,
            occurrence=far.occurrence,
            media_type=far.media_type,
            notes=notes,
        )


class SandboxedStream(ByteStream):
    """The bytes of a child that is too large for one message."""

    def __init__(self, sandbox: Sandbox, generator: int) -> None:
        super().__init__()
        self._sandbox = sandbox
        self._generator = generator

    def read(self, size: int = -1, /) -> bytes:
        """Return at most `size` bytes; b"" at the end."""
        wanted = CHUNK if size < 0 else size
        data = self._sandbox.ask(messages.Pull(self._generator, wanted), messages.Piece).data
        if len(data) > wanted:
            self._sandbox.broken("more bytes than requested")
        return data
