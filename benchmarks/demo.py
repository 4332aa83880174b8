"""How long `make demo` takes in a fresh clone: with an empty package cache, and with the cache that this has filled.

`python -m benchmarks.demo` measures it alone. A part of `make bench`.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import Figure, Figures
from core.errors import RunFailed

ROOT = Path(__file__).parents[1]
TARGETS = {"cold": 180.0, "warm": 90.0}  # seconds, on two quiet cores
_OURS = re.compile(r"EDBENCH_|PYTHON|VIRTUAL_ENV|MAKE|MFLAGS")


@dataclass(frozen=True, slots=True)
class Demo:
    """One run: seconds from `make demo` to its end, and the last lines that it printed."""

    seconds: float
    screen: str


def measure(figures: Figures) -> None:
    """Both times. Where the package index cannot be reached there is only the warm one, with the user's own cache."""
    with tempfile.TemporaryDirectory(prefix="edbench-demo-") as home:
        caches = {"UV_CACHE_DIR": f"{home}/uv", "PIP_CACHE_DIR": f"{home}/pip"}
        for name, target in TARGETS.items():
            try:
                done = _run(Path(home) / name, caches)
            except RunFailed as error:
                print(f"demo_{name}: not measured: {error}", flush=True)
                caches = {}
                continue
            note = f"make demo in a fresh clone, {name} package cache; {machine()}"
            figures.add(f"demo_{name}", Figure(value=done.seconds, unit="s", target=target, at_most=True, note=note))
            print(done.screen, flush=True)


def machine() -> str:
    """Cores, model and load of this machine."""
    cpus = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    model = re.search(r"^model name\s*: (.*)", cpus, re.MULTILINE)
    return f"{os.cpu_count()} cores, {model[1] if model else os.uname().machine}, load {os.getloadavg()[0]:.1f}"


def _run(clone: Path, caches: Mapping[str, str]) -> Demo:
    """Clone and run it. Raises RunFailed with the last line printed, as where the package index cannot be reached."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    kept = {key: value for key, value in os.environ.items() if not _OURS.match(key)}
    begun = time.monotonic()
    done = subprocess.run(
        ["make", "demo"], cwd=clone, env=kept | dict(caches), capture_output=True, text=True, check=False
    )
    taken = time.monotonic() - begun
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise RunFailed(f"`make demo` failed: {lines[-1] if lines else 'no output'}")
    return Demo(taken, done.stdout[done.stdout.rfind("\nProcessed ") :].strip())


if __name__ == "__main__":
    measure(Figures(Path("bench-demo.json")))
