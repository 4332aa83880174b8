"""A published storage read back: its record, and every package's result. What the page says of it is told from here."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.results.record import PUBLISHED, published, read, unpacked
from experiments.package.manifest import MANIFEST
from experiments.result.codec import read_result
from experiments.result.schema import Point, Result
from experiments.summary import best_point, limit_of

NOTHING = "–"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One storage."""

    record: Mapping[str, Any]
    results: Mapping[str, Result]
    manifests: Mapping[str, str]  # sha256 of each package's
    directories: Mapping[str, Path]

    @property
    def title(self) -> str:
        return str(self.record["title"])

    def why_not(self, step: str) -> str:
        """Why there is nothing of a step; empty where nobody said."""
        if self.record["why_not"]:
            return str(self.record["why_not"])
        entry = self.entry(step)
        return "" if entry is None else str(entry["why_not"] or "")

    def entry(self, step: str) -> Mapping[str, Any] | None:
        """What the record has of it."""
        return next((one for one in self.record["steps"] if one["name"] == step), None)

    def point(self, package: str, at: Mapping[str, Any]) -> Point | None:
        """The one under this load, of which not every part need be named."""
        result = self.results.get(package)
        points = () if result is None else result.points
        return next((one for one in points if at.items() <= one.at.values().items()), None)

    def figure(self, package: str, at: Mapping[str, Any], name: str) -> float | None:
        """A median."""
        point = self.point(package, at)
        return None if point is None or name not in point.figures else point.figures[name].median

    def best(self, package: str) -> Point | None:
        """The one with the highest rate."""
        return best_point(self.results[package]) if package in self.results else None

    def limit(self, package: str) -> str:
        """Who it was, at the best point."""
        result = self.results.get(package)
        return NOTHING if result is None else limit_of(result, best_point(result))


@contextmanager
def told(there: Path = PUBLISHED) -> Iterator[list[Told]]:
    """Every published storage, in the order in which they stand in the laboratory, while the block lasts."""
    with _all(published(there)) as out:
        yield sorted(out, key=lambda one: (int(one.record["place"]), one.title))


@contextmanager
def _all(paths: list[Path]) -> Iterator[list[Told]]:
    if not paths:
        yield []
        return
    with unpacked(paths[0]) as found, _all(paths[1:]) as rest:
        one = Told(
            record=read(paths[0]),
            results={name: read_result(path) for name, path in found.items()},
            manifests={
                name: hashlib.sha256((path / MANIFEST).read_bytes()).hexdigest() for name, path in found.items()
            },
            directories=found,
        )
        yield [one, *rest]
