"""How fast a replay's clients are: looks and small reads in memory, from one process and from two."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

from core.filer.use import SHARED_MEMORY
from core.operations import Op
from replay.local import run_local
from replay.plan import plan_replay
from replay.program import Program, compile_replay
from replay.tree import Target
from traces.model import NO_NODE, Call, MemoryTrace, Node, NodeKind, Stream, TraceHeader

TARGET_CALLS_PER_S = 50_000
TARGET_SECOND = 1.7
CALLS = 600_000
FILES = 1_000
READ_BYTES = 4_096
_FILE_BYTES = 65_536
_PAIRS = 3


def measure() -> dict[str, dict[str, Any]]:
    """Figures by name: value, unit, target, note. On tmpfs, where there is one; as fast as it goes."""
    memory = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    home = Path(tempfile.mkdtemp(prefix="edbench-bench-", dir=memory))
    try:
        trace = looks_and_reads()
        rates: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(_PAIRS):
            for clients in rates:
                program = compile_replay(
                    trace, plan_replay(trace.header, clients=clients, speed=None), home / "program"
                )
                rates[clients].append(_calls_per_s(program, home))
    finally:
        shutil.rmtree(home)
    one, two = (statistics.median(rates[clients]) for clients in rates)
    where = f"stat and reads of {READ_BYTES // 1024} KiB, half each, on {'tmpfs' if memory else home.parent}"
    return {
        "replay_one_client": _figure(one, "calls/s", TARGET_CALLS_PER_S, where),
        "replay_second_client": _figure(two / one, "x of 1 client", TARGET_SECOND, f"{two:,.0f} calls/s from two"),
    }


def looks_and_reads() -> MemoryTrace:
    """One stream: a file is opened and closed now and then, and between them looks at all files and reads of one."""
    nodes = [Node(NO_NODE, NodeKind.DIRECTORY, True, 0, 1000, 0)]
    nodes += [Node(0, NodeKind.FILE, True, _FILE_BYTES, 500, 24) for _ in range(FILES)]
    calls: list[Call] = []
    while len(calls) < CALLS:
        file = 1 + len(calls) // FILES % FILES
        calls.append(_call(Op.OPEN, len(calls), 0, 0, file))
        for number in range(FILES):
            calls.append(_call(Op.STAT, len(calls), 0, 0, 1 + number))
            offset = number * READ_BYTES % _FILE_BYTES
            calls.append(_call(Op.READ, len(calls), READ_BYTES, offset, file))
        calls.append(_call(Op.CLOSE, len(calls), 0, 0, file))
    stream = Stream(worker="bench", slot=0, calls=len(calls))
    header = TraceHeader(created=0.0, duration_ns=len(calls) * 2, phases=("",), streams=(stream,), origin={})
    return MemoryTrace(header=header, nodes=nodes, streams=[calls])


def _call(op: Op, number: int, nbytes: int, offset: int, node: int) -> Call:
    return Call(op, 2 * number, 1, nbytes, offset, node, NO_NODE, 0, 0)


def _calls_per_s(program: Program, home: Path) -> float:
    """Of all clients together, between the common start and the end of the last."""
    path = home / "path"
    path.mkdir(exist_ok=True)
    merged = run_local(program, Target(paths=(path,), replay_id="bench")).merged
    if merged.differences:
        raise RuntimeError(f"calls ended otherwise than recorded: {merged.differences}")
    return merged.calls / merged.elapsed_s


def _figure(value: float, unit: str, target: float, note: str) -> dict[str, Any]:
    return {"value": value, "unit": unit, "target": target, "note": note}


if __name__ == "__main__":
    for name, measured in measure().items():
        print(
            f"{name}: {measured['value']:,.4g} {measured['unit']} (at least {measured['target']:g}); {measured['note']}"
        )
