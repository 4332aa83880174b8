"""How what a review found holds against a corpus's truth: planted near-duplicates, known languages."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Hashable, Mapping
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from core.records import Limits
from dataset_gen.truth import manifest as m
from readers.base import MemorySource
from readers.errors import DocumentError
from readers.identification.identify import identify
from readers.registry import handler_for
from review.languages.identify import UNKNOWN, language_of
from review.near.bands import bands_for
from review.near.collected import collecting
from review.near.grouping import NOBODY, grouped
from review.near.shingles import shingles

# The manifest's names of what ISO 639 calls otherwise.
_ISO = {"nb": "no", "zh_Hans": "zh", "zh_Hant": "zh"}


class Quality(NamedTuple):
    """Shares of 1: of what was to be found, and of what was found."""

    recall: float
    precision: float


class Told(NamedTuple):
    """Texts by what was said of their language."""

    right: int
    wrong: int
    unknown: int


def pairs_found(truth: Mapping[str, Hashable], found: Mapping[str, Hashable]) -> Quality:
    """Pairs of documents with one text, and pairs in one group; documents that are not in `truth` do not count."""
    wanted, got = _pairs(truth), _pairs({path: group for path, group in found.items() if path in truth})
    both = len(wanted & got)
    return Quality(both / len(wanted) if wanted else 1.0, both / len(got) if got else 1.0)


def _pairs(groups: Mapping[str, Hashable]) -> set[tuple[str, str]]:
    members: dict[Hashable, list[str]] = {}
    for path, group in sorted(groups.items()):
        members.setdefault(group, []).append(path)
    return {pair for each in members.values() for pair in combinations(each, 2)}


def near_quality(corpus: Path, scratch: Path, threshold: float) -> Quality:
    """Of the loose documents of a corpus with near-copies, whose texts are taken here, in this process."""
    truth = _loose(corpus, m.TEXT_OF)
    with collecting(scratch, bands_for(threshold)) as texts:
        taken = []
        for rank, path in enumerate(sorted(truth)):
            found = shingles(_text(corpus, path))
            if len(found):
                texts.add(rank, 0, found)
                taken.append(path)
        principals = grouped(texts, threshold).principal.tolist()
    return pairs_found(truth, {path: own for path, own in zip(taken, principals, strict=True) if own != NOBODY})


def language_quality(corpus: Path) -> Told:
    """Of the files of a corpus of profile `languages`; those without a text do not count."""
    truth = _loose(corpus, m.LANGUAGE)
    texts = {path: _text(corpus, path) for path in truth}
    return languages_told(truth, {path: language_of(text) for path, text in texts.items() if text.strip()})


def _loose(corpus: Path, column: str) -> dict[str, str]:
    """What the manifest says of loose files, by their paths."""
    rows = m.read_manifest(corpus).select([m.ORDINAL, m.DEPTH, column]).to_pylist()
    return {os.fsdecode(row[m.ORDINAL]): row[column] for row in rows if row[m.DEPTH] == 0 and row[column] is not None}


def _text(corpus: Path, path: str) -> str:
    source = MemorySource(os.fsencode(os.path.basename(path)), (corpus / "data" / path).read_bytes())
    try:
        return handler_for(identify(source)).text(source, Limits()).text
    except DocumentError:
        return ""


def languages_told(truth: Mapping[str, str], found: Mapping[str, str]) -> Told:
    """Documents that are not in `truth` do not count, nor do those without a text."""
    said = Counter(
        "unknown" if found[path] == UNKNOWN else found[path] == _ISO.get(language, language)
        for path, language in truth.items()
        if path in found
    )
    return Told(right=said[True], wrong=said[False], unknown=said["unknown"])
