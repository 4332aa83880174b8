"""Export of many small items beside a plain copy of the same files; `python -m benchmarks.export --items 100000`."""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bench_home import BenchHome, bench_home

ITEMS = 100_000
_WORDS = (
    "budget",
    "meeting",
    "contract",
    "review",
    "schedule",
    "invoice",
    "delivery",
    "project",
    "estimate",
    "forecast",
)
_A_DIRECTORY = 1_000
_CREW = ("--workers", "1", "--slots", "2")


@dataclass(frozen=True, slots=True)
class Exported:
    """What one export took, and a copy of what it wrote."""

    items: int
    bytes: int
    export_s: float  # elapsed of the job
    copy_s: float  # of `cp -r`
    phases_s: Mapping[str, float]  # of the export that took least

    @property
    def percent(self) -> float:
        """Of the rate of the copy."""
        return 100 * self.copy_s / self.export_s


def measure(home: BenchHome, items: int = ITEMS, repeats: int = 3) -> Exported:
    """Medians of `repeats` exports and copies in turn, everything in this host's cache.

    All of it stays until the end: for five minutes ext4 gives no inode of what was deleted to a new file, and looks through them
    all for each that it makes.
    """
    _write(home.directory / "source", items)
    home.discover(home.directory / "source", *_CREW)
    exports: list[float] = []
    copies: list[float] = []
    size, phases = 0, {}
    for number in range(repeats):
        out, target = home.directory / f"out{number}", home.directory / "e.json"
        home.run("produce", "export", "last", "--out", str(out), "-o", "json", "--output-file", str(target), *_CREW)
        told = json.loads(target.read_text())
        exports.append(float(told["elapsed_s"]))
        if exports[-1] == min(exports):
            phases = dict(told["phases"])
        size = int(told["discovered_bytes"])
        copy = home.directory / f"copy{number}"
        began = time.perf_counter()
        subprocess.run(["cp", "-r", str(out), str(copy)], check=True)
        subprocess.run(["sync", "-f", str(copy)], check=True)  # as the job ends with
        copies.append(time.perf_counter() - began)
    return Exported(items, size, statistics.median(exports), statistics.median(copies), phases)


def _write(source: Path, items: int) -> None:
    """Texts of 1 to 40 kB."""
    chance = random.Random(3)
    words = " ".join(chance.choices(_WORDS, k=8_000)).encode()
    for number in range(items):
        if number % _A_DIRECTORY == 0:
            directory = source / "ann" / f"{number // _A_DIRECTORY:04d}"
            directory.mkdir(parents=True)
        (directory / f"{number:07d}.txt").write_bytes(b"%d " % number + words[: chance.randrange(1_000, 40_000)])


def main() -> None:
    """Print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=ITEMS)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with bench_home() as home:
        print(told(measure(home, arguments.items, arguments.repeats)))


def told(done: Exported) -> str:
    """In one line."""
    phases = ", ".join(f"{phase} {seconds:.1f}" for phase, seconds in done.phases_s.items())
    return (
        f"export of {done.items:,} items, {done.bytes / 1e9:.2f} GB of natives and text: {done.export_s:.1f} s ({phases}),"
        f" cp -r of the same and sync {done.copy_s:.1f} s: {done.percent:.0f} % of its rate"
    )


if __name__ == "__main__":
    main()
