"""Totals of a part of a corpus: sums by the format of its loose files, from which the planner levels out."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from dataset_gen.material.blocks import Blocks

CHARACTERS_A_PAGE = 3_000  # for formats without pages (the glossary's rule)


def pages_of(row: Mapping[str, Any]) -> int:
    """Pages of an item as the pipeline counts them; containers have none. `row` is one of the manifest."""
    if row["pages"] is not None:
        return int(row["pages"])
    if row["container"]:
        return 0
    return max(1, math.ceil((row["characters"] or 0) / CHARACTERS_A_PAGE))


@dataclass(slots=True)
class Sums:
    """Loose files of one format, with everything beneath them."""

    files: int = 0
    raw: int = 0  # bytes of the loose files
    extracted: int = 0  # bytes of everything beneath
    pages: int = 0
    types: Counter[str] = field(default_factory=Counter)  # items by media type, the loose files included
    own_type: str = ""  # media type of the loose files
    smallest: int = 0  # bytes of the smallest loose file; 0: none yet


@dataclass(slots=True)
class CorpusTotals:
    """Sums of a whole corpus so far."""

    formats: dict[str, Sums] = field(default_factory=dict)
    custodians: Counter[str] = field(default_factory=Counter)  # raw bytes
    blocks: Blocks = field(default_factory=Blocks)

    def row(self, fmt: str, row: Mapping[str, Any]) -> None:
        """Count one item of a loose file of that format."""
        sums = self.formats.setdefault(fmt, Sums())
        sums.types[row["media_type"]] += 1
        sums.pages += pages_of(row)
        if row["depth"]:
            sums.extracted += row["bytes"]
            return
        sums.files += 1
        sums.raw += row["bytes"]
        sums.own_type = row["media_type"]
        sums.smallest = min(sums.smallest or row["bytes"], row["bytes"])
        self.custodians[row["custodian"]] += row["bytes"]

    def add(self, other: CorpusTotals) -> None:
        """Add another part's sums."""
        self.custodians.update(other.custodians)
        self.blocks.add(other.blocks)
        for fmt, theirs in other.formats.items():
            ours = self.formats.setdefault(fmt, Sums(own_type=theirs.own_type))
            ours.files += theirs.files
            ours.raw += theirs.raw
            ours.extracted += theirs.extracted
            ours.pages += theirs.pages
            ours.types.update(theirs.types)
            ours.smallest = min(ours.smallest or theirs.smallest, theirs.smallest)

    @property
    def types(self) -> Counter[str]:
        """Items at all depths by media type."""
        out: Counter[str] = Counter()
        for sums in self.formats.values():
            out.update(sums.types)
        return out

    @property
    def raw(self) -> int:
        """Bytes of the loose files."""
        return sum(s.raw for s in self.formats.values())

    @property
    def extracted(self) -> int:
        """Bytes of everything beneath them."""
        return sum(s.extracted for s in self.formats.values())

    @property
    def pages(self) -> int:
        """Pages at all depths."""
        return sum(s.pages for s in self.formats.values())

    def to_json(self) -> bytes:
        """Return the totals as JSON, for the schema of a part."""
        formats = {
            fmt: [s.files, s.raw, s.extracted, s.pages, s.own_type, s.smallest, dict(s.types)]
            for fmt, s in self.formats.items()
        }
        data = {"formats": formats, "custodians": dict(self.custodians), "blocks": asdict(self.blocks)}
        return json.dumps(data).encode()


def tally_of(text: bytes) -> CorpusTotals:
    """Return the totals that `to_json` wrote."""
    data = json.loads(text)
    formats = {
        fmt: Sums(
            files=files, raw=raw, extracted=extracted, pages=pages, own_type=own, smallest=low, types=Counter(types)
        )
        for fmt, (files, raw, extracted, pages, own, low, types) in data["formats"].items()
    }
    return CorpusTotals(formats=formats, custodians=Counter(data["custodians"]), blocks=Blocks(**data["blocks"]))
