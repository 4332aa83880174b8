"""A worker with sandboxes: what comes of it when the fork server dies."""

import os
import signal
from pathlib import Path
from typing import Any


def _fork_servers(worker: int) -> list[int]:
    children = Path(f"/proc/{worker}/task/{worker}/children").read_text().split()
    return [int(pid) for pid in children if b"worker.sandbox" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_a_fork_server_that_is_killed_is_replaced(bench: Any) -> None:
    worker = bench.start(sandbox=True)
    (fork_server,) = bench.until(lambda: _fork_servers(worker.pid))
    bench.tasks({"do": "nothing"}, {"do": "nothing"})
    os.kill(fork_server, signal.SIGKILL)
    bench.until(lambda: [pid for pid in _fork_servers(worker.pid) if pid != fork_server])
    bench.send()
    bench.until(bench.done)
    assert bench.rows("SELECT * FROM death") == []
