"""`make bench-formats`: every format's speed and text, compared with Apache Tika on the same files in the same run.

Two sets: real files (a directory, skipped if it does not exist) and the reference corpus at a small scale. Both sides
read a set once to warm up and some rounds under the clock, two files at a time: ours with the engine of `edbench
inspect` in two processes, Tika with two consumers in one Java process (`benchmarks.formats.engines`). The ratio is that
of files a second, so that it does not depend on what either side calls an item. Figures by format are of one file at a
time: ours of one process, Tika's as it reports them (whole milliseconds, mean over the rounds).
`benchmarks.formats.score` defines what counts as found. All of it is CPU throughput, local storage, cached."""

from __future__ import annotations

import argparse
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.driver import Figure, Figures, bench_home
from benchmarks.formats import engines
from benchmarks.formats.engines import shown
from benchmarks.formats.recall import show_recall
from benchmarks.formats.score import Extract, our_extracts, peer_extract, scores, show_formats, show_shortfalls

REAL_FILES = Path(__file__).resolve().parents[3] / "shared" / "data" / "real-files"


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a run."""

    rounds: int
    peer: engines.Tika | None
    peer_name: str


def main() -> None:
    """Measure; exit status 0 whether targets are met or not."""
    parser = argparse.ArgumentParser(prog="make bench-formats BENCH_ARGS=…", description=__doc__)
    parser.add_argument("--scale", default="0.001", help="of the reference corpus; 0 skips it")
    parser.add_argument("--rounds", type=int, default=3, help="under the clock, after one that is not")
    parser.add_argument("--real-files", type=Path, default=REAL_FILES, help="a directory of files of any kind")
    parser.add_argument("--cache", type=Path, default=Path(".bench-cache"), help="where Tika's jar is kept")
    parser.add_argument("--output", type=Path, default=Path("bench-formats.json"))
    hint = "by format, how much of what Tika finds below this directory we find; no times; may be given several times"
    parser.add_argument("--table", action="append", type=Path, metavar="DIR", help=hint)
    arguments = parser.parse_args()
    if arguments.table:
        _table(arguments.table, arguments.cache, arguments.output)
        return
    figures = Figures(arguments.output)
    options = _options(arguments.rounds, arguments.cache)
    print(f"{os.cpu_count()} cores; CPU throughput, local storage, cached; {options.peer_name}\n", flush=True)
    _messages(figures)
    if arguments.real_files.is_dir():
        _measure("real", arguments.real_files, figures, options)
    else:
        print(f"real files: skipped, there is no directory {arguments.real_files}")
    if float(arguments.scale):
        _corpus(arguments.scale, figures, options)
    print()
    figures.show()


def _table(sources: list[Path], cache: Path, output: Path) -> None:
    try:
        show_recall(sources, engines.find_tika(cache), output)
    except engines.TikaAbsent as e:
        print(f"no comparison with Apache Tika: {e}")


def _corpus(scale: str, figures: Figures, options: Options) -> None:
    with bench_home() as home:
        corpus = home.directory / "corpus"
        home.run("corpus", "generate", str(corpus), "--profile", "reference", "--scale", scale, "--seed", "1")
        _measure("corpus", corpus / "data", figures, options)


def _options(rounds: int, cache: Path) -> Options:
    try:
        tika = engines.find_tika(cache)
    except engines.TikaAbsent as e:
        return Options(rounds, None, f"no comparison with Apache Tika: {e}")
    return Options(rounds, tika, f"Apache Tika {engines.VERSION}, batch mode, on {tika.jvm}")


def _messages(figures: Figures) -> None:
    rate, size = engines.messages_per_second()
    note = f"one core; without attachments, mean {size:,.0f} bytes; type, hashes, children, text and header fields"
    figures.add("email", Figure(value=rate, unit="messages/s", target=10_000, note=note))


def _measure(name: str, source: Path, figures: Figures, options: Options) -> None:
    files = engines.loose_files(source)
    note = f"mean of {len(files)} files in memory"
    value = engines.identify_us(source, files)
    figures.add(f"{name}_identify", Figure(value=value, unit="µs", target=60, at_most=True, note=note))
    ours = engines.run_ours(source, files, options.rounds)
    mine = our_extracts(ours.lines)
    sizes = {shown(file): (source / file).stat().st_size for file in files}
    note = f"{len(files)} files, {len(ours.lines)} items, {engines.PROCESSES} processes"
    value = ours.files_per_second * len(ours.lines) / len(files)
    figures.add(f"{name}_items", Figure(value=value, unit="items/s", note=note))
    if options.peer is None:
        show_formats(name, sizes, mine, ours.seconds, {}, {})
        return
    named = [file for file in files if engines.can_be_named(file)]
    with tempfile.TemporaryDirectory(prefix="edbench-tika-") as scratch:
        run = engines.run_tika(options.peer, source, named, options.rounds, Path(scratch))
    peers = {shown(file): peer_extract(documents) for file, documents in run.documents.items() if documents}
    _compare(name, figures, ours, run, mine, peers)
    show_formats(name, sizes, mine, ours.seconds, peers, {shown(n): ms / 1000 for n, ms in run.parse_ms.items()})
    show_shortfalls(scores(mine, peers)[""].shortfalls)


def _compare(
    name: str,
    figures: Figures,
    ours: engines.OurRun,
    run: engines.TikaRun,
    mine: dict[str, Extract],
    peers: dict[str, Extract],
) -> None:
    total = scores(mine, peers)[""]
    items = total.peer_children + len(peers)
    note = f"{len(run.documents)} files, {items} items, {engines.CONSUMERS} consumers, after one round of warm-up"
    value = run.files_per_second * items / len(run.documents)
    figures.add(f"{name}_items_tika", Figure(value=value, unit="items/s", note=note))
    note = f"{ours.files_per_second:,.0f} : {run.files_per_second:,.0f} files/s, two at a time"
    value = ours.files_per_second / run.files_per_second if run.files_per_second else 0.0
    figures.add(f"{name}_ratio", Figure(value=value, unit="x of Tika", target=10, note=note))
    note = f"{ours.cpu_seconds * 1e3:.2f} : {run.cpu_seconds * 1e3:.2f} ms of CPU a file; comparable on busy machines"
    value = run.cpu_seconds / ours.cpu_seconds if ours.cpu_seconds else 0.0
    figures.add(f"{name}_ratio_cpu", Figure(value=value, unit="x of Tika", note=note))
    note = f"of {total.terms:,} terms in {total.files} files, sets by file"
    figures.add(f"{name}_recall", Figure(value=total.recall * 100, unit="% of Tika's terms", target=99, note=note))
    note = f"Tika {total.peer_children:,}; fewer in {total.fewer_children} files"
    figures.add(
        f"{name}_children", Figure(value=total.children, unit="children", target=total.peer_children, note=note)
    )


if __name__ == "__main__":
    main()
