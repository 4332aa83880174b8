"""Comparison of what two extractors found in the same files.
A **term** is a word, three letters or more (Unicode letters, no underscore), case-folded, or a number, two digits or
more; a file's terms are the set of those in its text and in the text of everything inside it. What counts:
* of Tika: `X-TIKA:content` of the file and of every embedded document, as plain text (`-t`). Its metadata counts for
  neither side: Tika does not call it text.
* of ours, as the index reads it (`search.words`): text, metadata values and names of the file and of everything inside
  it. Tika writes subjects, senders and names of attachments into its text, for some formats; here these are metadata, and
  a reviewer finds both.
**Recall** of a file is the share of Tika's terms that we have. Over many files it is weighted by terms, so that a long
document counts for more than a short one. Files in which Tika found no term are omitted.
**Children** are all items below the file, at any depth: embedded documents of Tika, child items of ours. Tika turns the
body of a winmail.dat into a document of its own, under a name that is not in the file (`message.rtf`), and likewise
parts of a message that have no name: both are the text of the message, which we count as text, and not as children."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from rich.console import Console
from rich.table import Table

from readers.records import TextState
from search.words import readings

_TERM = re.compile(r"[^\W\d_]{3,}|\d{2,}")
_MADE_UP = "message.rtf"
_NO_NAME = re.compile(r"embedded-\d+")  # Tika's name of a part without a name
# Lines of base64 and hexadecimal digits, files in uuencode from their first line to their last (or whole lines of one that has
# lost these: 61 characters), words of UTF-7; fonts in headers of workbooks. A line ends as its message has it: \n, \r\n or \r.
_BEGINS, _ENDS = r"(?<![^\r\n])", r"(?![^\r\n])"
_UNDECODED = re.compile(
    rf"{_BEGINS}begin [0-7]{{3,4}} [^\r\n]*(?:[\r\n]+[ -`]{{1,63}})*?[\r\n]+end{_ENDS}"
    rf"|{_BEGINS}(?:[A-Za-z0-9+/=]{{60,}}|M[ -`]{{60,61}}|begin [0-7]{{3,4}} [^\r\n]*){_ENDS}"
    r"|(?<![^\W\d_])[^\W\d_]*+(?:\+[A-Za-z0-9/]{2,}-\w*+)+|&\"[^\"\n]*\""
)
SAMPLE = 12  # missing terms shown for a file


@dataclass(slots=True)
class Extract:
    """The findings of one extractor in one file."""

    terms: set[str] = field(default_factory=set)
    characters: int = 0  # of text, the file's own and its children's
    children: int = 0
    media_type: str = ""
    codes: set[str] = field(default_factory=set)  # exceptions of the file's items; only of ours
    texts: list[str] = field(default_factory=list)  # case-folded; only of ours
    unread: int = 0  # replacement characters for undecodable bytes; this and the next three only of the peer's
    endings: set[str] = field(default_factory=set)  # suffixes of the names inside the file
    undecoded: set[str] = field(default_factory=set)  # terms of bytes that it did not decode, and of codes of headers
    wrappers: int = 0  # mail stores of one message
    stores: int = 0  # mail stores; only of ours


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A file in which we found less."""

    name: str
    media_type: str
    recall: float
    missing: tuple[str, ...]  # terms, in the order of the alphabet
    children: int
    peer_children: int

    def line(self) -> str:
        """Return one line for people: recall, children, and a sample of the missing terms."""
        parts = []
        if self.missing:
            more = f" … {len(self.missing)} in all" if len(self.missing) > SAMPLE else ""
            parts.append(f"{self.recall:.1%} of the terms; missing: {' '.join(self.missing[:SAMPLE])}{more}")
        if self.children < self.peer_children:
            parts.append(f"{self.children} of {self.peer_children} children")
        return f"{self.name} ({self.media_type}): {'; '.join(parts)}"


@dataclass(slots=True)
class Score:
    """Sums over files."""

    files: int = 0
    terms: int = 0  # that the peer found
    found: int = 0  # of these, by us
    children: int = 0
    peer_children: int = 0
    shortfalls: list[Shortfall] = field(default_factory=list)

    @property
    def recall(self) -> float:
        """The share of the peer's terms that we found; 1.0 if the peer found nothing."""
        return self.found / self.terms if self.terms else 1.0

    @property
    def fewer_children(self) -> int:
        """Files in which we found fewer children."""
        return sum(s.children < s.peer_children for s in self.shortfalls)


def terms_of(text: str) -> set[str]:
    """Return the terms of a text."""
    return set(_TERM.findall(text.casefold()))


def words_in(value: Any) -> Iterator[str]:
    """Yield all strings in a JSON-like value; keys of dictionaries are not words of the document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from words_in(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from words_in(inner)


def peer_extract(documents: Iterable[dict[str, Any]]) -> Extract:
    """Return the extract from Tika's recursive JSON: the file itself first, then everything embedded in it."""
    extract = Extract()
    known = list(documents)
    types = {_path(document): _type(document) for document in reversed(known)}  # of like names the first counts
    extract.media_type = types.get("", "")
    extract.wrappers = sum(_wraps(path, types) for path in types)
    for number, document in enumerate(known):
        text = document.get("X-TIKA:content") or ""
        path = _path(document)
        extract.terms |= terms_of(text)
        extract.characters += len(text)
        extract.unread += text.count("\ufffd")
        extract.endings |= terms_of(PurePosixPath(path).suffix)
        extract.undecoded |= terms_of(" ".join(_UNDECODED.findall(text)))
        extract.children += number > 0 and not _is_body(path, types)
    return extract


def _path(document: dict[str, Any]) -> str:
    return document.get("X-TIKA:embedded_resource_path") or ""


def _type(document: dict[str, Any]) -> str:
    """Return the first type of a document: Tika lists those of a message's parts after the message's own."""
    types = document.get("Content-Type") or ""
    return str(types if isinstance(types, str) else types[0])


def _is_body(path: str, types: dict[str, str]) -> bool:
    """Return whether Tika's document at this path is the text of the document around it."""
    around, _, name = path.rpartition("/")
    if types.get(around) == "application/vnd.ms-tnef":
        return name == _MADE_UP
    unnamed = types.get(around, "").startswith("message/rfc822") and _NO_NAME.fullmatch(name)
    return bool(unnamed) and types[path].startswith(("text/plain", "text/html"))


def _wraps(path: str, types: dict[str, str]) -> bool:
    """Return whether this is a mail store of one message: Tika takes messages that begin with a From_ line for one."""
    inside = [kind for other, kind in types.items() if other and other.rpartition("/")[0] == path]
    return types[path] == "application/mbox" and len(inside) == 1


def our_extracts(lines: Iterable[dict[str, Any]]) -> dict[str, Extract]:
    """Return the extracts from the lines of `inspect --jsonl`, by the name of the loose file."""
    out: dict[str, Extract] = {}
    for line in lines:
        path = line["container_path"]
        extract = out.setdefault(path[0], Extract())
        for words in words_in([line["text"], line["metadata"], path]):
            for reading in readings(words):  # as a search finds them: across hyphens, in any form of a letter
                extract.terms |= terms_of(reading)
        extract.characters += len(line["text"])
        extract.texts.append(line["text"].casefold())
        extract.stores += line["media_type"] == "application/mbox"
        extract.codes.update(line.get("exceptions", ()))
        if line.get("text_state") == TextState.TRUNCATED_BY_LIMIT:
            extract.codes.add(line["text_state"])
        if len(path) == 1:
            extract.media_type = line["media_type"]
        else:
            extract.children += 1
    return out


def scores(ours: dict[str, Extract], peers: dict[str, Extract]) -> dict[str, Score]:
    """Return sums by media type of the loose file; "" has the sums of all. Files without an answer of the peer are
    omitted."""
    out: dict[str, Score] = {"": Score()}
    for name in sorted(peers):
        mine, peer = ours.get(name, Extract()), peers[name]
        missing = peer.terms - mine.terms
        fewer = mine.children < peer.children
        for score in (out[""], out.setdefault(mine.media_type or "not read", Score())):
            score.files += 1
            score.terms += len(peer.terms)
            score.found += len(peer.terms) - len(missing)
            score.children += mine.children
            score.peer_children += peer.children
            if missing or fewer:
                recall = 1 - len(missing) / len(peer.terms) if peer.terms else 1.0
                less = (name, mine.media_type, recall, tuple(sorted(missing)), mine.children, peer.children)
                score.shortfalls.append(Shortfall(*less))
    return out


@dataclass(slots=True)
class Side:
    """One extractor's sums over the files of one format."""

    files: int = 0
    items: int = 0  # files and everything inside them
    size: int = 0  # bytes of the files that were timed
    characters: int = 0
    children: int = 0
    seconds: float = 0.0

    def add(self, extract: Extract, size: int, seconds: float | None) -> None:
        """Add one file; without a time it does not count for the speed."""
        self.characters += extract.characters
        self.children += extract.children
        if seconds is not None:
            self.files += 1
            self.items += 1 + extract.children
            self.size += size
            self.seconds += seconds

    @property
    def us_per_item(self) -> float | None:
        """Microseconds for an item; None if no file was timed, or all were too fast for a clock of milliseconds."""
        return self.seconds / self.items * 1e6 if self.seconds else None

    @property
    def mb_per_second(self) -> float | None:
        """MB of files (10⁶ bytes) a second of one core."""
        return self.size / 1e6 / self.seconds if self.seconds else None


def by_format(
    sizes: Mapping[str, int], types: Mapping[str, str], extracts: Mapping[str, Extract], seconds: Mapping[str, float]
) -> dict[str, Side]:
    """Return sums by media type; `types` has the type of every file, `sizes` its bytes."""
    out: dict[str, Side] = defaultdict(Side)
    for name, extract in extracts.items():
        if name in types:
            out[types[name]].add(extract, sizes.get(name, 0), seconds.get(name))
    return out


def show_formats(
    title: str,
    sizes: Mapping[str, int],
    ours: Mapping[str, Extract],
    our_seconds: Mapping[str, float],
    peers: Mapping[str, Extract],
    peer_seconds: Mapping[str, float],
) -> None:
    """Print the table; without peers, only our columns."""
    types = {name: extract.media_type for name, extract in ours.items()}
    mine = by_format(sizes, types, ours, our_seconds)
    theirs = by_format(sizes, types, peers, peer_seconds)
    by_type = scores(dict(ours), dict(peers))
    columns = ["format", "files", "µs/item", "MB/s", "characters", "children"]
    table = Table(*columns, title=title, box=None, header_style="bold", pad_edge=False, title_justify="left")
    if peers:
        for heading in ("Tika µs/item", "MB/s", "characters", "children", "faster", "terms", "found"):
            table.add_column(heading)
    for column in table.columns[1:]:
        column.justify = "right"
    for media_type in sorted(mine):
        row = [media_type, f"{mine[media_type].files:,}", *_columns(mine[media_type])]
        if peers:
            row += _peer_columns(mine[media_type], theirs.get(media_type, Side()), by_type.get(media_type, Score()))
        table.add_row(*row)
    console = Console(highlight=False, width=None if Console().is_terminal else 220)
    console.print(table)


def _columns(side: Side) -> list[str]:
    return [_number(side.us_per_item), _number(side.mb_per_second), f"{side.characters:,}", f"{side.children:,}"]


def _peer_columns(mine: Side, theirs: Side, score: Score) -> list[str]:
    times = f"{theirs.seconds / mine.seconds:,.1f}x" if mine.seconds and theirs.seconds else ""
    recall = f"{score.recall:.2%}" if score.terms else ""
    return [*_columns(theirs), times, f"{score.terms:,}", recall]


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2f}"


def show_shortfalls(shortfalls: Iterable[Shortfall]) -> None:
    """Print each file in which we found less, with a sample of the missing terms."""
    lines = [shortfall.line() for shortfall in shortfalls]
    print(f"less than Tika in {len(lines)} files{':' if lines else ''}")
    for line in lines:
        print(f"  {line}")
    print(flush=True)
