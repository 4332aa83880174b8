"""Lossless conversion of a trace to JSON lines and back."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TextIO

import msgspec
from msgspec import Meta, Struct

from core.errors import UsageError, read_problem
from core.operations import Op
from traces.file import TraceWriter
from traces.model import NO_NODE, Call, Natural, Node, NodeKind, Stream, Trace, TraceHeader

FORMAT = "edbench-trace-jsonl/1"
_OPS = {op.label: op for op in Op}
_KINDS = {kind.name.lower(): kind for kind in NodeKind}

Other = Annotated[int, Meta(ge=NO_NODE, le=(1 << 63) - 1)]  # a node, or none


class ExportFormat(enum.StrEnum):
    """Format of an exported trace."""

    JSONL = "jsonl"
    FIO = "fio"
    ELBENCHO = "elbencho"


class _TraceLine(Struct, tag_field="type", tag="trace"):
    format: str
    created: float
    duration_ns: Natural
    phases: tuple[str, ...]
    streams: tuple[Stream, ...]
    origin: dict[str, Any]
    lost: Natural


class _CallLine(Struct, tag_field="type", tag="call"):
    stream: Natural
    op: str
    start_ns: Natural
    duration_ns: Natural
    bytes: Natural
    argument: Natural
    node: Natural
    other: Other
    error: Natural
    phase: Natural


class _NodeLine(Struct, tag_field="type", tag="node"):
    node: Natural
    parent: Other
    kind: str
    existed: bool
    size: Natural
    ratio: Natural
    name_bytes: Natural


class _EndLine(Struct, tag_field="type", tag="end"):
    calls: int
    nodes: int


_Line = _CallLine | _NodeLine | _EndLine
_encode = msgspec.json.Encoder().encode
_FIRST, _OTHERS = msgspec.json.Decoder(_TraceLine), msgspec.json.Decoder(_Line)


def export_jsonl(trace: Trace, out: TextIO) -> None:
    """Write one object a line: the trace, its calls stream by stream, its nodes, and a last line that counts both.

    Raises UsageError if the trace is damaged, OSError if it cannot be written."""
    out.writelines(_encode(line).decode() + "\n" for line in _lines(trace))


def _lines(trace: Trace) -> Iterator[Struct]:
    h = trace.header
    yield _TraceLine(FORMAT, h.created, h.duration_ns, h.phases, h.streams, dict(h.origin), h.lost)
    for number in range(len(h.streams)):
        for op, *fields in trace.calls(number):
            yield _CallLine(number, Op(op).label, *fields)
    for number, (parent, kind, existed, *fields) in enumerate(trace.nodes):
        yield _NodeLine(number, parent, NodeKind(kind).name.lower(), existed, *fields)
    yield _EndLine(h.calls, len(trace.nodes))


def import_jsonl(source: Path, target: Path) -> None:
    """Write the JSON lines of `export_jsonl` as a trace file. Raises UsageError with the malformed line."""
    try:
        with source.open(encoding="utf-8") as file, TraceWriter(target) as writer:
            _Reading(source, file).write(writer)
    except OSError as error:
        raise UsageError(read_problem(source, error)) from error


class _Reading:
    """Reader of the lines of one file, which are checked one by one."""

    def __init__(self, source: Path, file: TextIO) -> None:
        self._source = source
        self._lines = enumerate(file, 1)
        self._number = 0
        self._most = NO_NODE  # the highest node that a call names

    def write(self, writer: TraceWriter) -> None:
        """Write everything from the first line to the last."""
        try:
            header = self._header()
            counted, line = 0, self._next()
            while isinstance(line, _CallLine):
                writer.add(line.stream, self._call(line, header))
                counted, line = counted + 1, self._next()
            if counted != header.calls:
                raise ValueError(f"{counted:,} calls precede it, but the first line states {header.calls:,}")
            writer.finish(header, self._nodes(line, header))
        except UnicodeDecodeError as error:
            raise UsageError(f"{self._source} is not an exported trace: it is not UTF-8 text") from error
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            what = f"has no {error}" if isinstance(error, KeyError) else str(error)
            raise UsageError(f"{self._source}, line {self._number}: {what}") from error

    def _next(self, decoder: msgspec.json.Decoder[Any] = _OTHERS) -> Any:
        """Return the next line; None at the end. Raises ValueError; the last line of a truncated file is not JSON."""
        self._number, text = next(self._lines, (self._number, ""))
        if decoder is _FIRST and f'"{FORMAT}"' not in text:
            raise UsageError(f"{self._source} is not an exported trace: its first line does not contain {FORMAT}")
        try:
            return decoder.decode(text) if text else None
        except msgspec.DecodeError as error:
            whole = isinstance(error, msgspec.ValidationError)
            raise ValueError(str(error) if whole else "is not JSON; check whether the file was cut short") from error

    def _header(self) -> TraceHeader:
        line: _TraceLine = self._next(_FIRST)
        return TraceHeader(
            created=line.created, duration_ns=line.duration_ns, phases=line.phases, streams=line.streams,
            origin=line.origin, lost=line.lost,
        )  # fmt: skip

    def _call(self, line: _CallLine, header: TraceHeader) -> Call:
        if line.stream >= len(header.streams) or line.phase >= len(header.phases):
            raise ValueError("refers to a stream or phase that is not in the first line")
        self._most = max(self._most, line.node, line.other)
        _, op, *fields = msgspec.structs.astuple(line)
        return Call(_OPS[op], *fields)

    def _nodes(self, line: _Line | None, header: TraceHeader) -> Iterator[Node]:
        """Yield the nodes, from the line that ended the calls up to the last line, which must exist."""
        nodes = 0
        while isinstance(line, _NodeLine):
            if line.node != nodes or line.parent >= nodes:
                raise ValueError("a node out of order")
            yield Node(line.parent, _KINDS[line.kind], line.existed, line.size, line.ratio, line.name_bytes)
            nodes, line = nodes + 1, self._next()
        if line is None:
            raise UsageError(f"{self._source} is cut short: its last line does not count calls and nodes")
        if line != _EndLine(header.calls, nodes) or self._most >= nodes:
            raise ValueError("its numbers of calls and nodes do not match the file")
        if self._next() is not None:
            raise ValueError("comes after the end")
