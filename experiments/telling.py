"""What is said of a study beside its figures: conditions, labels, warnings, from what was observed and nothing else.

Whoever measured tells with it, and whoever checks a package tells again: it asks neither the machine nor the clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controller.labels.rules import FilerCache


class Telling:
    """`surroundings`: what the workload observed beside the runs. A workload's own overrides what it has to say."""

    def __init__(self, surroundings: dict[str, Any]) -> None:
        self.surroundings = surroundings

    def see(self, raw: Any) -> None:
        """What was observed of the next run, in the order in which they were made."""

    @property
    def no_pair(self) -> str | None:
        """Why no run has a pair on null storage."""
        reason: str | None = self.surroundings.get("null_storage", {}).get("why_not")
        return reason

    @property
    def pairs(self) -> bool:
        """Whether runs ought to have pairs on null storage."""
        return True

    @property
    def filer_cache(self) -> FilerCache:
        """What the filer itself can cache, of surroundings that have a "cache"."""
        cache = self.surroundings["cache"]
        return FilerCache(declared=cache["filer_cache_bytes"], possible=cache["filer_caches_itself"])

    def conditions(self, points: Sequence[Any]) -> dict[str, Any]:
        """The disclosure. What must not differ between results that are compared is in "configuration"."""
        return self.surroundings

    def where(self) -> str:
        """What it ran on, in words."""
        return str(self.surroundings["storage"]["label"])

    def emulated(self, point: Any) -> str | None:
        """The label of the emulated filer that a point ran on; None without one."""
        return None

    def cached(self, points: Sequence[Any]) -> bool:
        """Whether caches may have held the data."""
        return False

    def undeclared(self) -> bool:
        """Whether the storage may have a cache of a size that nobody told, so that `cached` does not know of it."""
        return False

    def sentence(self, points: Sequence[Any]) -> str:
        """What was found, for the first line; empty: the rate at the highest load against that at the lowest."""
        return ""

    def pace(self) -> str:
        """What the first line says of how it was run; empty where there is nothing to say."""
        return ""

    def beside(self, points: Sequence[Any]) -> Mapping[str, Any]:
        """Fields of the result beside those that every result has."""
        return {}

    def remarks(self, result: Any) -> Sequence[str]:
        """What the first line ends with."""
        return ()

    def warnings(self, points: Sequence[Any]) -> Sequence[str]:
        """What a reader must know before using the figures, beside what is said of every study."""
        return ()
