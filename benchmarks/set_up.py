"""Steps and seconds from a machine with an empty home to the first result, compared with report R2's table of
administrative tasks."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from experiments.report.words import seconds

ROOT = Path(__file__).parents[1]
EDBENCH = ".venv/bin/edbench"
_CLONE = ["git", "clone", "--quiet", str(ROOT), "edbench"]
_GENERATE = [EDBENCH, "corpus", "generate", "corpus", "--profile", "reference", "--scale", "0.0005", "--seed", "7"]
TASKS: tuple[tuple[str, int, list[str]], ...] = (  # what is done, steps that are typed, the one that takes time
    ("packages of the system (apt install python3 python3-venv make git)", 1, []),
    ("clone the source and enter it", 2, _CLONE),
    ("install", 1, ["make", "setup"]),
    ("generate a corpus", 1, _GENERATE),
    ("run a job", 1, [EDBENCH, "discover", "corpus", "--workers", "2"]),
    ("verify it: the first result", 1, [EDBENCH, "verify", "last"]),
    ("delete the job", 1, [EDBENCH, "job", "delete", "last"]),
    ("remove the installation", 1, ["make", "clean"]),
)
# Tasks in the web interface of an array, in report R2: name, seconds, steps if it gives them. Not comparable with ours.
R2 = (
    ("five-member group with 20 volumes initialised", 1500.0, None),
    ("a member added", 150.0, 11),
    ("six volumes deleted", 22.0, 18),
    ("an expansion", 30.0, 4),
    ("all tasks of its table", 2580.0, None),
)
# Settings of the caller's own installation; the package index, certificates and proxies stay.
_NOT_HANDED = ("EDBENCH_", "PYTHON", "VIRTUAL_ENV", "XDG_", "PIP_CACHE_DIR", "UV_CACHE_DIR", "MAKE", "MFLAGS", "GIT_")


def measure(tasks: Sequence[tuple[str, int, list[str]]] = TASKS) -> list[tuple[str, int, float]]:
    """Run the tasks with an empty home; return name, steps and seconds of each. Raises CalledProcessError."""
    home = Path(tempfile.mkdtemp(prefix="edbench-set-up-"))
    env = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_HANDED)}
    path = [part for part in env.get("PATH", os.defpath).split(os.pathsep) if part != str(ROOT / ".venv" / "bin")]
    env |= {"HOME": str(home), "PATH": os.pathsep.join(path)}
    rows = []
    try:
        for name, steps, command in tasks:
            if not command:
                rows.append((name, steps, 0.0))  # the caller has them
                continue
            began = time.monotonic()
            where = home if command is _CLONE else home / "edbench"
            subprocess.run(command, cwd=where, env=env, check=True, stdout=subprocess.DEVNULL)
            rows.append((name, steps, time.monotonic() - began))
        return rows
    finally:
        shutil.rmtree(home, ignore_errors=True)


def show(console: Console, rows: Sequence[tuple[str, int, float]]) -> None:
    """Print our tasks with their sums, then R2's."""
    table = Table("task", "steps", "took", box=None, header_style="bold")
    for name, steps, took in (*rows, ("all", sum(row[1] for row in rows), sum(row[2] for row in rows))):
        table.add_row(name, str(steps), seconds(took) if took else "not measured")
    for name, took, counted in R2:
        table.add_row(f"R2: {name}", "–" if counted is None else str(counted), seconds(took))
    console.print(table)
