"""An installation for one measurement: its own storage root and scratch, removed afterwards."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

EDBENCH = Path(sys.executable).parent / "edbench"
_SAMPLE_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class BenchHome:
    """Runs `edbench` commands against a storage root and scratch of its own."""

    directory: Path
    edbench: Path = EDBENCH  # the command, of this checkout or of another

    def environment(self) -> dict[str, str]:
        """The user's environment without EDBENCH_*, pointed here."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("EDBENCH_")}
        return kept | {
            "EDBENCH_STORAGE": str(self.directory / "storage"),
            "EDBENCH_SCRATCH": str(self.directory / "scratch"),
        }

    def run(self, *arguments: str, env: Mapping[str, str] | None = None) -> None:
        """One command to its end, with more in its environment; RuntimeError with what it printed when it fails."""
        done = subprocess.run(
            [str(self.edbench), *arguments],
            env=self.environment() | dict(env or {}),
            cwd=self.directory,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"edbench {' '.join(arguments)} gave {done.returncode}: {done.stdout}{done.stderr}")

    def discover(self, corpus: Path, *options: str, env: Mapping[str, str] | None = None) -> dict[str, Any]:
        """A discovery job; its result."""
        target = self.directory / "r.json"
        self.run("discover", str(corpus), "-o", "json", "--output-file", str(target), *options, env=env)
        return dict(json.loads(target.read_text()))

    def peak_slot(self, corpus: Path, *options: str) -> tuple[dict[str, Any], int]:
        """A discovery job, and the largest PSS (bytes) any slot had when looked at, five times a second."""
        target = self.directory / "r.json"
        command = [str(self.edbench), "discover", str(corpus), "-o", "json", "--output-file", str(target), *options]
        process = subprocess.Popen(
            command, env=self.environment(), cwd=self.directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        peak = 0
        while process.poll() is None:
            peak = max([peak, *(_pss(slot) for slot in _slots(process.pid))])
            time.sleep(_SAMPLE_SECONDS)
        if process.returncode:
            raise RuntimeError(f"{' '.join(command)} gave {process.returncode}")
        return dict(json.loads(target.read_text())), peak


def _slots(pid: int) -> list[psutil.Process]:
    """Children of the workers' supervisors."""
    try:
        below = psutil.Process(pid).children(recursive=True)
        workers = [p for p in below if "worker" in p.cmdline() and "--name" in p.cmdline()]
    except psutil.Error:
        return []
    pids = {p.pid for p in workers}
    return [p for p in workers if p.ppid() in pids]


def _pss(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:
        return 0


@contextmanager
def bench_home() -> Iterator[BenchHome]:
    """A fresh one, on the file system of the temporary directory."""
    directory = Path(tempfile.mkdtemp(prefix="edbench-bench-"))
    directory.chmod(0o711)
    try:
        yield BenchHome(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
