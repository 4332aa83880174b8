"""A trace as JSON lines, without loss, and back."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from core.errors import UsageError, read_problem
from core.operations import Op
from traces.directory import stream_data, stream_of
from traces.model import NO_NODE, Call, Node, NodeKind, Trace, TraceHeader
from traces.write import TraceWriter

FORMAT = "edbench-trace-jsonl/1"
_OPS = {op.label: op for op in Op}
_KINDS = {kind.name.lower(): kind for kind in NodeKind}


class ExportFormat(enum.StrEnum):
    """What a trace can be written as."""

    JSONL = "jsonl"
    FIO = "fio"
    ELBENCHO = "elbencho"


def export_jsonl(trace: Trace, out: TextIO) -> None:
    """One object a line: the trace, its calls stream by stream, its nodes, and a last line that counts both.

    Raises UsageError when the trace is damaged, OSError when it cannot be written.
    """
    out.write(json.dumps(_header(trace.header)) + "\n")
    for number in range(len(trace.header.streams)):
        for call in trace.calls(number):
            out.write(_call_line(number, call))
    for number, node in enumerate(trace.nodes):
        out.write(_node_line(number, node))
    out.write(json.dumps({"type": "end", "calls": trace.header.calls, "nodes": len(trace.nodes)}) + "\n")


def import_jsonl(source: Path, target: Path) -> int:
    """The trace that `export_jsonl` wrote, as a trace file; its bytes. Raises UsageError with the line that is wrong."""
    try:
        with source.open(encoding="utf-8") as file, TraceWriter(target) as writer:
            return _Reading(source, file).write(writer)
    except OSError as error:
        raise UsageError(read_problem(source, error)) from error


def _header(header: TraceHeader) -> dict[str, Any]:
    return {
        "type": "trace",
        "format": FORMAT,
        "created": header.created,
        "duration_ns": header.duration_ns,
        "phases": list(header.phases),
        "streams": [stream_data(stream) for stream in header.streams],
        "origin": dict(header.origin),
        "lost": header.lost,
    }


def _call_line(stream: int, call: Call) -> str:
    """Written out by hand: the encoder takes four times as long."""
    return (
        f'{{"type":"call","stream":{stream},"op":"{call.op.label}","start_ns":{call.start_ns},'
        f'"duration_ns":{call.duration_ns},"bytes":{call.bytes},"argument":{call.argument},"node":{call.node},'
        f'"other":{call.other},"error":{call.error},"phase":{call.phase}}}\n'
    )


def _node_line(number: int, node: Node) -> str:
    existed = "true" if node.existed else "false"
    return (
        f'{{"type":"node","node":{number},"parent":{node.parent},"kind":"{NodeKind(node.kind).name.lower()}",'
        f'"existed":{existed},"size":{node.size},"ratio":{node.ratio},"name_bytes":{node.name_bytes}}}\n'
    )


class _Reading:
    """The lines of one file, checked as they come."""

    def __init__(self, source: Path, file: TextIO) -> None:
        self._source = source
        self._lines = enumerate(file, 1)
        self._number = 0
        self._line: Mapping[str, Any] = {}
        self._most = NO_NODE  # the highest node that a call names
        self._nodes = 0
        self._ended = False

    def write(self, writer: TraceWriter) -> int:
        """Everything from the first line to the last."""
        try:
            header = self._header()
            counted = self._calls(writer, header)
            if counted != header.calls:
                raise self._wrong(f"{counted:,} calls come before it, but the first line counts {header.calls:,}")
            size = writer.finish(header, self._read_nodes(header))
        except UnicodeDecodeError as error:
            raise UsageError(f"{self._source} is not an exported trace: it is not UTF-8 text") from error
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise self._wrong(_reason(error)) from error
        return size

    def _next(self) -> bool:
        """The next line; whether there is one. The last line of a file that was cut short is no JSON."""
        for number, text in self._lines:
            self._number = number
            self._line = json.loads(text)
            if not isinstance(self._line, dict):
                raise ValueError("is not an object")
            return True
        return False

    def _header(self) -> TraceHeader:
        if not self._next() or self._line.get("format") != FORMAT:
            raise UsageError(f"{self._source} is not an exported trace: its first line does not contain {FORMAT}")
        line = self._line
        return TraceHeader(
            created=float(line["created"]),
            duration_ns=_natural(line["duration_ns"]),
            phases=tuple(str(phase) for phase in line["phases"]),
            streams=tuple(map(stream_of, line["streams"])),
            origin=dict(line["origin"]),
            lost=_natural(line["lost"]),
        )

    def _calls(self, writer: TraceWriter, header: TraceHeader) -> int:
        counted = 0
        streams, phases = len(header.streams), len(header.phases)
        while self._next() and self._line["type"] == "call":
            stream, call = _natural(self._line["stream"]), self._call()
            if stream >= streams or call.phase >= phases:
                raise self._wrong("names a stream or phase that the first line does not have")
            self._most = max(self._most, call.node, call.other)
            writer.add(stream, call)
            counted += 1
        return counted

    def _call(self) -> Call:
        line = self._line
        other = int(line["other"])
        return Call(
            op=_OPS[line["op"]],
            start_ns=_natural(line["start_ns"]),
            duration_ns=_natural(line["duration_ns"]),
            bytes=_natural(line["bytes"]),
            argument=_natural(line["argument"]),
            node=_natural(line["node"]),
            other=other if other == NO_NODE else _natural(other),
            error=_natural(line["error"]),
            phase=_natural(line["phase"]),
        )

    def _read_nodes(self, header: TraceHeader) -> Iterator[Node]:
        """The nodes, from the line that ended the calls; ends at the last line, which must be there."""
        while self._line.get("type") == "node":
            yield self._node()
            self._nodes += 1
            if not self._next():
                break
        if self._line.get("type") != "end":
            raise UsageError(f"{self._source} is cut short: its last line does not count calls and nodes")
        if (self._line["calls"], self._line["nodes"]) != (header.calls, self._nodes) or self._most >= self._nodes:
            raise self._wrong("counts other calls and nodes than there are")
        if self._next():
            raise self._wrong("comes after the end")

    def _node(self) -> Node:
        line = self._line
        parent = int(line["parent"])
        if line["node"] != self._nodes or not NO_NODE <= parent < self._nodes:
            raise self._wrong("a node out of order")
        return Node(
            parent=parent,
            kind=_KINDS[line["kind"]],
            existed=bool(line["existed"]),
            size=_natural(line["size"]),
            ratio=_natural(line["ratio"]),
            name_bytes=_natural(line["name_bytes"]),
        )

    def _wrong(self, reason: str) -> UsageError:
        return UsageError(f"{self._source}, line {self._number}: {reason}")


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return "is not JSON; was the file cut short?"
    return f"has no {error}" if isinstance(error, KeyError) else str(error)


def _natural(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise ValueError(f"{value!r} is not a whole number of at least 0")
    return value
