"""What somebody who looked at a file said of the terms that Tika has of it and we lack, where rules cannot tell (decision 57).

A table stands in `benchmarks/formats/judged/` for each set of files, a row for each file and verdict: the first sixteen hexadecimal digits
of its bytes' SHA-256 (names change, and sets overlap), its name, the verdict, how many terms it is about, why. Nothing of what the files
say is in them. A verdict is good for so many terms and no more: what is lost later is ours until somebody looks again.
"""

from __future__ import annotations

import csv
import enum
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

TABLES = Path(__file__).parent / "judged"
DIGITS = 16


class Verdict(enum.StrEnum):
    """Who is wrong."""

    OURS = "ours"
    THEIRS = "theirs"
    TASTE = "taste"
    LIMIT = "limit"  # cut at a limit of ours, which the text's state tells


@dataclass(frozen=True, slots=True)
class Judgement:
    """One row."""

    name: str
    verdict: Verdict
    terms: int
    reason: str


def judgements(folder: Path = TABLES) -> dict[str, list[Judgement]]:
    """All tables, by the file's digits. ValueError for a row that says anything else than the above."""
    out: defaultdict[str, list[Judgement]] = defaultdict(list)
    for table in sorted(folder.glob("*.csv")):
        with table.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                one = Judgement(row["name"], Verdict(row["verdict"]), int(row["terms"]), row["reason"])
                out[row["sha256"]].append(one)
    return dict(out)


def digits_of(path: Path) -> str:
    """What a file is called by in the tables."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:DIGITS]


@dataclass(slots=True)
class Sorting:
    """Terms of some files by verdict, and those that nobody judged."""

    terms: Counter[Verdict] = field(default_factory=Counter)
    unjudged: dict[str, int] = field(default_factory=dict)  # by file

    def add(self, name: str, lost: int, rows: Iterable[Judgement]) -> int:
        """So many lost terms of a file; returns how many of them are not our fault, or cut at a limit."""
        left = lost
        aside = 0
        for row in rows:
            taken = min(left, row.terms)
            self.terms[row.verdict] += taken
            aside += taken if row.verdict is not Verdict.OURS else 0
            left -= taken
        if left:
            self.unjudged[name] = left
        return aside
