"""Reading and writing of trace files (docs/dev/trace-format.md): blocks, then the directory."""

from __future__ import annotations

import contextlib
import os
import secrets
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
from msgspec import Struct

from core.errors import UsageError, read_problem, system_errors
from traces import blocks
from traces.blocks import Damaged
from traces.model import Call, Natural, Node, Stream, TraceHeader


class Place(Struct, array_like=True, frozen=True):
    """Position of a block in the file."""

    offset: Natural
    length: Natural
    count: Natural  # calls or nodes in it


class StoredStream(Stream, frozen=True, kw_only=True, omit_defaults=True):
    """A stream, and where its calls are."""

    blocks: tuple[Place, ...]  # in order


class Directory(Struct, frozen=True):
    """Directory of a trace: a reader needs it before any block. The file holds it as JSON with these fields."""

    created: float
    duration_ns: Natural
    phases: tuple[str, ...]
    origin: Mapping[str, Any]
    lost: Natural
    streams: tuple[StoredStream, ...]
    nodes: tuple[Place, ...]

    @property
    def calls(self) -> int:
        """Number of calls of all streams."""
        return sum(stream.calls for stream in self.streams)

    @property
    def node_count(self) -> int:
        """Number of nodes in all node blocks."""
        return sum(place.count for place in self.nodes)


def directory_of(raw: bytes) -> Directory:
    """Read the directory of a file. Raises Damaged."""
    try:
        directory = msgspec.json.decode(raw, type=Directory)
    except (msgspec.DecodeError, RecursionError) as e:
        raise Damaged("its directory is damaged") from e
    if any(stream.calls != sum(place.count for place in stream.blocks) for stream in directory.streams):
        raise Damaged("its directory contradicts itself")
    return directory


class FileTrace:
    """A trace in a file; satisfies `Trace`.

    Its calls are read block by block on demand, any number of streams at once, also by processes forked after it was
    opened; its nodes are held in memory, 19 bytes each. Any damage of the file is a UsageError that names it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = -1
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self.size = os.fstat(self._fd).st_size  # bytes
            with self._undamaged():
                self._directory = self._read_directory()
        except OSError as e:
            self.close()
            raise UsageError(read_problem(f"the trace {path}", e)) from e
        except BaseException:
            self.close()
            raise

    @cached_property
    def header(self) -> TraceHeader:
        return msgspec.convert(self._directory, TraceHeader, from_attributes=True)

    @cached_property
    def nodes(self) -> blocks.NodeTable:
        """Nodes of the trace, read on first use."""
        table = blocks.NodeTable()
        with self._undamaged():
            for place in self._directory.nodes:
                table.extend(self._block(place))
            if len(table) != self._directory.node_count:
                raise Damaged("the number of nodes differs from its directory")
        return table

    def calls(self, stream: int) -> Iterator[Call]:
        """Yield the calls of one stream in order. Raises UsageError if the file is damaged."""
        nodes, phases = self._directory.node_count, len(self._directory.phases)
        for place in self._directory.streams[stream].blocks:
            with self._undamaged():
                calls = list(blocks.calls_of(self._block(place), nodes, phases))
                if len(calls) != place.count:
                    raise Damaged("the number of calls in a block differs from its directory")
            yield from calls

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> FileTrace:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _read_directory(self) -> Directory:
        begin = os.pread(self._fd, len(blocks.MAGIC), 0)
        if not begin.startswith(blocks.MAGIC_ANY):
            raise UsageError(f"{self.path} is not a trace of edbench; `edbench discover --trace` records one")
        if begin != blocks.MAGIC:
            version = begin[len(blocks.MAGIC_ANY) :].split(b"\n")[0].decode("ascii", "replace")
            raise UsageError(
                f"{self.path} is a trace of format {version!r}, which a newer edbench wrote; use that version"
            )
        trailer = os.pread(self._fd, blocks.TRAILER.size, max(0, self.size - blocks.TRAILER.size))
        if len(trailer) < blocks.TRAILER.size or not trailer.endswith(blocks.END_MARK):
            raise UsageError(f"the trace {self.path} is cut short: its end is missing; copy it again")
        offset, calls, nodes, check, _ = blocks.TRAILER.unpack(trailer)
        if check != zlib.crc32(trailer[: blocks.TRAILER_COUNTS.size]):
            raise Damaged("its last bytes are damaged")
        place = Place(offset=offset, length=self.size - blocks.TRAILER.size - offset, count=1)
        directory = directory_of(blocks.unpacked(self._block(place), blocks.DIRECTORY))
        if (directory.calls, directory.node_count) != (calls, nodes):
            raise Damaged("its counts disagree")
        return directory

    def _block(self, place: Place) -> bytes:
        if not 0 < place.length <= self.size:
            raise Damaged("a block is outside the file")
        data = os.pread(self._fd, place.length, place.offset)
        if len(data) != place.length:
            raise Damaged("a block is cut short")
        return data

    @contextlib.contextmanager
    def _undamaged(self) -> Iterator[None]:
        """Report damage that is found in the block as UsageError."""
        try:
            yield
        except Damaged as e:
            raise UsageError(f"the trace {self.path} is damaged: {e}; copy it again") from e


def open_trace(path: Path) -> FileTrace:
    """Open a trace file; use it in a `with`. Raises UsageError, in one line, for a file that cannot be read, is not a
    trace, is cut short or damaged, or has a newer format."""
    return FileTrace(path)


_MOST_HELD = 8 * blocks.BLOCK_CALLS  # calls of all streams in blocks that are not full


class TraceWriter:
    """Writer of a trace file, with bounded memory.

    It is a context manager: an unfinished file is removed, and an existing file of that name is replaced only by a
    whole one. `add` the calls of each stream in order, streams in any order; then `finish`, once. Raises UsageError if
    the file cannot be written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._part = path.with_name(f"{path.name}.{secrets.token_hex(6)}.tmp")
        self._held: defaultdict[int, list[Call]] = defaultdict(list)
        self._holding = 0
        self._places: defaultdict[int, list[Place]] = defaultdict(list)
        self._last_start: defaultdict[int, int] = defaultdict(int)
        self._at = 0
        self._writing = partial(system_errors, UsageError, f"cannot write the trace {path}")
        with self._writing():
            self._file = open(self._part, "xb")  # noqa: SIM115 (closed by finish and abort)
        self._write(blocks.MAGIC)

    def add(self, stream: int, call: Call) -> None:
        """Add the next call of this stream. Raises ValueError if it starts before the previous one."""
        if call.start_ns < self._last_start[stream]:
            raise ValueError(
                f"stream {stream}: a call at {call.start_ns} ns after one at {self._last_start[stream]} ns"
            )
        self._last_start[stream] = call.start_ns
        held = self._held[stream]
        held.append(call)
        self._holding += 1
        if len(held) >= blocks.BLOCK_CALLS:
            self._write_calls(stream)
        elif self._holding >= _MOST_HELD:
            self._write_calls(max(self._held, key=lambda s: len(self._held[s])))

    def finish(self, header: TraceHeader, nodes: Iterable[Node]) -> int:
        """Write the rest, give the file its name, and return its size in bytes.

        Raises ValueError if the header's streams do not count the calls that were added."""
        for stream in list(self._held):
            self._write_calls(stream)
        counts = {stream: sum(place.count for place in places) for stream, places in self._places.items()}
        if counts != {number: s.calls for number, s in enumerate(header.streams) if s.calls}:
            raise ValueError(f"the header counts {[s.calls for s in header.streams]} calls, not {counts}")
        streams = tuple(
            StoredStream(**msgspec.structs.asdict(stream), blocks=tuple(self._places[number]))
            for number, stream in enumerate(header.streams)
        )
        directory = Directory(
            header.created, header.duration_ns, header.phases, dict(header.origin), header.lost, streams,
            self._write_nodes(nodes),
        )  # fmt: skip
        start = self._at
        self._write(blocks.packed(blocks.DIRECTORY, msgspec.json.encode(directory)))
        numbers = blocks.TRAILER_COUNTS.pack(start, header.calls, directory.node_count)
        self._write(numbers + zlib.crc32(numbers).to_bytes(4, "little") + blocks.END_MARK)
        with self._writing():
            self._file.close()
            os.replace(self._part, self.path)
        return self._at

    def abort(self) -> None:
        """Remove the unfinished file; do nothing after `finish`."""
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            self._part.unlink(missing_ok=True)

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.abort()

    def _write_calls(self, stream: int) -> None:
        calls = self._held.pop(stream)
        self._holding -= len(calls)
        block = blocks.columns_block(tuple(zip(*calls, strict=True)))
        self._places[stream].append(self._write_block(block, len(calls)))

    def _write_nodes(self, nodes: Iterable[Node]) -> tuple[Place, ...]:
        places: list[Place] = []
        rest = iter(nodes)
        first = 0
        while some := list(islice(rest, blocks.BLOCK_NODES)):
            places.append(self._write_block(blocks.node_block(some, first), len(some)))
            first += len(some)
        return tuple(places)

    def _write_block(self, block: bytes, count: int) -> Place:
        place = Place(offset=self._at, length=len(block), count=count)
        self._write(block)
        return place

    def _write(self, data: bytes) -> None:
        with self._writing():
            self._file.write(data)
        self._at += len(data)
