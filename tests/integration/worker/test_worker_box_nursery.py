"""A worker with boxes: what comes of it when the nursery dies."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any


def _nurseries(worker: int) -> list[int]:
    children = Path(f"/proc/{worker}/task/{worker}/children").read_text().split()
    return [int(pid) for pid in children if b"worker.box" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_a_nursery_that_is_killed_is_replaced(bench: Any) -> None:
    worker = bench.start(box=True)
    (nursery,) = bench.until(lambda: _nurseries(worker.pid))
    bench.tasks({"do": "nothing"}, {"do": "nothing"})
    os.kill(nursery, signal.SIGKILL)
    bench.until(lambda: [pid for pid in _nurseries(worker.pid) if pid != nursery])
    bench.send()
    bench.until(bench.done)
    assert bench.rows("SELECT * FROM death") == []
