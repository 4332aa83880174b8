"""`make bench-formats BENCH_ARGS="--table DIR"`: by format, what Tika found in these files, and how much of it we have.

Each directory is read once by either side, without a clock. A file's format is its name's ending, whatever it holds: that
is how a collection is sorted by those who made it. A file in which we find less **says so** where any item of it has an
exception; else it is `ok`, and a search misses words silently.
"""

from __future__ import annotations

import itertools
import json
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.formats import engines
from benchmarks.formats.engines import shown
from benchmarks.formats.score import Extract, our_extracts, peer_extract
from search.words import apart
from worker.items.texts import UNREAD_SHARE

# What Tika writes into text and no document says: labels of messages and sheets, names of parts, placeholders, codes of fields.
OWN = frozenset(
    ["docprops", "footnoteref", "endnoteref", "recipients", "from", "unknown", "embed", "mergeformat", "sheet"]
)
_TEXT = ("text/plain", "text/html", "application/xhtml+xml")
_NOTHING = ("", "application/octet-stream")  # we do not know what it is either
_BETWEEN = re.compile(r"[\W\d_]+")
_CUT = "\0"  # stands where a line, a cell or a paragraph ends


def misread(mine: Extract, peer: Extract) -> bool:
    """Whether Tika did not read this file as what it is."""
    as_text = peer.media_type.startswith(_TEXT) and mine.media_type not in _NOTHING and not _is_text(mine.media_type)
    return as_text or peer.unread > UNREAD_SHARE * peer.characters


def _is_text(media_type: str) -> bool:
    return media_type.startswith(("text/", "application/json", "application/xml", "application/xhtml"))


def losses(missing: Iterable[str], mine: Extract, peer: Extract) -> set[str]:
    """Those of the missing terms that are none of the above."""
    left = {term for term in missing if term not in OWN | peer.endings | peer.undecoded}
    left -= _joined(left, mine.texts)
    return {term for term in left if not _in_a_row(term, mine.texts)}


def _in_a_row(term: str, texts: Iterable[str]) -> bool:
    """Whether it is of a script without blanks, and stands somewhere."""
    return all(apart(letter) != letter for letter in term) and any(term in text for text in texts)


def _joined(terms: Collection[str], texts: Iterable[str]) -> set[str]:
    """Those that are made of words with the ends of lines or cells between them, and nothing else."""
    longest = max(map(len, terms), default=0)
    return {word for text in texts for word in _across(text, longest) if word in terms} if longest else set()


def _across(text: str, longest: int) -> Iterator[str]:
    """What words make that follow one another over such ends, up to so many letters."""
    for run in _BETWEEN.sub(lambda match: _CUT if "\n" in match[0] or "\t" in match[0] else " ", text).split():
        words = run.split(_CUT)
        for at in range(len(words) - 1):
            made = words[at]
            for word in itertools.islice(words, at + 1, None):
                made += word
                if len(made) > longest:
                    break
                yield made


FORMATS = ("doc", "docx", "xls", "xlsx", "ppt", "pptx", "msg", "pst", "rtf", "odt", "html", "pdf", "eml")
OTHER = "other"
_ALSO = {"htm": "html", "xhtml": "html"}
GOAL = 0.99  # of the terms of each format


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

    @property
    def met(self) -> str:
        """By which of the two shares the goal is met, the first that is; "NOT met" also for items that are missing."""
        if self.items < self.peer_items:
            return "NOT met (items)"
        shares = {"met": self.share, "met as compared": self.share_compared}
        return next((name for name, share in shares.items() if share >= GOAL), "NOT met")


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


def show_recall(sources: Iterable[Path], tika: engines.Tika, output: Path) -> None:
    """Read the files below these directories with both, print the table, and write what is missing of each file."""
    mine: dict[str, Extract] = {}
    peers: dict[str, Extract] = {}
    for source in sources:
        ours, theirs = _read(source, tika)
        mine |= ours
        peers |= theirs
    found = rows(mine, peers)
    Console(highlight=False, width=140).print(_table(found))
    less = {
        name: {**_told(mine.get(name, Extract()), peers[name]), "misread": name in row.aside}
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


def _read(source: Path, tika: engines.Tika) -> tuple[dict[str, Extract], dict[str, Extract]]:
    """What either side found in the files below a directory."""
    files = [name for name in engines.loose_files(source) if engines.can_be_named(name)]
    ours = our_extracts(engines.lines_of(source))
    with tempfile.TemporaryDirectory(prefix="edbench-tika-") as scratch:
        run = engines.run_tika(tika, source, files, 0, Path(scratch))
    theirs = {shown(file): peer_extract(documents) for file, documents in run.documents.items() if documents}
    return _below(source, ours), _below(source, theirs)


def _below(source: Path, found: Mapping[str, Extract]) -> dict[str, Extract]:
    return {f"{source.resolve().name}/{name}": extract for name, extract in found.items()}


def _table(found: Mapping[str, Row]) -> Table:
    headings = (
        *("format", "files", "Tika's terms", "found", "misread", "compared", "items", "Tika's"),
        *("with less", "that say so", "goal"),
    )
    table = Table(*headings, box=None, header_style="bold", pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, row in found.items():
        less, silent = len(row.less), len(row.silent)
        shares = (f"{row.share:.2%}", len(row.aside), f"{row.share_compared:.2%}")
        figures = (row.files, row.terms, *shares, row.items, row.peer_items, less, less - silent)
        told = (f"{figure:,}" if isinstance(figure, int) else figure for figure in figures)
        table.add_row(name, *told, "" if name == OTHER else row.met)
    return table
