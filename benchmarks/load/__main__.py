"""`make bench-load`: what only long load shows. Prints every figure and writes bench-load.json."""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.bench_home import bench_home
from benchmarks.figures import Figure, Figures
from benchmarks.load import cancels, million, soak, walk
from benchmarks.load.samples import Size

SMALL = "0.01"  # scale of the jobs beside the large one
PARTS = ("soak", "cancels", "walk", "large")
_SIZES = {"pss": "PSS", "private": "private memory (USS)", "own": "anonymous memory"}


def main() -> None:
    """Each part by itself, in a fresh installation."""
    parser = argparse.ArgumentParser(prog="make bench-load BENCH_ARGS=…", description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help=f"parts, comma-separated: {', '.join(PARTS)}")
    parser.add_argument("--tasks", type=int, default=1_000_000, help="queued in all, of four jobs on two databases")
    parser.add_argument("--hands", type=int, default=200, help="no-op workers")
    parser.add_argument("--entries", type=int, default=1_000_000, help="of the directory to walk; then twice as many")
    parser.add_argument("--directory", type=Path, help="where to make it (default: in the temporary directory)")
    parser.add_argument("--scale", default="1.0", help="of the reference corpus for the large job: a million items")
    parser.add_argument("--output", type=Path, default=Path("bench-load.json"))
    arguments = parser.parse_args()
    wanted = arguments.only.split(",")
    if unknown := set(wanted) - set(PARTS):
        parser.error(f"--only: there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    figures = Figures(arguments.output)
    if "soak" in wanted:
        with bench_home() as home:
            _soak(figures, soak.measure(home.directory, arguments.tasks, arguments.hands), arguments.hands)
    if "cancels" in wanted:
        with bench_home() as home:
            corpus = home.directory / "corpus"
            home.run("corpus", "generate", str(corpus), "--profile", "reference", "--scale", "0.001", "--seed", "1")
            _cancels(figures, cancels.measure(home, corpus))
    if "walk" in wanted:
        with bench_home() as home, TemporaryDirectory(prefix="edbench-walk-", dir=arguments.directory) as source:
            _walk(figures, *walk.measure(home, Path(source), arguments.entries))
    if "large" in wanted:
        with bench_home() as home:
            corpus = home.directory / "corpus"
            home.run(
                "corpus", "generate", str(corpus), "--profile", "reference", "--scale", arguments.scale, "--seed", "1"
            )
            small = home.directory / "small"
            home.run("corpus", "generate", str(small), "--profile", "reference", "--scale", SMALL, "--seed", "1")
            before = million.measure(home, small, sample_s=0.5)
            large = million.measure(home, corpus)
            _large(figures, large, arguments.scale)
            _beside(figures, large, [before, million.measure(home, small, sample_s=0.5)])
    print()
    figures.show()


def _soak(figures: Figures, measured: soak.Soak, hands: int) -> None:
    note = (
        f"{measured.tasks:,} no-op tasks of four jobs on two databases, {hands} no-op workers, {measured.seconds:.0f} s"
    )
    figures.add("soak_rate", Figure(value=measured.tasks / measured.seconds, unit="tasks/s", note=note))
    note = "tasks done by one of two equal jobs over the other, at half time"
    figures.add("soak_fairness", Figure(value=measured.unfair, unit="", target=1.1, at_most=True, note=note))
    note = "tasks claimed more than once, and finishes that were dropped"
    figures.add("soak_lost_leases", Figure(value=measured.again, unit="tasks", target=0, at_most=True, note=note))
    _memory(figures, "soak", measured.growth, measured.peaks)


def _cancels(figures: Figures, left: cancels.Left) -> None:
    note = f"of ten jobs created, cancelled ({left.cancelled} in time) and deleted"
    figures.add("cancelled_rows", Figure(value=left.rows, unit="rows left", target=0, at_most=True, note=note))
    figures.add("cancelled_files", Figure(value=left.files, unit="files left", target=0, at_most=True, note=note))


def _walk(figures: Figures, once: walk.Walked, twice: walk.Walked) -> None:
    for walked in (once, twice):
        note = f"one directory of {walked.entries:,} entries, walked in {walked.seconds:.0f} s"
        figures.add(f"walk_rate_{walked.entries}", Figure(value=walked.entries / walked.seconds, unit="/s", note=note))
    note = "of the database, with what the job before left in it"
    figures.add("walk_rows", Figure(value=twice.database_bytes / twice.entries, unit="bytes an entry", note=note))
    for name, peak in twice.peaks.items():
        before = once.peaks[name]
        told = "; ".join(
            f"{title} {size / 1e6:.1f} MB, before {small / 1e6:.1f} MB"
            for title, size, small in zip(_SIZES.values(), peak, before, strict=True)
        )
        note = f"peak of the largest {name}, {twice.entries:,} entries over {once.entries:,}: {told}"
        value = peak.own / max(1.0, before.own)
        figures.add(
            f"walk_memory_{name.replace(' ', '_')}", Figure(value=value, unit="", target=1.1, at_most=True, note=note)
        )


def _large(figures: Figures, large: million.Large, scale: str) -> None:
    note = f"reference corpus at scale {scale}, {large.items:,} items in {large.elapsed_s:.0f} s; {large.differences}"
    figures.add("large_rate", Figure(value=large.items_per_second, unit="items/s", note=note))
    for what, steady in large.steady.items():
        note = "a second in the last tenth of the phase over the second tenth"
        figures.add(f"large_steady_{what}", Figure(value=steady, unit="", target=0.9, note=note))
    for unit, cost in large.cost.items():
        note = f"processor seconds of all slots for the {unit} of the index phase's last tenth, each, over its second tenth"
        figures.add(f"large_cost_{unit}", Figure(value=cost, unit="", target=1.1, at_most=True, note=note))
    _memory(figures, "large", large.growth, large.peaks)
    for phase, tenths in large.tenths.items():
        for number, tenth in enumerate(tenths, 1):
            spent = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in tenth.spent.items())
            print(
                f"{phase}, tenth {number}: {tenth.items:,} items, {tenth.weight / 1e6:,.1f} MB by weight,"
                f" {tenth.characters / 1e6:,.1f} million characters; processor: {spent}"
            )


def _beside(figures: Figures, large: million.Large, small: list[million.Large]) -> None:
    """The large job and jobs over less data, one before and one after it."""
    rate = statistics.mean(job.gb_per_hour for job in small)
    told = " and ".join(f"{job.gb_per_hour:.1f}" for job in small)
    note = f"GB/hour discovered, {large.gb_per_hour:.1f} over {told} at scale {SMALL} before and after it"
    figures.add("large_over_small", Figure(value=large.gb_per_hour / rate, unit="", target=0.95, note=note))
    cost = statistics.mean(job.processor_s_per_item for job in small)
    note = (
        f"processor milliseconds an item, {large.processor_s_per_item * 1e3:.2f} over {cost * 1e3:.2f} at scale {SMALL}"
    )
    value = large.processor_s_per_item / cost
    figures.add("large_cost_over_small", Figure(value=value, unit="", target=1.05, at_most=True, note=note))
    note = "bytes written for the index over its size at the end"
    figures.add("large_index_written", Figure(value=large.written_ratio, unit="", target=1.3, at_most=True, note=note))
    note = "files removed over files made, of the whole job"
    figures.add("large_removed", Figure(value=large.removed_ratio, unit="", target=0.01, at_most=True, note=note))


def _memory(figures: Figures, part: str, growth: dict[str, Size], peaks: dict[str, Size]) -> None:
    for name, ratios in growth.items():
        peak = peaks[name if name in peaks else name.partition(" ")[2]]
        for size, title in _SIZES.items():
            note = f"{title} of the largest {name}, last tenth over second; peak {getattr(peak, size) / 1e6:.0f} MB"
            figures.add(
                f"{part}_memory_{name.replace(' ', '_')}_{size}",
                Figure(value=getattr(ratios, size), unit="", target=1.1, at_most=True, note=note),
            )


if __name__ == "__main__":
    main()
