"""What it costs to record one storage call: the storage layer with the live recorder against the bare system call."""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import uuid
from typing import Any

from benchmarks.processor_time import microseconds_of
from core.operations import NullRecorder, Recorder
from core.records import Phase
from core.storage.layer import Storage
from monitoring.live import REGION_BYTES, LiveRecorder

TARGET_US = 5.0
_CALLS = 20_000


def _overheads(recorder: Recorder, path: bytes) -> dict[str, float]:
    """Microseconds above the bare system call: a stat (hashes the path each time) and a read of 4 KiB."""
    storage = Storage(recorder)
    fd = os.open(path, os.O_RDONLY)
    try:
        with storage.open(path) as file:
            return {
                "stat": microseconds_of(_CALLS, lambda: storage.stat(path))
                - microseconds_of(_CALLS, lambda: os.lstat(path)),
                "read": microseconds_of(_CALLS, lambda: file.pread(4096, 0))
                - microseconds_of(_CALLS, lambda: os.pread(fd, 4096, 0)),
            }
    finally:
        os.close(fd)


def measure() -> dict[str, Any]:
    """Figure name → {value, unit, target, met, note}; takes a few seconds."""
    live = LiveRecorder(memoryview(bytearray(REGION_BYTES)))
    live.select(uuid.UUID(int=1), Phase.EXPAND)
    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes(4096))
        file.flush()
        path = os.fsencode(file.name)
        with_live = _overheads(live, path)
        without = _overheads(NullRecorder(), path)
    worst = max(with_live.values())
    recorder = statistics.fmean(with_live[op] - without[op] for op in with_live)
    return {
        "recorded_call": {
            "value": round(worst, 2),
            "unit": "µs",
            "target": TARGET_US,
            "met": worst <= TARGET_US,
            "note": f"above the bare system call: stat {with_live['stat']:.2f}, read {with_live['read']:.2f}; "
            f"of it the live recorder {recorder:.2f}",
        }
    }


if __name__ == "__main__":
    print(json.dumps(measure(), ensure_ascii=False, indent=1))
