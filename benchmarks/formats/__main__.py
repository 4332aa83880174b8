"""`make bench-formats`: every format's speed and text, beside Apache Tika on the same files in the same run.

Two sets: real files (a directory, left out where it is absent) and the reference corpus at a small scale. Both sides
read a set once to warm up and some rounds under the clock, two at a time: we with the engine of `edbench inspect` in
two processes, Tika with two consumers in one Java process (`benchmarks.formats.tika`). The ratio is that of files a
second, so that it does not depend on what either side calls an item. Figures by format are of one file at a time: ours
of one process, Tika's as it states them (whole milliseconds, mean over the rounds). What counts as found:
`benchmarks.formats.score`. All of it is CPU throughput, local storage, cached.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bench_home import bench_home
from benchmarks.figures import Figure, Figures
from benchmarks.formats import ours as formats_ours
from benchmarks.formats import tika as formats_tika
from benchmarks.formats.agreed import show_agreed
from benchmarks.formats.ours import shown
from benchmarks.formats.readers import PROGRAMS, ReaderAbsent, read_by
from benchmarks.formats.recall import show_recall
from benchmarks.formats.score import Extract, our_extracts, peer_extract, scores
from benchmarks.formats.table import show_formats, show_shortfalls
from benchmarks.formats.whole import show_whole

REAL_FILES = Path(__file__).resolve().parents[3] / "shared" / "data" / "real-files"


@dataclass(frozen=True, slots=True)
class Options:
    """Of a run."""

    rounds: int
    peer: formats_tika.Tika | None
    peer_name: str


def main() -> None:
    """Measure; exit status 0 whether targets are met or not."""
    parser = argparse.ArgumentParser(prog="make bench-formats BENCH_ARGS=…", description=__doc__)
    parser.add_argument("--scale", default="0.001", help="of the reference corpus; 0 leaves it out")
    parser.add_argument("--rounds", type=int, default=3, help="under the clock, after one that is not")
    parser.add_argument("--real-files", type=Path, default=REAL_FILES, help="a directory of files of any kind")
    parser.add_argument("--cache", type=Path, default=Path(".bench-cache"), help="where Tika's jar is kept")
    parser.add_argument("--output", type=Path, default=Path("bench-formats.json"))
    hint = (
        "instead of Tika: the terms that this program finds in the real files, no times; may be given several times; with"
        " --agreed: which programs (all that are installed)"
    )
    parser.add_argument("--reader", action="append", choices=sorted(PROGRAMS), help=hint)
    hint = "by format, how much of what Tika finds below this directory we find; no times; may be given several times"
    parser.add_argument("--table", action="append", type=Path, metavar="DIR", help=hint)
    hint = "by format, terms of the files below this directory that two other readers both have and we lack; no times"
    parser.add_argument("--agreed", action="append", type=Path, metavar="DIR", help=hint)
    hint = (
        "both commands over this directory, start and end included, --rounds times in turns; may be given several times"
    )
    parser.add_argument("--whole", action="append", type=Path, metavar="DIR", help=hint)
    arguments = parser.parse_args()
    if arguments.agreed:
        show_agreed(arguments.agreed, arguments.reader or sorted(PROGRAMS), arguments.cache, arguments.output)
        return
    if arguments.reader:
        _beside(arguments.real_files, arguments.reader)
        return
    if arguments.table:
        _table(arguments.table, arguments.cache, arguments.output)
        return
    if arguments.whole:
        _whole(arguments.whole, arguments.cache, arguments.rounds)
        return
    figures = Figures(arguments.output)
    options = _options(arguments.rounds, arguments.cache)
    print(f"{os.cpu_count()} cores; CPU throughput, local storage, cached; {options.peer_name}\n", flush=True)
    _messages(figures)
    if arguments.real_files.is_dir():
        _measure("real", arguments.real_files, figures, options)
    else:
        print(f"real files: left out, there is no directory {arguments.real_files}")
    if float(arguments.scale):
        _corpus(arguments.scale, figures, options)
    print()
    figures.show()


def _beside(source: Path, programs: list[str]) -> None:
    """Print for each program how many of its terms we find, and where we do not."""
    names = {shown(file): file for file in formats_ours.loose_files(source)}
    mine = our_extracts(formats_ours.lines_of(source))
    for name in programs:
        program = PROGRAMS[name]
        files = [file for file in names if file in mine and mine[file].media_type in program.media_types]
        try:
            extracts, failed = read_by(program, source, [names[file] for file in files])
        except ReaderAbsent as absent:
            print(f"{name}: {absent}")
            continue
        total = scores(mine, {shown(file): extract for file, extract in extracts.items()})[""]
        print(
            f"{name}: {len(files)} files, it gives nothing for {len(failed)}; {total.recall:.2%} of its {total.terms:,} terms"
        )
        for shortfall in total.shortfalls:
            print(f"  {shortfall.line()}")


def _table(sources: list[Path], cache: Path, output: Path) -> None:
    try:
        show_recall(sources, formats_tika.find_tika(cache), output)
    except formats_tika.TikaAbsent as e:
        print(f"no comparison with Apache Tika: {e}")


def _whole(sources: list[Path], cache: Path, rounds: int) -> None:
    try:
        show_whole(sources, formats_tika.find_tika(cache), rounds)
    except formats_tika.TikaAbsent as e:
        print(f"no comparison with Apache Tika: {e}")


def _corpus(scale: str, figures: Figures, options: Options) -> None:
    with bench_home() as home:
        corpus = home.directory / "corpus"
        home.run("corpus", "generate", str(corpus), "--profile", "reference", "--scale", scale, "--seed", "1")
        _measure("corpus", corpus / "data", figures, options)


def _options(rounds: int, cache: Path) -> Options:
    try:
        tika = formats_tika.find_tika(cache)
    except formats_tika.TikaAbsent as e:
        return Options(rounds, None, f"no comparison with Apache Tika: {e}")
    return Options(rounds, tika, f"Apache Tika {formats_tika.VERSION}, batch mode, on {tika.jvm}")


def _messages(figures: Figures) -> None:
    rates = formats_ours.messages_per_second()
    note = (
        f"one core; without attachments, mean {rates.size:,.0f} bytes; type, hashes, children, text and header fields"
    )
    figures.add("email", Figure(value=rates.all, unit="messages/s", target=10_000, note=note))
    note = "of these, those with a web page beside the text, with which it is compared"
    figures.add("email_page", Figure(value=rates.with_page, unit="messages/s", note=note))


def _measure(name: str, source: Path, figures: Figures, options: Options) -> None:
    files = formats_ours.loose_files(source)
    note = f"mean of {len(files)} files in memory"
    value = formats_ours.identify_us(source, files)
    figures.add(f"{name}_identify", Figure(value=value, unit="µs", target=60, at_most=True, note=note))
    ours = formats_ours.run_ours(source, files, options.rounds)
    mine = our_extracts(ours.lines)
    sizes = {shown(file): (source / file).stat().st_size for file in files}
    note = f"{len(files)} files, {len(ours.lines)} items, {formats_ours.PROCESSES} processes"
    value = ours.files_per_second * len(ours.lines) / len(files)
    figures.add(f"{name}_items", Figure(value=value, unit="items/s", note=note))
    if options.peer is None:
        show_formats(name, sizes, mine, ours.seconds, {}, {})
        return
    named = [file for file in files if formats_tika.can_be_named(file)]
    with tempfile.TemporaryDirectory(prefix="edbench-tika-") as scratch:
        run = formats_tika.run_tika(options.peer, source, named, options.rounds, Path(scratch))
    peers = {shown(file): peer_extract(documents) for file, documents in run.documents.items() if documents}
    _compare(name, figures, ours, run, mine, peers)
    show_formats(name, sizes, mine, ours.seconds, peers, {shown(n): ms / 1000 for n, ms in run.parse_ms.items()})
    show_shortfalls(scores(mine, peers)[""].shortfalls)


def _compare(
    name: str,
    figures: Figures,
    ours: formats_ours.OurRun,
    run: formats_tika.TikaRun,
    mine: dict[str, Extract],
    peers: dict[str, Extract],
) -> None:
    total = scores(mine, peers)[""]
    items = total.peer_children + len(peers)
    note = f"{len(run.documents)} files, {items} items, {formats_tika.CONSUMERS} consumers, after one round of warm-up"
    value = run.files_per_second * items / len(run.documents)
    figures.add(f"{name}_items_tika", Figure(value=value, unit="items/s", note=note))
    note = f"{ours.files_per_second:,.0f} : {run.files_per_second:,.0f} files/s, two at a time"
    value = ours.files_per_second / run.files_per_second if run.files_per_second else 0.0
    figures.add(f"{name}_ratio", Figure(value=value, unit="x of Tika", target=10, note=note))
    note = f"{ours.cpu_seconds * 1e3:.2f} : {run.cpu_seconds * 1e3:.2f} ms of processor time a file; tells on busy machines"
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
