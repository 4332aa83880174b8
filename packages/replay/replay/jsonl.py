"""Export of a trace as JSON lines, without loss."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, TextIO

import msgspec

from traces.model import Trace

FORMAT = "edbench-trace-jsonl/1"


class ExportFormat(enum.StrEnum):
    """Format of an exported trace."""

    JSONL = "jsonl"
    FIO = "fio"
    ELBENCHO = "elbencho"


def export_jsonl(trace: Trace, out: TextIO) -> None:
    """Write one object a line: the trace, its calls stream by stream, its nodes, and a last line that counts both.

    Raises UsageError if the trace is damaged, OSError if it cannot be written."""
    encode = msgspec.json.Encoder().encode
    out.writelines(encode(line).decode() + "\n" for line in _lines(trace))


def _lines(trace: Trace) -> Iterator[dict[str, Any]]:
    header = trace.header
    yield {"type": "trace", "format": FORMAT} | {field.name: getattr(header, field.name) for field in fields(header)}
    for stream in range(len(header.streams)):
        for call in trace.calls(stream):
            yield {"type": "call", "stream": stream} | call._asdict() | {"op": call.op.label}
    for number, node in enumerate(trace.nodes):
        yield {"type": "node", "node": number} | node._asdict() | {"kind": node.kind.name.lower()}
    yield {"type": "end", "calls": header.calls, "nodes": len(trace.nodes)}
