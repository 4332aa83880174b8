"""Reading a trace file (docs/dev/trace-format.md)."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import TracebackType

from core.errors import UsageError, read_problem
from traces import blocks
from traces.blocks import Damaged
from traces.directory import Directory, Place, directory_of
from traces.model import Call, TraceHeader


class FileTrace:
    """A trace in a file; satisfies `Trace`. Its calls are read block by block as they are asked for, any number of
    streams at once, also by processes forked after it was opened; its nodes are held in memory, 19 bytes each.

    Whatever is wrong with the file is a UsageError that names it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = -1
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self.size = os.fstat(self._fd).st_size  # bytes
            self._directory = self._read_directory()
        except OSError as e:
            self.close()
            raise UsageError(read_problem(f"the trace {path}", e)) from e
        except Damaged as e:
            self.close()
            raise self._refusal(e) from e
        except BaseException:
            self.close()
            raise

    @property
    def header(self) -> TraceHeader:
        return self._directory.header

    @cached_property
    def nodes(self) -> blocks.NodeTable:
        """Read on first use."""
        table = blocks.NodeTable()
        for place in self._directory.nodes:
            try:
                table.extend(self._block(place))
            except Damaged as e:
                raise self._refusal(e) from e
        if len(table) != self._directory.node_count:
            raise self._refusal(Damaged("the number of nodes differs from its directory"))
        return table

    def calls(self, stream: int) -> Iterator[Call]:
        """The calls of one stream in order; raises UsageError when the file is damaged."""
        nodes, phases = self._directory.node_count, len(self.header.phases)
        for place in self._directory.calls[stream]:
            try:
                calls = list(blocks.calls_of(self._block(place), nodes, phases))
            except Damaged as e:
                raise self._refusal(e) from e
            if len(calls) != place.count:
                raise self._refusal(Damaged("the number of calls in a block differs from its directory"))
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
        if (directory.header.calls, directory.node_count) != (calls, nodes):
            raise Damaged("its counts disagree")
        return directory

    def _block(self, place: Place) -> bytes:
        if not 0 < place.length <= self.size:
            raise Damaged("a block is outside the file")
        data = os.pread(self._fd, place.length, place.offset)
        if len(data) != place.length:
            raise Damaged("a block is cut short")
        return data

    def _refusal(self, error: Damaged) -> UsageError:
        return UsageError(f"the trace {self.path} is damaged: {error}; copy it again")


def open_trace(path: Path) -> FileTrace:
    """A trace file, opened; use it in a `with`. Raises UsageError, in one line, for a file that cannot be read, is no
    trace, is cut short or damaged, or is of a newer format."""
    return FileTrace(path)
