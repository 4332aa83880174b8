"""`make bench-formats BENCH_ARGS="--table DIR"`: by format, what Tika found in these files, and how much of it we have.
Each directory is read once by either side, without a clock. A file's format is the suffix of its name, whatever it
contains: that is how collections are sorted. If we find less in a file, and an item of it has an exception, the loss is
**reported**; without an exception the file is `ok`, and a search silently misses words."""

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

# Words that Tika adds to texts: labels of messages and sheets, names of parts, placeholders, codes of fields.
OWN = frozenset(
    ["docprops", "footnoteref", "endnoteref", "recipients", "from", "unknown", "embed", "mergeformat", "sheet"]
)
_TEXT = ("text/plain", "text/html", "application/xhtml+xml")
_NOTHING = ("", "application/octet-stream")  # we cannot identify it either
_BETWEEN = re.compile(r"[\W\d_]+")
_CUT = "\0"  # marks the end of a line, a cell or a paragraph


def misread(mine: Extract, peer: Extract) -> bool:
    """Return whether Tika did not read this file as its own type."""
    as_text = peer.media_type.startswith(_TEXT) and mine.media_type not in _NOTHING and not _is_text(mine.media_type)
    return as_text or peer.unread > UNREAD_SHARE * peer.characters


def _is_text(media_type: str) -> bool:
    return media_type.startswith(("text/", "application/json", "application/xml", "application/xhtml"))


def losses(missing: Iterable[str], mine: Extract, peer: Extract) -> set[str]:
    """Return the missing terms that cannot be explained by Tika's own labels, joined words or scripts without
    blanks."""
    left = {term for term in missing if term not in OWN | peer.endings | peer.undecoded}
    left -= _joined(left, mine.texts)
    return {term for term in left if not _in_a_row(term, mine.texts)}


def _in_a_row(term: str, texts: Iterable[str]) -> bool:
    """Return whether the term is of a script without blanks, and occurs in a text."""
    return all(apart(letter) != letter for letter in term) and any(term in text for text in texts)


def _joined(terms: Collection[str], texts: Iterable[str]) -> set[str]:
    """Return the terms that consist of words with line or cell ends between them."""
    longest = max(map(len, terms), default=0)
    return {word for text in texts for word in _across(text, longest) if word in terms} if longest else set()


def _across(text: str, longest: int) -> Iterator[str]:
    """Yield the terms that result if consecutive words are joined across such ends, up to so many letters."""
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
    """Sums over the files of one format for which Tika gave an answer. A file from which only explainable terms are
    missing (`losses`) counts as complete."""

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
        """Add one file."""
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
        """The share of its terms that we have; 1.0 if it has none."""
        return self.found / self.terms if self.terms else 1.0

    @property
    def share_compared(self) -> float:
        """The share of the terms that can be compared."""
        return 1 - self.lost / self.compared if self.compared else 1.0

    @property
    def met(self) -> str:
        """The first of the two shares by which the goal is met; "NOT met" also if items are missing."""
        if self.items < self.peer_items:
            return "NOT met (items)"
        shares = {"met": self.share, "met as compared": self.share_compared}
        return next((name for name, share in shares.items() if share >= GOAL), "NOT met")


def peer_children(mine: Extract, peer: Extract) -> int:
    """Return the number of Tika's children: a message that begins with a From_ line is not a store with a message in
    it, unless we agree."""
    return peer.children - max(0, peer.wrappers - mine.stores)


def format_of(name: str) -> str:
    """Return one of FORMATS, or OTHER."""
    ending = PurePath(name).suffix[1:].lower()
    ending = _ALSO.get(ending, ending)
    return ending if ending in FORMATS else OTHER


def rows(ours: Mapping[str, Extract], peers: Mapping[str, Extract]) -> dict[str, Row]:
    """Return the sums by format, in the order of FORMATS; formats without files are omitted."""
    out = {name: Row() for name in (*FORMATS, OTHER)}
    for name in sorted(peers):
        out[format_of(name)].add(name, ours.get(name, Extract()), peers[name])
    return {name: row for name, row in out.items() if row.files}


def show_recall(sources: Iterable[Path], tika: engines.Tika, output: Path) -> None:
    """Read the files below these directories with both sides, print the table, and write the missing terms of each
    file."""
    mine: dict[str, Extract] = {}
    peers: dict[str, Extract] = {}
    for source in sources:
        ours, theirs = _read(source, tika)
        mine |= ours
        peers |= theirs
    found = rows(mine, peers)
    Console(highlight=False, width=140).print(_table(found))
    less = {
        name: {**_entry(mine.get(name, Extract()), peers[name]), "misread": name in row.aside}
        for row in found.values()
        for name in dict.fromkeys([*row.less, *row.aside])
    }
    output.write_text(json.dumps(less, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(f"the missing terms of {len(less):,} files are in {output}")


def _entry(mine: Extract, peer: Extract) -> dict[str, Any]:
    """Return the entry of a file in the output file."""
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
    """Return what each side found in the files below a directory."""
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
        *("with less", "with exception", "goal"),
    )
    table = Table(*headings, box=None, header_style="bold", pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, row in found.items():
        less, silent = len(row.less), len(row.silent)
        shares = (f"{row.share:.2%}", len(row.aside), f"{row.share_compared:.2%}")
        figures = (row.files, row.terms, *shares, row.items, row.peer_items, less, less - silent)
        cells = (f"{figure:,}" if isinstance(figure, int) else figure for figure in figures)
        table.add_row(name, *cells, "" if name == OTHER else row.met)
    return table
