"""`make bench-joins BENCH_ARGS="DIR…"`: words that the index reads as one across a hyphen at a line's end, in real texts.

What is joined rightly nobody says, so the collection itself is asked (and a list of words, one a line, if `--words` names
one): a word that stands elsewhere without a line's end between its letters is a word, and one that stands elsewhere with
its hyphen is written with it. Every place counts once, in all texts that `edbench inspect` takes out of the files, what is
inside them too.

* **a word**: the joined one stands elsewhere, the hyphenated one does not;
* **either**: both do. Where the hyphen was meant, a search for the joined word finds this text falsely;
* **a compound**: only the hyphenated one does. The index has a word more that nobody looks for;
* **unknown**: neither does.
"""

from __future__ import annotations

import argparse
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.formats.ours import lines_of
from worker.indexes.readings import cuts, usual

_WORD = re.compile(r"[^\W\d_]+")
_HYPHENATED = re.compile(r"[^\W\d_]+(?:[-\u2010\u058a][^\W\d_]+)+")
_BEFORE = re.compile(r"[^\W\d_]+\Z")
_HYPHENS = "-\u2010\u058a\xad"  # a soft one is what PDFium makes of a hyphen at a line's end
_LONGEST = 60  # letters of half a word
SAMPLE = 12
CLASSES = ("a word", "either", "a compound", "unknown")


@dataclass(slots=True)
class Words:
    """What stands in a collection within a line, case-folded."""

    plain: set[str] = field(default_factory=set)
    hyphenated: set[str] = field(default_factory=set)

    def add(self, text: str) -> None:
        """Every word but those beside a cut, and pairs of words with a hyphen between."""
        last = 0
        for start, end in cuts(text):
            self._part(_BEFORE.sub("", text[last:start]))
            beside = _WORD.match(text, end)
            last = beside.end() if beside else end
        self._part(text[last:])

    def _part(self, text: str) -> None:
        folded = usual(text).casefold()
        self.plain.update(_WORD.findall(folded))
        for found in _HYPHENATED.findall(folded):
            parts = _WORD.findall(found)
            self.hyphenated.update("-".join(pair) for pair in itertools.pairwise(parts))

    def class_of(self, left: str, right: str) -> str:
        """One of CLASSES, of two halves."""
        word, compound = left + right in self.plain, f"{left}-{right}" in self.hyphenated
        return CLASSES[(0 if not compound else 1) if word else (2 if compound else 3)]


def joined(text: str) -> Iterator[tuple[str, str]]:
    """The halves of each word that a hyphen at a line's end cuts, case-folded; soft hyphens too."""
    for start, end in cuts(text):
        if text[start] in _HYPHENS:
            left = _BEFORE.search(text, max(0, start - _LONGEST), start)
            right = _WORD.match(text, end)
            if left and right:
                yield usual(left[0]).casefold(), usual(right[0]).casefold()


def counted(texts: Iterable[str], words: Words) -> dict[str, Counter[str]]:
    """By class, how often each pair of halves stands in these texts."""
    out: dict[str, Counter[str]] = {name: Counter() for name in CLASSES}
    for text in texts:
        for left, right in joined(text):
            out[words.class_of(left, right)][f"{left}-{right}"] += 1
    return out


def main() -> None:
    """Print the counts of all the directories together, and samples."""
    parser = argparse.ArgumentParser(prog="make bench-joins BENCH_ARGS=…", description=__doc__)
    parser.add_argument("source", nargs="+", type=Path, help="directories of files of any kind")
    parser.add_argument("--words", type=Path, help="a list of words, one a line, UTF-8")
    arguments = parser.parse_args()
    texts = list(dict.fromkeys(line["text"] for source in arguments.source for line in lines_of(source)))
    words = Words()
    if arguments.words:
        words.plain.update(word.strip().casefold() for word in arguments.words.read_text("utf-8").splitlines())
    for text in texts:
        words.add(text)
    found = counted(texts, words)
    total = sum(counter.total() for counter in found.values())
    print(f"{len(texts):,} different texts, {len(words.plain):,} words; {total:,} words joined at a line's end")
    for name, counter in found.items():
        share = counter.total() / total if total else 0.0
        sample = ", ".join(pair for pair, _ in counter.most_common(SAMPLE))
        print(f"  {name}: {counter.total():,} ({share:.2%}), {len(counter):,} different: {sample}")


if __name__ == "__main__":
    main()
