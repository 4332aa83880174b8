"""What a worker loads before it forks its slots starts no threads: one that holds a lock at the fork would hang a slot."""

from __future__ import annotations

import subprocess
import sys

_LOADED = """
import os
import sys
import worker.__main__
from worker.slots.slot import PRELOADED, preload
preload(PRELOADED)
print(len(os.listdir("/proc/self/task")), "numpy" in sys.modules)
"""


def test_a_worker_has_one_thread_when_it_forks_its_slots() -> None:
    """numpy's library starts a thread for each processor when it is imported; a replay brings it, in the slot."""
    found = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["1", "False"]
