"""`make bench-formats BENCH_ARGS="--table DIR"`: by format, what Tika found in these files, and how much of it we have.

Each directory is read once by either side, without a clock. A file's format is its name's ending, whatever it holds: that
is how a collection is sorted by those who made it. A file in which we find less **says so** where any item of it has an
exception; else it is `ok`, and a search misses words silently.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.formats import ours as formats_ours
from benchmarks.formats import tika as formats_tika
from benchmarks.formats.differences import losses, misread
from benchmarks.formats.ours import shown
from benchmarks.formats.score import Extract, our_extracts, peer_extract

FORMATS = ("doc", "docx", "xls", "xlsx", "ppt", "pptx", "msg", "pst", "rtf", "odt", "html", "pdf", "eml")
OTHER = "other"
_ALSO = {"htm": "html", "xhtml": "html"}
GOAL = 0.99  # of the terms of each format, less those that are no loss


@dataclass(slots=True)
class Row:
    """Sums over the files of one format for which Tika gave an answer. A file of which we lack only terms that are no loss
    (`differences`) counts as whole."""

    files: int = 0
    terms: int = 0  # Tika's
    found: int = 0  # of these, by us
    aside: list[str] = field(default_factory=list)  # names of files that Tika misread
    compared: int = 0  # its terms of the others, less those that are no loss
    lost: int = 0  # of these
    items: int = 0
    peer_items: int = 0
    less: list[str] = field(default_factory=list)  # names of files in which we found less
    silent: list[str] = field(default_factory=list)  # of these, those without an exception

    def add(self, name: str, mine: Extract, peer: Extract) -> None:
        """One file."""
        missing = peer.terms - mine.terms
        self.files += 1
        self.terms += len(peer.terms)
        self.found += len(peer.terms) - len(missing)
        self.items += 1 + mine.children
        children = peer_children(mine, peer)
        self.peer_items += 1 + children
        if missing and misread(mine, peer):
            self.aside.append(name)
            lost: set[str] = set()
        else:
            lost = losses(missing, mine, peer)
            self.compared += len(peer.terms) - len(missing) + len(lost)
            self.lost += len(lost)
        if lost or mine.children < children:
            self.less.append(name)
            if not mine.codes:
                self.silent.append(name)

    @property
    def share(self) -> float:
        """Of its terms that we have; 1.0 where it has none."""
        return self.found / self.terms if self.terms else 1.0

    @property
    def share_compared(self) -> float:
        """The same of the terms that can be compared."""
        return 1 - self.lost / self.compared if self.compared else 1.0


def peer_children(mine: Extract, peer: Extract) -> int:
    """How many Tika has: a message that begins with a From_ line is no store with a message in it, unless we say so too."""
    return peer.children - max(0, peer.wrappers - mine.stores)


def format_of(name: str) -> str:
    """One of FORMATS, or OTHER."""
    ending = PurePath(name).suffix[1:].lower()
    ending = _ALSO.get(ending, ending)
    return ending if ending in FORMATS else OTHER


def rows(ours: Mapping[str, Extract], peers: Mapping[str, Extract]) -> dict[str, Row]:
    """By format, in the order of FORMATS; formats without files are left out."""
    out = {name: Row() for name in (*FORMATS, OTHER)}
    for name in sorted(peers):
        out[format_of(name)].add(name, ours.get(name, Extract()), peers[name])
    return {name: row for name, row in out.items() if row.files}


def show_recall(sources: Iterable[Path], tika: formats_tika.Tika, output: Path) -> None:
    """Read the files below these directories with both, print the table, and write what is missing of each file."""
    mine: dict[str, Extract] = {}
    peers: dict[str, Extract] = {}
    for source in sources:
        ours, theirs = _read(source, tika)
        mine |= ours
        peers |= theirs
    found = rows(mine, peers)
    Console(highlight=False, width=120).print(_table(found))
    less = {
        name: {
            **_told(mine.get(name, Extract()), peers[name]),
            "misread": name in row.aside,
        }
        for row in found.values()
        for name in dict.fromkeys([*row.less, *row.aside])
    }
    output.write_text(json.dumps(less, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(f"what is missing of {len(less):,} files stands in {output}")


def _told(mine: Extract, peer: Extract) -> dict[str, Any]:
    """What the output file says of a file."""
    missing = peer.terms - mine.terms
    lost = losses(missing, mine, peer)
    return {
        "missing": sorted(lost),
        "no_loss": sorted(missing - lost),
        "terms": len(peer.terms),
        "children": [mine.children, peer_children(mine, peer)],
        "exceptions": sorted(mine.codes),
        "media_types": [mine.media_type, peer.media_type],
    }


def _read(source: Path, tika: formats_tika.Tika) -> tuple[dict[str, Extract], dict[str, Extract]]:
    files = [name for name in formats_ours.loose_files(source) if formats_tika.can_be_named(name)]
    ours = our_extracts(formats_ours.lines_of(source))
    with tempfile.TemporaryDirectory(prefix="edbench-tika-") as scratch:
        run = formats_tika.run_tika(tika, source, files, 0, Path(scratch))
    theirs = {shown(file): peer_extract(documents) for file, documents in run.documents.items() if documents}
    return _below(source, ours), _below(source, theirs)


def _below(source: Path, found: Mapping[str, Extract]) -> dict[str, Extract]:
    return {f"{source.resolve().name}/{name}": extract for name, extract in found.items()}


def _table(found: Mapping[str, Row]) -> Table:
    headings = (
        "format",
        "files",
        "Tika's terms",
        "found",
        "misread",
        "compared",
        "items",
        "Tika's",
        "files with less",
        "that say so",
        "goal",
    )
    table = Table(*headings, box=None, header_style="bold", pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, row in found.items():
        less, silent = len(row.less), len(row.silent)
        met = (
            "" if name == OTHER else "met" if row.share_compared >= GOAL and row.items >= row.peer_items else "NOT met"
        )
        shares = (f"{row.share:.2%}", len(row.aside), f"{row.share_compared:.2%}")
        figures = (row.files, row.terms, *shares, row.items, row.peer_items, less, less - silent)
        table.add_row(name, *(f"{figure:,}" if isinstance(figure, int) else figure for figure in figures), met)
    return table
