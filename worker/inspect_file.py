"""Unpacks one loose file without any database, for `edbench inspect`: the same engine, other places to put things.

Runs in a process of its own that may die: what was found before is in the spool file already.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import mmap
import os
import shutil
import signal
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.errors import DocumentError
from core.ids import item_id
from core.names import json_name
from core.operations import NullRecorder
from core.records import ContainerCount, Item, ItemText, JobOptions
from core.storage import Storage
from worker import store
from worker.budget import Budget
from worker.context import NoBreadcrumb
from worker.findings import Findings
from worker.formats.base import Handler, MemorySource, Source
from worker.formats.passwords import NO_PASSWORDS, Passwords
from worker.formats.registry import handler_for
from worker.identify import identify
from worker.loose import loose_row
from worker.sources import CHUNK, FilerSource
from worker.texts import take_text
from worker.unpack import Convicted, Unpacker

_JSON = json.JSONEncoder(ensure_ascii=False).encode
NO_JOB = uuid.UUID(int=0)
TRACE_BYTES = 16  # an item's id


@dataclass(frozen=True, slots=True, kw_only=True)
class Loose:
    """A loose file to inspect."""

    path: bytes  # absolute
    relative: bytes  # to the PATH argument
    special: tuple[str, DocumentError] | None = None  # media type and exception of what is no regular file


class Deadline(NoBreadcrumb):
    """Ends this process (SIGALRM, not caught) when one item takes longer than it may. With `trace`, a file of
    `TRACE_BYTES`, the item being read stands in it at every moment, so that a death can be attributed."""

    def __init__(self, trace: Path | None = None) -> None:
        self._trace: mmap.mmap | None = None
        if trace is not None:
            with trace.open("r+b") as file:
                self._trace = mmap.mmap(file.fileno(), TRACE_BYTES)

    def enter(self, item: uuid.UUID, seconds: float) -> None:
        if self._trace is not None:
            self._trace[:] = item.bytes
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def leave(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)


_OWN = {"passwords": NO_PASSWORDS}  # of this process, which inspects nothing else


def use_passwords(bank: Mapping[str, int]) -> None:
    """Have this process try a bank, password → line."""
    _OWN["passwords"] = Passwords(bank)


class SpillStore:
    """Children that do not fit into memory go to a directory, made when it is needed; the others are not kept at all."""

    def __init__(self, storage: Storage, directory: Path) -> None:
        self._storage = storage
        self._directory = directory

    def _path(self, item: uuid.UUID) -> bytes:
        return os.fsencode(self._directory / item.hex)

    def put(self, item: uuid.UUID, chunks: Iterable[bytes]) -> bytes | None:
        """Keeps what the engine does not hold in memory anyway."""
        held: list[bytes] = []
        size = 0
        rest = iter(chunks)
        for chunk in rest:
            held.append(chunk)
            size += len(chunk)
            if size > store.KEEP_BYTES:
                self._directory.mkdir(exist_ok=True)
                with open(self._path(item), "wb") as f:
                    f.writelines(itertools.chain(held, rest))
        return None

    def close(self) -> None:
        """Remove what was kept."""
        if self._directory.exists():
            shutil.rmtree(self._directory, ignore_errors=True)

    def source(self, item: uuid.UUID, name: bytes, size: int) -> Source:
        return FilerSource(self._storage, self._path(item), name, size, own=True, passwords=_OWN["passwords"])


def inspect_file(
    loose: Loose, options: JobOptions, spool: Path, *, trace: Path | None = None, convicted: Convicted | None = None
) -> None:
    """Append one JSON line for each item found to `spool`; children come before what they lie in.

    `trace` is a file of `TRACE_BYTES` that always names the item being read; the `convicted` are those at which
    earlier processes died, and they are not read again.
    """
    with (
        spool.open("a", encoding="utf-8") as out,
        contextlib.closing(SpillStore(Storage(NullRecorder()), spool.with_name(f"{spool.name}-children"))) as children,
    ):

        def write(line: dict[str, Any]) -> None:
            out.write(_JSON(line) + "\n")
            out.flush()

        crumb = Deadline(trace)
        _Inspection(options, write, children, crumb, convicted or {}).run(loose)


@dataclass(slots=True)
class _Inspection:
    options: JobOptions
    write: Callable[[dict[str, Any]], None]
    children: SpillStore
    crumb: Deadline
    convicted: Convicted
    out: Findings = field(default_factory=Findings)
    texts: dict[uuid.UUID, tuple[str, ItemText]] = field(default_factory=dict)
    storage: Storage = field(default_factory=lambda: Storage(NullRecorder()))

    def run(self, loose: Loose) -> None:
        unpacker = Unpacker(
            job=NO_JOB,
            options=self.options,
            store=self.children,
            crumb=self.crumb,
            out=self.out,
            on_item=self._text,
            convicted=self.convicted,
            on_done=self._done,
            passwords=_OWN["passwords"],
        )
        ident = item_id(NO_JOB, None, loose.relative)
        self.crumb.enter(ident, self.options.limits.item_seconds)
        try:
            if ident in self.convicted:
                raise DocumentError(*self.convicted[ident])
            source, sha256 = self._read(loose)
            self.crumb.enter(ident, unpacker.seconds(source.size))
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
                media_type=media_type,
                container=handler.container,
                size=source.size,
                sha256=sha256,
            )
            unpacker.emit(item, source, handler)
            unpacker.open(item, source, handler, Budget(self.options.limits, source.size))
        self._done(item)
        self.crumb.leave()

    def _read(self, loose: Loose) -> tuple[Source, bytes]:
        """The file and its SHA-256; a small one is read once and stays in memory."""
        name = os.path.basename(loose.relative)
        with self.storage.open(loose.path) as f:
            size = f.size
            if size <= CHUNK:
                data = f.readall()
                return MemorySource(name, data, _OWN["passwords"]), hashlib.sha256(data).digest()
        source = FilerSource(self.storage, loose.path, name, size, own=False, passwords=_OWN["passwords"])
        digest, _ = source.digest()
        return source, digest

    def _text(self, item: Item, source: Source | None, handler: Handler) -> None:
        self.texts[item.id] = take_text(item, source, handler, self.options.limits, self.out)

    def _done(self, item: Item) -> None:
        """Write the item and forget it, so that a mail store of any size needs no memory for its messages."""
        text, row = self.texts.pop(item.id)
        codes: dict[uuid.UUID, set[str]] = defaultdict(set)
        for exception in self.out.exceptions:
            codes[exception.item].add(exception.code.value)
        counts = [c for c in self.out.containers if c.item == item.id]
        self.write(line_of(item, text, row, sorted(codes.pop(item.id, set())), counts))
        self.out.exceptions = [e for e in self.out.exceptions if e.item != item.id]
        self.out.known = {k for k in self.out.known if k[0] != item.id}
        self.out.notes.pop(item.id, None)
        self.out.items.clear()
        self.out.containers = [c for c in self.out.containers if c.item != item.id]


def _children(counts: Sequence[ContainerCount]) -> dict[str, Any] | None:
    """What became of the children of an item; None for one that has none."""
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
    """One item as `inspect --jsonl` prints it."""
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
