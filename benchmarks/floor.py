"""The floor: a plain program that does only what cannot be avoided, on the same number of processes.

Reads each loose file, unpacks it with the same handlers, hashes, writes the children, reads all but containers again,
takes the text and feeds the same index engine. No queue, no database, no rows, no call records, no limits beyond
the handlers' own, no recovery. The pipeline's rate over this one's is what the framework costs.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.names import display_name
from core.operations import NullRecorder
from core.records import Limits
from core.storage.layer import Storage
from readers.base import Child, MemorySource, Source
from readers.errors import DocumentError
from readers.identification.identify import identify
from readers.registry import handler_for
from worker.indexes.base import IndexDocument
from worker.indexes.registry import new_writer
from worker.items.sources import FilerSource

_LIMITS = Limits()
_STORAGE = Storage(NullRecorder())
_CHUNK = 1 << 20
_ITEMS_A_BATCH = 200

Written = tuple[str, str, int]  # path, media type, size


@dataclass(frozen=True, slots=True)
class Floor:
    """What the floor did and how long it took."""

    seconds: float
    raw_bytes: int
    discovered_bytes: int
    items: int


def _source(path: str, size: int) -> FilerSource:
    return FilerSource(_STORAGE, os.fsencode(path), os.path.basename(os.fsencode(path)), size, own=False)


def _expand(job: tuple[str, str]) -> tuple[int, list[Written]]:
    path, out = job
    size = os.path.getsize(path)
    written: list[Written] = []
    data = Path(path).read_bytes() if size <= 16_000_000 else None
    source: Source = MemorySource(os.fsencode(path), data) if data is not None else _source(path, size)
    hashlib.sha256(data).digest() if data is not None else _source(path, size).digest()
    media_type = identify(source, None)
    written.append((path, media_type, size))
    budget = [max(_LIMITS.expansion_floor, int(_LIMITS.expansion_ratio * size))]
    _children(source, media_type, out, written, 0, budget)
    return size, written


def _children(
    source: Source, media_type: str, out: str, writtens: list[Written], depth: int, budget: list[int]
) -> None:
    if depth >= _LIMITS.depth or source.size == 0:
        return
    try:
        for child in handler_for(media_type).children(source, _LIMITS):
            taken = _write(child, out, budget)
            if taken is not None:
                path, inner = taken
                kind = identify(inner, child.media_type)
                writtens.append((path, kind, inner.size))
                _children(inner, kind, out, writtens, depth + 1, budget)
    except DocumentError:
        return


def _write(child: Child, out: str, budget: list[int]) -> tuple[str, Source] | None:
    if child.data is None and child.stream is None:
        return None
    name = uuid.uuid4().hex
    path = os.path.join(out, name[:2], name)
    state, size = hashlib.sha256(), 0
    try:
        with open(path, "wb", buffering=0) as f:
            for chunk in _chunks(child):
                budget[0] -= len(chunk)
                if budget[0] < 0:
                    break
                state.update(chunk)
                f.write(chunk)
                size += len(chunk)
    except DocumentError:
        pass
    if budget[0] < 0:
        os.remove(path)
        return None
    inner: Source = MemorySource(child.name, child.data) if child.data is not None else _source(path, size)
    return path, inner


def _chunks(child: Child) -> Iterator[bytes]:
    if child.data is not None:
        yield child.data
    elif child.stream is not None:
        while chunk := child.stream.read(_CHUNK):
            yield chunk


def _index(job: tuple[list[Written], str]) -> None:
    batch, directory = job
    writer = new_writer("tantivy", Path(directory) / uuid.uuid4().hex)
    for path, media_type, size in batch:
        handler = handler_for(media_type)
        body = ""
        if not handler.container:
            data = Path(path).read_bytes() if size <= 16_000_000 else None
            source: Source = MemorySource(os.fsencode(path), data) if data is not None else _source(path, size)
            try:
                body = handler.text(source, _LIMITS).text
            except DocumentError:
                body = ""
        name = display_name(os.fsencode(path))
        writer.add(IndexDocument(item=uuid.uuid4(), owner="", body=body, type=media_type, path=name))
    writer.finish()
    writer.close()


def measure(corpus: Path, workspace: Path, processes: int) -> Floor:
    """Run the floor over a corpus; `workspace` is emptied first and should lie where the storage root would."""
    shutil.rmtree(workspace, ignore_errors=True)
    for number in range(256):
        (workspace / "items" / f"{number:02x}").mkdir(parents=True)
    (workspace / "index").mkdir()
    paths = sorted((p for p in (corpus / "data").rglob("*") if p.is_file()), key=lambda p: -p.stat().st_size)
    context = multiprocessing.get_context("fork")
    start = time.monotonic()
    written: list[Written] = []
    raw = 0
    with context.Pool(processes) as pool:
        for size, children in pool.imap_unordered(_expand, [(str(p), str(workspace / "items")) for p in paths], 4):
            raw += size
            written += children
        batches = [written[i : i + _ITEMS_A_BATCH] for i in range(0, len(written), _ITEMS_A_BATCH)]
        for _ in pool.imap_unordered(_index, [(b, str(workspace / "index")) for b in batches]):
            pass
    seconds = time.monotonic() - start
    loose = {str(p) for p in paths}
    extracted = sum(size for path, _, size in written if path not in loose)
    shutil.rmtree(workspace, ignore_errors=True)
    return Floor(seconds=seconds, raw_bytes=raw, discovered_bytes=raw + extracted, items=len(written))
