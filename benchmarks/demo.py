"""Duration of `make demo` in a fresh clone with an empty and with a filled package cache, and the gain of more workers
while eight busy loops run.

`python -m benchmarks.demo` measures only this. A part of `make bench`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path

from benchmarks.driver import Figure, Figures
from core.errors import RunFailed

ROOT = Path(__file__).parents[1]
TARGETS = {"cold": 180.0, "warm": 90.0}  # seconds, on two quiet cores
LOOPS = 8
GAINS = {2: 1.7, 4: 2.8}  # of so many workers, while the loops run
_OURS = re.compile(r"EDBENCH_|PYTHON|VIRTUAL_ENV|MAKE|MFLAGS")
_GAIN = re.compile(r"^ +(\d+) workers? .* ([\d.]+) x$", re.MULTILINE)


def measure(figures: Figures) -> None:
    """Measure all three. If the package index cannot be reached there is no cold run, and the others use the user's own
    cache."""
    with tempfile.TemporaryDirectory(prefix="edbench-demo-") as home:
        caches = {"UV_CACHE_DIR": f"{home}/uv", "PIP_CACHE_DIR": f"{home}/pip"}
        for name in ("cold", "warm", "busy"):
            try:
                seconds, screen = _run(
                    Path(home) / name.replace("busy", "warm"), caches, LOOPS if name == "busy" else 0
                )
            except RunFailed as error:
                print(f"demo_{name}: not measured: {error}", flush=True)
                caches = {}
                continue
            print(screen, flush=True)
            if name in TARGETS:
                note = f"make demo in a fresh clone, {name} package cache; {machine()}"
                figures.add(
                    f"demo_{name}", Figure(value=seconds, unit="s", target=TARGETS[name], at_most=True, note=note)
                )
                continue
            gained = {int(workers): float(times) for workers, times in _GAIN.findall(screen)}
            for workers, target in GAINS.items():
                note = f"gain of {workers} workers, {LOOPS} busy loops running; {seconds:.0f} s; {machine()}"
                figures.add(f"demo_busy_{workers}", Figure(value=gained[workers], unit="x", target=target, note=note))


def machine() -> str:
    """Return cores, model and load of this machine."""
    cpus = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    model = re.search(r"^model name\s*: (.*)", cpus, re.MULTILINE)
    return f"{os.cpu_count()} cores, {model[1] if model else os.uname().machine}, load {os.getloadavg()[0]:.1f}"


@contextmanager
def _busy(loops: int) -> Iterator[None]:
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def _run(clone: Path, caches: Mapping[str, str], loops: int) -> tuple[float, str]:
    """Clone the repository, unless that is done, and run the demo; return the seconds, and the last lines printed.
    Raises RunFailed with the last line printed, for instance if the package index cannot be reached."""
    if not clone.exists():
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    kept = {key: value for key, value in os.environ.items() if not _OURS.match(key)}
    begun = time.monotonic()
    with _busy(loops) if loops else nullcontext():
        done = subprocess.run(
            ["make", "demo"], cwd=clone, env=kept | dict(caches), capture_output=True, text=True, check=False
        )
    taken = time.monotonic() - begun
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise RunFailed(f"`make demo` failed: {lines[-1] if lines else 'no output'}")
    return taken, done.stdout[done.stdout.rfind("\nProcessed ") :].strip()


if __name__ == "__main__":
    measure(Figures(Path("bench-demo.json")))
