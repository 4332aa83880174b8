"""`make test-mutants`: many damaged files, read as `edbench inspect` reads them; every broken promise is printed."""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from core.records import JobOptions, Limits
from mutants.originals import Turns, originals
from mutants.reading import Reading, mutant
from mutants.running import Run

_SHOWN = 6  # examples of one finding


class _Report:
    def __init__(self, total: int) -> None:
        self.readings: list[Reading] = []
        self._total = total
        self.by_kind: dict[str, list[Reading]] = defaultdict(list)

    def take(self, reading: Reading) -> None:
        self.readings.append(reading)
        for kind in {re.sub(r"\d+", "N", re.sub(r"'.*'", "", finding)) for finding in reading.findings}:
            self.by_kind[kind].append(reading)
        if len(self.readings) % 1000 == 0:
            print(f"{len(self.readings):,} of {self._total:,}; {len(self.by_kind)} kinds of findings", flush=True)

    def show(self, seconds: float) -> None:
        readings = self.readings
        for kind, found in sorted(self.by_kind.items(), key=lambda k: len(k[1])):
            print(f"\n{len(found)} × {kind}")
            for reading in found[:_SHOWN]:
                print(f"    {reading.number} of {reading.original}: {'; '.join(reading.findings)[:600]}")
        print("\nslowest, in seconds of CPU:")
        for reading in sorted(readings, key=lambda r: -r.cpu_s)[:_SHOWN]:
            print(f"    {reading.cpu_s:7.2f}  {reading.number} of {reading.original}")
        print("most memory, in MB:")
        for reading in sorted(readings, key=lambda r: -r.peak_mb)[:_SHOWN]:
            print(f"    {reading.peak_mb:7,}  {reading.number} of {reading.original}")
        print(
            f"\n{len(readings):,} mutants of {len({r.original for r in readings}):,} files: {sum(r.items for r in readings):,} "
            f"items, {sum(r.exceptions for r in readings):,} exceptions, {sum(r.cpu_s for r in readings):,.0f} s of CPU in "
            f"{seconds:,.0f} s; {sum(bool(r.findings) for r in readings):,} with findings"
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="make test-mutants")
    parser.add_argument("--count", type=int, default=20_000, help="mutants")
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--memory-mb", type=int, default=1024, help="private memory of a process, as of a slot")
    parser.add_argument("--seconds", type=float, default=60.0, help="deadline of an item")
    parser.add_argument("--only", default="", help="names of originals that hold this")
    parser.add_argument("--save", type=Path, help="write the one mutant --first here, and do no more")
    chosen = parser.parse_args()
    found = [one for one in originals() if chosen.only in one.name]
    turns = Turns(found)
    if chosen.save:
        name, _, data = mutant(turns, chosen.seed, chosen.first)
        chosen.save.write_bytes(data)
        print(f"{chosen.save}: a mutant of {name}")
        return 0
    print(f"{chosen.count:,} mutants of {len(found)} files, seed {chosen.seed}", flush=True)
    report, start = _Report(chosen.count), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="edbench-mutants-") as place:
        run = Run(
            turns,
            seed=chosen.seed,
            place=Path(place),
            options=JobOptions(limits=Limits(item_seconds=chosen.seconds)),
            memory_mb=chosen.memory_mb,
            report=report.take,
        )
        run.read(range(chosen.first, chosen.first + chosen.count), chosen.processes)
    report.show(time.monotonic() - start)
    return 1 if report.by_kind else 0


if __name__ == "__main__":
    sys.exit(main())
