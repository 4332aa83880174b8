"""What is said of a profile's study beside its figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from controller.labels.rules import is_cached
from experiments.telling import Telling


class ProfileTelling(Telling):
    """`surroundings` as `ProfileStudy.surroundings` has them."""

    def where(self) -> str:
        """Each kind of storage once."""
        labels = dict.fromkeys(str(place["label"]) for place in self.surroundings["targets"])
        return ", ".join(labels) or "no storage"

    @property
    def pairs(self) -> bool:
        """Whether this profile has one to offer."""
        return bool(self.surroundings["null_storage"]["paired"])

    def cached(self, points: Sequence[Any]) -> bool:
        """Whether the bytes touched are less than three times what may have held them: this host's memory unless it was
        passed by, and the filer's cache."""
        cache = self.surroundings["cache"]
        client = 0 if cache["direct"] else cache["client_memory_bytes"]
        return is_cached(cache["touched_bytes"], client + self.filer_cache.bytes)

    def undeclared(self) -> bool:
        """Whether there may be a filer whose cache nobody told of."""
        return self.filer_cache.undeclared

    def warnings(self, points: Sequence[Any]) -> Sequence[str]:
        """That it was interrupted and gone on with."""
        sessions = self.surroundings.get("sessions") or []
        if len(sessions) < 2:
            return ()
        return (f"it was interrupted and resumed {len(sessions) - 1} times: runs are of {len(sessions)} commands",)
