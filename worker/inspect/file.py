"""Unpacking of loose files without a database, for `edbench inspect`: the same engine, with other places for the
results.

It runs in a process of its own that may die: earlier results are in the spool file already, and the trace records which
file and which item it was reading."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import mmap
import os
import shutil
import signal
import struct
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from core.clock import SystemClock
from core.names import json_name
from core.places import item_id
from core.records import JobOptions
from core.storage.layer import Storage
from readers.base import Handler, MemorySource, Source, is_leaf
from readers.errors import DocumentError
from readers.identification.identify import identify
from readers.passwords import NO_PASSWORDS, Passwords
from readers.registry import handler_for
from sql.findings import ContainerCount, Item, ItemText
from worker.costs import Budget
from worker.inspect.summary import title_of
from worker.items import unpack
from worker.items.findings import Findings
from worker.items.loose import loose_row
from worker.items.sources import CHUNK, FilerSource, HashedSource, settled
from worker.items.texts import take_text
from worker.items.unpack import Convicted, Unpacker
from worker.ocr.candidates import is_candidate
from worker.slots.breadcrumb import Breadcrumb

if TYPE_CHECKING:
    from worker.ocr.reading import Reader


_FILE = struct.Struct("<QQ")  # behind the item's id
_ID = 16
TRACE_BYTES = _ID + _FILE.size
_NO_ITEM = bytes(_ID)


class Trace(Struct, frozen=True):
    """Last position of a process."""

    item: uuid.UUID | None  # None before the first item of a file
    position: int  # of the file among those it was given
    spooled: int  # bytes of its spool that belong to the files before


def new_trace(path: Path) -> None:
    """Create a file for the trace of a process."""
    path.write_bytes(bytes(TRACE_BYTES))


def read_trace(path: Path) -> Trace:
    """Read the trace that a process left in the file."""
    data = path.read_bytes()
    position, spooled = _FILE.unpack_from(data, _ID)
    return Trace(None if data[:_ID] == _NO_ITEM else uuid.UUID(bytes=data[:_ID]), position, spooled)


class Deadline(Breadcrumb):
    """Deadline that ends this process (SIGALRM, not caught) when one item takes longer than allowed.

    With `trace`, a file made by `new_trace`, the trace holds the file and the item being read at every moment, so that
    a death can be attributed."""

    def __init__(self, trace: Path | None = None) -> None:
        self._trace: mmap.mmap | None = None
        if trace is not None:
            with trace.open("r+b") as file:
                self._trace = mmap.mmap(file.fileno(), TRACE_BYTES)

    def begin(self, position: int, spooled: int) -> None:
        """Note that the file at this position is next; the spool has that many bytes of those before it."""
        if self._trace is not None:
            self._trace[:] = _NO_ITEM + _FILE.pack(position, spooled)

    def enter(self, item: uuid.UUID, seconds: float) -> None:
        if self._trace is not None:
            self._trace[:_ID] = item.bytes
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def leave(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    def close(self) -> None:
        """Close the trace; its content stays."""
        if self._trace is not None:
            self._trace.close()


NO_JOB = uuid.UUID(int=0)


class Loose(Struct, frozen=True, kw_only=True):
    """A loose file to inspect."""

    path: bytes  # absolute
    relative: bytes  # to the PATH argument
    special: tuple[str, DocumentError] | None = None  # media type and exception of what is no regular file


_OWN = {"passwords": NO_PASSWORDS}  # of this process, which inspects nothing else


def use_passwords(bank: Mapping[str, int]) -> None:
    """Set the passwords that this process tries: password → line."""
    _OWN["passwords"] = Passwords(bank)


class SpillStore:
    """Store of children that do not fit into memory, in a directory made on demand; other children are not kept."""

    def __init__(self, storage: Storage, directory: Path) -> None:
        self._storage = storage
        self._directory = directory
        self._made = False

    def _path(self, item: uuid.UUID) -> bytes:
        return os.fsencode(self._directory / item.hex)

    def put(self, item: uuid.UUID, chunks: Iterable[bytes]) -> bytes | None:
        """Keep bytes that the engine does not hold in memory anyway."""
        held: list[bytes] = []
        size = 0
        rest = iter(chunks)
        for chunk in rest:
            held.append(chunk)
            size += len(chunk)
            if size > unpack.KEEP_BYTES:
                self._directory.mkdir(exist_ok=True)
                self._made = True
                with open(self._path(item), "wb") as f:
                    f.writelines(itertools.chain(held, rest))
        return None

    def clear(self) -> None:
        """Remove all kept children."""
        if self._made:
            self._made = False
            shutil.rmtree(self._directory, ignore_errors=True)

    def source(self, item: uuid.UUID, name: bytes, size: int, sha256: bytes) -> Source:
        return FilerSource(self._storage, self._path(item), name, size, own=True, passwords=_OWN["passwords"])


def spill_directory(spool: Path) -> Path:
    """Return the directory of children that do not fit into memory."""
    return spool.with_name(f"{spool.name}-children")


def inspect_files(
    files: Sequence[Loose],
    options: JobOptions,
    spool: Path,
    *,
    trace: Path | None = None,
    convicted: Convicted | None = None,
) -> dict[str, str]:
    """Append one JSON line for each item found to `spool`, file by file; children come before the items that contain
    them. Returns the titles of formats by the media types that were found, so that counting them requires no reader.

    `trace` always records which file and item is being read; the `convicted` are items at which earlier processes died,
    and they are not read again."""
    storage = Storage()
    storage.keep_below(os.fsencode(spill_directory(spool)), own=True)
    children = SpillStore(storage, spill_directory(spool))
    with spool.open("ab") as out, contextlib.closing(Deadline(trace)) as breadcrumb:
        spooled = out.tell()

        def write(line: bytes) -> None:
            nonlocal spooled
            out.write(line)
            out.flush()
            spooled += len(line)

        inspection = _Inspection(options, write, children, breadcrumb, convicted or {}, storage)
        for position, loose in enumerate(files):
            breadcrumb.begin(position, spooled)
            try:
                inspection.run(loose)
            finally:
                children.clear()
    return {media_type: title_of(media_type) for media_type in inspection.met}


class _Inspection:
    def __init__(
        self,
        options: JobOptions,
        write: Callable[[bytes], None],
        children: SpillStore,
        breadcrumb: Deadline,
        convicted: Convicted,
        storage: Storage,
    ) -> None:
        self.options = options
        self.write = write
        self.breadcrumb = breadcrumb
        self.convicted = convicted
        self.storage = storage
        self.out = Findings()
        self.texts: list[tuple[str, ItemText]] = []  # of the items being read, the innermost last
        self.met: set[str] = set()  # media types
        self.unpacker = Unpacker(
            job=NO_JOB,
            options=options,
            store=children,
            breadcrumb=breadcrumb,
            out=self.out,
            on_item=self._text,
            convicted=convicted,
            on_done=self._done,
            passwords=_OWN["passwords"],
        )

    def run(self, loose: Loose) -> None:
        """Inspect one file."""
        unpacker = self.unpacker
        ident = item_id(NO_JOB, None, loose.relative)
        self.breadcrumb.enter(ident, self.options.limits.item_seconds)
        try:
            if ident in self.convicted:
                raise DocumentError(*self.convicted[ident])
            source, sha256 = self._read(loose)
            self.breadcrumb.enter(ident, unpacker.seconds(source.size))
            media_type = identify(source, None)
        except DocumentError as e:
            item = loose_row(NO_JOB, 0, loose.relative)
            unpacker.emit(item, None, handler_for(item.media_type))
            self.out.item_failed(item.id, e)
        else:
            handler = handler_for(media_type)
            item = loose_row(
                NO_JOB,
                0,
                loose.relative,
                ident=ident,
                media_type=media_type,
                container=handler.container,
                size=source.size,
                sha256=sha256,
            )
            unpacker.emit(item, source, handler)
            if not is_leaf(handler):
                unpacker.open(item, source, handler, Budget(self.options.limits, source.size))
        self._done(item)
        self.breadcrumb.leave()

    def _read(self, loose: Loose) -> tuple[Source, bytes]:
        """The file and its SHA-256; a small one is read once and stays in memory."""
        name = os.path.basename(loose.relative)
        self.storage.keep_below(loose.path.removesuffix(loose.relative))
        with self.storage.open(loose.path) as f:
            size, mtime_ns = f.size, f.mtime_ns
            if size <= CHUNK:
                data = f.readall()
                return MemorySource(name, data, _OWN["passwords"]), hashlib.sha256(data).digest()
            ctime_ns = settled(f)
        source = FilerSource(self.storage, loose.path, name, size, own=False, passwords=_OWN["passwords"])
        digest, source.size = source.digest()
        return HashedSource(source, digest, mtime_ns, ctime_ns=ctime_ns), digest

    def _text(self, item: Item, source: Source | None, handler: Handler) -> None:
        options = self.options
        asked = options.ocr.asked
        text, row = take_text(item, source, handler, options.limits, self.out, options.time_zone, ocr=asked)
        if asked and source is not None and is_candidate(item, row):
            text, row = self._reader().read(item, row, source, self.out, text)
            self.breadcrumb.enter(item.id, options.limits.item_deadline(item.size))
        self.texts.append((text, row))

    def _reader(self) -> Reader:
        from worker.ocr.reading import Reader
        from worker.ocr.tesseract import find_engine  # it brings tesseract's services along

        return Reader(
            engine=find_engine(),
            choice=self.options.ocr,
            limits=self.options.limits,
            clock=SystemClock(),
            enter=self.breadcrumb.enter,
        )

    def _done(self, item: Item) -> None:
        """Write the item and forget it, so that a mail store of any size needs no memory for its messages."""
        ident, out = item.id, self.out
        text, row = self.texts.pop()
        codes: list[str] = []
        counts: list[ContainerCount] = []
        if out.exceptions:
            codes = sorted({e.code.value for e in out.exceptions if e.item == ident})
            out.exceptions = [e for e in out.exceptions if e.item != ident]
            out.known = {k for k in out.known if k[0] != ident}
        if out.containers:
            counts = [c for c in out.containers if c.item == ident]
            out.containers = [c for c in out.containers if c.item != ident]
        if out.notes:
            out.notes.pop(ident, None)
        out.items.clear()
        self.met.add(item.media_type)
        self.write(msgspec.json.encode(line_of(item, text, row, codes, counts)) + b"\n")


def _children(counts: Sequence[ContainerCount]) -> dict[str, Any] | None:
    """Return the counts of an item's children; None for an item that has none."""
    if not counts:
        return None
    announced = [c.announced for c in counts if c.announced is not None]
    return {
        "announced": max(announced, default=None),
        "emitted": sum(c.emitted for c in counts),
        "failed": sum(c.failed for c in counts),
        "remainder_unknown": any(c.remainder_unknown for c in counts),
    }


def line_of(
    item: Item, text: str, row: ItemText | None, codes: list[str], counts: Sequence[ContainerCount] = ()
) -> dict[str, Any]:
    """One item as `inspect -o jsonl` prints it."""
    return {
        "container_path": list(item.container_path),
        "id": item.id.hex,
        "parent": item.parent.hex if item.parent else None,
        **json_name(item.name),
        "kind": item.kind.value,
        "container": item.container,
        "media_type": item.media_type,
        "bytes": item.size,
        "sha256": item.sha256.hex() if item.sha256 else None,
        "text_state": row.state.value if row else "failed",
        "pages": row.pages if row else 0,
        "text": text,
        "metadata": row.metadata if row else {},
        "exceptions": codes,
        "children": _children(counts),
    }
