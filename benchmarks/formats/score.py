"""What two extractors found in the same files, held against each other.

A **term** is a run of three letters or more (Unicode letters, no digits, no underscore), case-folded; a file's terms
are the set of those in its text and in the text of everything inside it. What counts:

* of Tika: `X-TIKA:content` of the file and of every embedded document, as plain text (`-t`). Its metadata does not
  count, for either side's good: what Tika puts there it does not call text.
* of ours, as the index reads it (`worker.indexes.readings`): text, metadata values and names of the file and of everything
  inside it. Tika writes subjects, senders and
  names of attachments into its text, for some formats; here these are metadata, and a reviewer finds both.

**Recall** of a file is the share of Tika's terms that we have. Over many files it is weighted by terms, so that a long
document counts for more than a short one. A file counts where Tika found a term at all.

**Children** are all items below the file, at any depth: embedded documents of Tika, child items of ours. Tika makes
the body of a winmail.dat a document of its own, under a name that is not in the file (`message.rtf`); it is the text of
the message, which we count as text, and no child.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from worker.indexes.readings import readings

_TERM = re.compile(r"[^\W\d_]{3,}")
_MADE_UP = "message.rtf"
SAMPLE = 12  # missing terms that are shown of a file


@dataclass(slots=True)
class Extract:
    """What one extractor found in one file."""

    terms: set[str] = field(default_factory=set)
    characters: int = 0  # of text, the file's own and its children's
    children: int = 0
    media_type: str = ""
    codes: set[str] = field(default_factory=set)  # exceptions of the file's items; only of ours


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
        """One line for people: recall, children, and a sample of what is missing."""
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
        """1.0 where the peer found nothing."""
        return self.found / self.terms if self.terms else 1.0

    @property
    def fewer_children(self) -> int:
        """Files in which we found fewer children."""
        return sum(s.children < s.peer_children for s in self.shortfalls)


def terms_of(text: str) -> set[str]:
    """The terms of a text."""
    return set(_TERM.findall(text.casefold()))


def words_in(value: Any) -> Iterator[str]:
    """All strings in a JSON-like value; keys of dictionaries are no words of the document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from words_in(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from words_in(inner)


def peer_extract(documents: Iterable[dict[str, Any]]) -> Extract:
    """Of Tika's recursive JSON: the file itself first, then everything embedded in it."""
    extract = Extract()
    known = list(documents)
    bodies = {
        f"{document.get('X-TIKA:embedded_resource_path') or ''}/{_MADE_UP}"
        for document in known
        if document.get("Content-Type") == "application/vnd.ms-tnef"
    }
    for number, document in enumerate(known):
        text = document.get("X-TIKA:content") or ""
        extract.terms |= terms_of(text)
        extract.characters += len(text)
        extract.children += number > 0 and document.get("X-TIKA:embedded_resource_path") not in bodies
    return extract


def our_extracts(lines: Iterable[dict[str, Any]]) -> dict[str, Extract]:
    """Of the lines of `inspect --jsonl`, by the name of the loose file."""
    out: dict[str, Extract] = {}
    for line in lines:
        path = line["container_path"]
        extract = out.setdefault(path[0], Extract())
        for words in words_in([line["text"], line["metadata"], path]):
            for reading in readings(words):  # as a search finds them: across hyphens, in any form of a letter
                extract.terms |= terms_of(reading)
        extract.characters += len(line["text"])
        extract.codes.update(line.get("exceptions", ()))
        if len(path) == 1:
            extract.media_type = line["media_type"]
        else:
            extract.children += 1
    return out


def scores(ours: dict[str, Extract], peers: dict[str, Extract]) -> dict[str, Score]:
    """By media type of the loose file; "" holds the sums of all. Files that the peer gave no answer for are left out."""
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
