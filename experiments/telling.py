"""What is reported of an experiment with its figures: conditions, labels, warnings, from what was observed alone.

A measurement and the check of a package both compute it: it queries neither the machine nor the clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controller.labels.rules import FilerCache


class Telling:
    """`surroundings`: what the workload observed outside the runs. A workload's own class overrides what it reports."""

    def __init__(self, surroundings: dict[str, Any]) -> None:
        self.surroundings = surroundings

    def see(self, raw: Any) -> None:
        """What was observed of the next run, in the order in which they were made."""

    @property
    def no_pair(self) -> str | None:
        """Why no run has a null baseline."""
        reason: str | None = self.surroundings.get("null_storage", {}).get("why_not")
        return reason

    @property
    def pairs(self) -> bool:
        """Whether runs should have null baselines."""
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
        """Whether the storage may have a cache of undeclared size, so that `cached` does not know of it."""
        return False

    def sentence(self, points: Sequence[Any]) -> str:
        """What was found, for the first line; empty: the rate at the highest load against that at the lowest."""
        return ""

    def pace(self) -> str:
        """How it was run, for the first line; empty where there is nothing to report."""
        return ""

    def beside(self, points: Sequence[Any]) -> Mapping[str, Any]:
        """Fields of the result in addition to those that every result has."""
        return {}

    def remarks(self, result: Any) -> Sequence[str]:
        """What the first line ends with."""
        return ()

    def warnings(self, points: Sequence[Any]) -> Sequence[str]:
        """What a reader must know before using the figures, in addition to the warnings of every experiment."""
        return ()
