"""Whether a profile is CACHED is told by the point that touches the fewest bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from replay_traces import FILE_BYTES, reading_trace

from storage_tests.profile import Targets, made
from traces.write import TraceWriter

MIB = 1 << 20


@pytest.mark.parametrize(
    ("name", "given", "touched"),
    [
        ("matrix", ["threads=2,16", "records=8KiB,2MiB", "files=1MiB,256MiB"], 2 * MIB),
        ("client-sweep", ["clients=5,100", "size=1000", "objects=3"], 15_000),
        ("stream", ["streams=2,4", "file_size=64MiB"], 128 * MIB),
        ("block-8k", ["cases=1", "path_size=64MiB"], 128 * MIB),
        ("block-8k", ["cases=1,3", "path_size=64MiB"], 64 * MIB),  # also on one member alone
        ("block-8k", ["cases=6", "path_size=64MiB"], 128 * MIB),
        ("dedup", ["data=zeros,own", "size=4MiB", "source=OWN"], 7),
    ],
)
def test_the_smallest_point_decides(name: str, given: list[str], touched: int, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "file").write_bytes(b"1234567")
    given = [one.replace("OWN", str(tmp_path / "own")) for one in given]
    assert made(name, Targets(paths=(Path("/a"), Path("/b"))), given, small=False).touched() == touched


def test_a_trace_of_the_fewest_clients_decides(tmp_path: Path) -> None:
    """More clients than the trace has streams bring data of their own."""
    trace = reading_trace(streams=2, files=4)
    with TraceWriter(tmp_path / "trace") as writer:
        for number in range(len(trace.streams)):
            for call in trace.calls(number):
                writer.add(number, call)
        writer.finish(trace.header, trace.nodes)
    few, many = (
        made(
            "analysis-replay", Targets(paths=(tmp_path,)), [f"trace={tmp_path}/trace", f"clients={clients}"], small=True
        )
        for clients in ("2,8", "8")
    )
    assert 2 * 4 * FILE_BYTES <= few.touched() < many.touched()
