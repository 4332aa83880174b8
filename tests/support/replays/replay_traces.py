"""Small traces that a replay can play anywhere."""

from collections.abc import Sequence

from memory_traces import MemoryTrace, memory_trace

from core.operations import Op
from traces.model import NO_NODE, Call, Node, NodeKind

MS = 1_000_000
FILE_BYTES = 4096


def reading_trace(
    streams: int = 2, files: int = 4, *, pause_ns: int = 2 * MS, origin: dict[str, object] | None = None
) -> MemoryTrace:
    """Each stream lists a directory, reads its own files and writes one anew, a call every `pause_ns`."""
    nodes = [Node(NO_NODE, NodeKind.DIRECTORY, True, 0, 1000, 0)]
    played: list[list[Call]] = []
    for _ in range(streams):
        top = len(nodes)
        nodes.append(Node(0, NodeKind.DIRECTORY, True, 0, 1000, 4))
        calls = [(Op.SCAN, 0, files, top)]
        for _ in range(files):
            calls += [
                (Op.OPEN, 0, FILE_BYTES, len(nodes)),
                (Op.READ, FILE_BYTES, 0, len(nodes)),
                (Op.CLOSE, 0, 0, len(nodes)),
            ]
            nodes.append(Node(top, NodeKind.FILE, True, FILE_BYTES, 500, 8))
        calls += [(Op.CREATE, 0, 0, len(nodes)), (Op.WRITE, FILE_BYTES, 0, len(nodes)), (Op.CLOSE, 0, 0, len(nodes))]
        nodes.append(Node(top, NodeKind.FILE, False, 0, 500, 8))
        played.append(_timed(calls, pause_ns))
    return memory_trace(nodes, played, phases=("expand",), created=1_700_000_000.0, origin=origin)


def _timed(calls: Sequence[tuple[Op, int, int, int]], pause_ns: int) -> list[Call]:
    return [
        Call(op=op, start_ns=number * pause_ns, duration_ns=MS // 10, bytes=nbytes, argument=argument, node=node,
             other=NO_NODE, error=0, phase=0)
        for number, (op, nbytes, argument, node) in enumerate(calls)
    ]  # fmt: skip
