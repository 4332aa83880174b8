"""`make bench-formats BENCH_ARGS="--agreed DIR"`: words of a file that two other readers both have, and we lack.

One reader alone may be wrong: it reads codes of fields, halves of words, what is deleted. Where two that know nothing of one
another have a word, it is most likely there. The others are Apache Tika, where it can be had, and every program of
`benchmarks.formats.readers` that is installed and takes the file's type. What rules tell to be no loss (`differences`) is left out.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.formats import ours as formats_ours
from benchmarks.formats import tika as formats_tika
from benchmarks.formats.differences import losses
from benchmarks.formats.ours import shown
from benchmarks.formats.readers import PROGRAMS, ReaderAbsent, read_by
from benchmarks.formats.recall import OTHER, format_of
from benchmarks.formats.score import SAMPLE, Extract, our_extracts, peer_extract

TIKA = "tika"
Extracts = Mapping[str, Extract]


@dataclass(slots=True)
class Agreement:
    """Sums over the files of one format that two others read."""

    files: int = 0
    terms: int = 0  # that two of them have
    found: int = 0  # of these, by us
    readers: Counter[str] = field(default_factory=Counter)  # files that each found a term in
    missing: dict[str, list[str]] = field(default_factory=dict)  # by file

    @property
    def share(self) -> float:
        """1.0 where they agree on nothing."""
        return self.found / self.terms if self.terms else 1.0


def agreements(ours: Extracts, others: Mapping[str, Extracts]) -> dict[str, Agreement]:
    """By format, by its name; `others` is what each reader found in each file."""
    out: dict[str, Agreement] = {}
    for name in sorted(set(chain.from_iterable(others.values()))):
        read = {reader: found[name].terms for reader, found in others.items() if name in found and found[name].terms}
        if len(read) < 2:
            continue
        mine, tika = ours.get(name, Extract()), others.get(TIKA, {}).get(name, Extract())
        counts = Counter(chain.from_iterable(read.values()))
        both = {term for term, count in counts.items() if count > 1}
        missing = losses(both - mine.terms, mine, tika)
        row = out.setdefault(format_of(name), Agreement())
        row.files, row.terms, row.found = row.files + 1, row.terms + len(both), row.found + len(both) - len(missing)
        row.readers.update(list(read))
        if missing:
            row.missing[name] = sorted(missing)
    return dict(sorted(out.items(), key=lambda pair: (pair[0] == OTHER, pair[0])))


def show_agreed(sources: Iterable[Path], programs: Sequence[str], cache: Path, output: Path) -> None:
    """Read the files below these directories with all, print the table and what is missing of each file, and write it."""
    tika = _tika(cache)
    for source in sources:
        ours, others = _read(source, programs, tika)
        found = agreements(ours, others)
        print(f"\n{source}: terms that two other readers both have")
        Console(highlight=False, width=140).print(_table(found))
        for row in found.values():
            for name, missing in row.missing.items():
                more = f" … {len(missing)} in all" if len(missing) > SAMPLE else ""
                print(f"  {name}: {' '.join(missing[:SAMPLE])}{more}")
        less = {name: missing for row in found.values() for name, missing in row.missing.items()}
        output.write_text(json.dumps(less, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _tika(cache: Path) -> formats_tika.Tika | None:
    try:
        return formats_tika.find_tika(cache)
    except formats_tika.TikaAbsent as absent:
        print(f"without Apache Tika: {absent}")
        return None


def _read(
    source: Path, programs: Sequence[str], tika: formats_tika.Tika | None
) -> tuple[dict[str, Extract], dict[str, dict[str, Extract]]]:
    """What we and each of the others found in the files below a directory."""
    files = [name for name in formats_ours.loose_files(source) if formats_tika.can_be_named(name)]
    ours = our_extracts(formats_ours.lines_of(source))
    others: dict[str, dict[str, Extract]] = {}
    if tika is not None:
        with tempfile.TemporaryDirectory(prefix="edbench-tika-") as scratch:
            run = formats_tika.run_tika(tika, source, files, 0, Path(scratch))
        others[TIKA] = {shown(file): peer_extract(documents) for file, documents in run.documents.items() if documents}
    for name in programs:
        program = PROGRAMS[name]
        fitting = [file for file in files if ours.get(shown(file), Extract()).media_type in program.media_types]
        try:
            extracts, failed = read_by(program, source, fitting)
        except ReaderAbsent as absent:
            print(f"without {name}: {absent}")
            continue
        others[name] = {shown(file): extract for file, extract in extracts.items()}
        if failed:
            print(f"{name} gives nothing for {len(failed)} of {len(fitting)} files")
    return ours, others


def _table(found: Mapping[str, Agreement]) -> Table:
    headings = ("format", "files", "terms of two", "of these ours", "share", "files with less", "read by (files)")
    table = Table(*headings, box=None, header_style="bold", pad_edge=False)
    for column in table.columns[1:-1]:
        column.justify = "right"
    for name, row in found.items():
        figures = (row.files, row.terms, row.found)
        readers = ", ".join(f"{reader} {count:,}" for reader, count in sorted(row.readers.items()))
        table.add_row(name, *(f"{figure:,}" for figure in figures), f"{row.share:.2%}", str(len(row.missing)), readers)
    return table
