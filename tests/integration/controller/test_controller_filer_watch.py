"""The emulated filer watched by a process of its own, as in a container."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from installation import PATIENCE

from core.filer.emulation import emulated_filer
from core.operations import Op
from core.settings import Settings


def test_it_tells_what_happened_until_it_was_stopped(tmp_path: Path) -> None:
    """One line of JSON at the end, with when the watching began; whoever shares the arbiter is in it."""
    settings = Settings(scratch=tmp_path, storage=tmp_path, filer="nas-1g", filer_arbiter=str(tmp_path))
    watch = subprocess.Popen(
        [sys.executable, "-m", "controller.filer.watch"],
        env={**os.environ, **settings.environment()},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert watch.stdout is not None
    assert watch.stdout.readline() == "watching\n"
    filer = emulated_filer(settings)
    assert filer is not None
    for _ in range(3):
        filer.serve(Op.STAT, 0, time.monotonic_ns())
    watch.send_signal(signal.SIGTERM)
    out, _ = watch.communicate(timeout=PATIENCE)
    assert watch.returncode == 0
    found = json.loads(out.splitlines()[-1])
    assert found["filer"]["stations"]["metadata"]["calls"] == 3
    assert abs(found["began"] - time.time()) < 60


def test_what_is_no_filer_is_said_in_one_line(tmp_path: Path) -> None:
    """Exit status 2 for a filer that does not exist."""
    done = subprocess.run(
        [sys.executable, "-m", "controller.filer.watch"],
        env={**os.environ, "EDBENCH_FILER": "nowhere", "EDBENCH_SCRATCH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("filer_watch: ")
    assert done.stderr.count("\n") == 1
