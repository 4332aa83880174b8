"""Writing a trace file (docs/dev/trace-format.md)."""

from __future__ import annotations

import contextlib
import os
import secrets
import zlib
from collections import defaultdict
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from types import TracebackType

from core.errors import UsageError
from traces import blocks
from traces.directory import Directory, Place, directory_bytes
from traces.model import Call, Node, Trace, TraceHeader

_MOST_HELD = 8 * blocks.BLOCK_CALLS  # calls of all streams that wait for their block to be full


class TraceWriter:
    """A trace file being written, with bounded memory. As a context manager: nothing is left of a file that was not
    finished, and one of that name is replaced only by a whole one.

    `add` the calls of each stream in order, streams in any order; then `finish`, once. Raises UsageError when the
    file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._part = path.with_name(f"{path.name}.{secrets.token_hex(6)}.tmp")
        self._held: defaultdict[int, list[Call]] = defaultdict(list)
        self._holding = 0
        self._places: defaultdict[int, list[Place]] = defaultdict(list)
        self._last_start: defaultdict[int, int] = defaultdict(int)
        self._at = 0
        try:
            self._file = open(self._part, "xb")  # noqa: SIM115 (closed by finish and abort)
        except OSError as e:
            raise self._refusal(e) from e
        self._write(blocks.MAGIC)

    def add(self, stream: int, call: Call) -> None:
        """The next call of this stream; ValueError if it starts before the one before it."""
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
        """Write what is left and give the file its name; its size in bytes.

        ValueError if the header's streams do not count the calls that were added.
        """
        for stream in list(self._held):
            self._write_calls(stream)
        counts = {stream: sum(place.count for place in places) for stream, places in self._places.items()}
        if counts != {number: s.calls for number, s in enumerate(header.streams) if s.calls}:
            raise ValueError(f"the header counts {[s.calls for s in header.streams]} calls, not {counts}")
        directory = Directory(
            header=header,
            nodes=self._write_nodes(nodes),
            calls=tuple(tuple(self._places[number]) for number in range(len(header.streams))),
        )
        start = self._at
        self._write(blocks.packed(blocks.DIRECTORY, directory_bytes(directory)))
        numbers = blocks.TRAILER_COUNTS.pack(start, header.calls, directory.node_count)
        self._write(numbers + zlib.crc32(numbers).to_bytes(4, "little") + blocks.END_MARK)
        try:
            self._file.close()
            os.replace(self._part, self.path)
        except OSError as e:
            raise self._refusal(e) from e
        return self._at

    def abort(self) -> None:
        """Leave nothing behind; nothing happens after `finish`."""
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
        self._places[stream].append(self._write_block(blocks.call_block(calls), len(calls)))

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
        try:
            self._file.write(data)
        except OSError as e:
            raise self._refusal(e) from e
        self._at += len(data)

    def _refusal(self, error: OSError) -> UsageError:
        return UsageError(f"cannot write the trace {self.path}: {error.strerror or error}")


def write_trace(trace: Trace, path: Path) -> int:
    """A whole trace into a file, replacing one of that name; its size in bytes. Raises UsageError."""
    with TraceWriter(path) as writer:
        for stream in range(len(trace.header.streams)):
            for call in trace.calls(stream):
                writer.add(stream, call)
        return writer.finish(trace.header, trace.nodes)
