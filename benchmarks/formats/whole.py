"""`make bench-formats BENCH_ARGS="--whole DIR"`: both commands over a directory as a person runs them, start and end included.

`edbench inspect DIR -o jsonl` with two processes, and Tika's batch mode with two consumers (`-J`, no warm-up), in turns; medians by
clock and by processor, and their ratio. Each writes what it finds to scratch. Files that Tika cannot be given are read by us all
the same.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.formats import ours as formats_ours
from benchmarks.formats import tika as formats_tika
from benchmarks.formats.tika import Tika

Taken = tuple[float, float]  # seconds by clock, and of processor


def show_whole(sources: Sequence[Path], tika: Tika, rounds: int) -> None:
    """Print a line for each directory."""
    for source in sources:
        files = formats_ours.loose_files(source)
        turns = [(_ours(source), _theirs(tika, source, files)) for _ in range(rounds)]
        own, peer = (_median([turn[side] for turn in turns]) for side in (0, 1))
        print(
            f"{source.name}: {len(files):,} files; by clock {own[0]:.2f} : {peer[0]:.2f} s, {peer[0] / own[0]:.1f} x; "
            f"by processor {own[1]:.2f} : {peer[1]:.2f} s, {peer[1] / own[1]:.1f} x",
            flush=True,
        )


def _ours(source: Path) -> Taken:
    command = [sys.executable, "-m", "cli", "inspect", str(source), "-o", "jsonl"]
    with tempfile.TemporaryDirectory(prefix="edbench-whole-") as scratch:
        return _run([*command, "--processes", str(formats_ours.PROCESSES)], Path(scratch))


def _theirs(tika: Tika, source: Path, files: Sequence[str]) -> Taken:
    with tempfile.TemporaryDirectory(prefix="edbench-whole-") as scratch:
        named = [name for name in files if formats_tika.can_be_named(name)]
        command, _ = formats_tika.batch(tika, source, named, 0, Path(scratch))
        return _run(command, Path(scratch))


def _run(command: Sequence[str], scratch: Path) -> Taken:
    """It writes below `scratch`; raises CalledProcessError where it fails."""
    environment = os.environ | {"LC_ALL": "C.UTF-8", "TMPDIR": str(scratch)}
    with (scratch / "said").open("wb") as said, (scratch / "log").open("wb") as log:
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(command, stdout=said, stderr=log, env=environment, check=True)
        taken, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return taken, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _median(taken: Sequence[Taken]) -> Taken:
    return statistics.median(clock for clock, _ in taken), statistics.median(used for _, used in taken)
