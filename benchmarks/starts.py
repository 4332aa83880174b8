"""`make bench-starts`: seconds until commands print their first word, by clock; medians.

Each is run once before it is measured, and there is a job of one message. For `inspect` the first word is the whole
output. Each figure has the CPU seconds of the command's own process, which other programs on the machine change
little."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import time
from pathlib import Path

import psutil

from benchmarks.driver import EDBENCH, BenchHome, Figure, Figures, bench_home

# Command, most seconds to its first word.
_COMMANDS = (
    (("--help",), 0.2),
    (("inspect", "small.txt"), 0.3),
    (("inspect", "small.eml"), 0.3),
    (("discover", "--help"), 0.5),
    (("formats", "pdf"), 0.5),
    (("corpus", "profiles", "reference", "--scale", "0.01"), 0.5),
    (("doctor",), 0.5),
    (("job", "list"), 0.5),
    (("job", "show", "last"), 0.5),
    (("review", "items", "last"), 0.5),
    (("review", "search", "last", "words"), 0.5),
)
_SMALL = b"From: a@example.org\nTo: b@example.org\nSubject: small\n\n" + b"A line of some words, as in a letter.\n" * 52


def main() -> None:
    """Measure; exit status 0 whether targets are met or not."""
    parser = argparse.ArgumentParser(prog="make bench-starts BENCH_ARGS=…", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--output", type=Path, default=Path("bench-starts.json"))
    arguments = parser.parse_args()
    figures = Figures(arguments.output)
    with bench_home() as home:
        _first_words(home, arguments.rounds, figures)
    print()
    figures.show()


def _first_words(home: BenchHome, rounds: int, figures: Figures) -> None:
    """Measure each command."""
    (home.directory / "small.eml").write_bytes(_SMALL)
    (home.directory / "small.txt").write_bytes(_SMALL.partition(b"\n\n")[2])
    source = home.directory / "source"
    (source / "custodian").mkdir(parents=True)
    (source / "custodian" / "small.eml").write_bytes(_SMALL)
    home.run("discover", str(source), "--workers", "1")
    for command, most in _COMMANDS:
        runs = [_first_word(home, command) for _ in range(rounds + 1)][1:]
        times, used = ([run[at] for run in runs] for at in (0, 1))
        span = f"{min(times):.3f} to {max(times):.3f}"
        note = f"median of {len(times)}, {span}; {statistics.median(used):.2f} s of CPU"
        figure = Figure(value=statistics.median(times), unit="s", target=most, at_most=True, note=note)
        figures.add(f"first word of edbench {' '.join(command)}", figure)


def _first_word(home: BenchHome, command: tuple[str, ...]) -> tuple[float, float]:
    """Return the seconds until the command prints something, on either stream, and the CPU seconds of its process until
    then (the kernel reports hundredths); wait for its end."""
    start = time.perf_counter()
    with subprocess.Popen(
        [str(EDBENCH), *command],
        env=home.environment(),
        cwd=home.directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        taken = time.perf_counter() - start
        used = psutil.Process(process.pid).cpu_times()  # it may have ended, but nobody has waited for it
        process.stdout.read()
    return taken, used.user + used.system


if __name__ == "__main__":
    main()
