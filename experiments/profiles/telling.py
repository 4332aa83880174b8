"""What is said of a profile's study beside its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controller.labels.rules import is_cached
from experiments.profiles.direct import Direct
from experiments.report import words
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
        """Paths that are not what they were meant as; that it was interrupted and gone on with."""
        sessions = self.surroundings.get("sessions") or []
        resumed = (
            f"it was interrupted and resumed {words.many(len(sessions) - 1, 'time')}: runs are of {len(sessions)} commands"
            if len(sessions) > 1
            else None
        )
        said = (*self._through_cache(), *shared_file_systems(self.surroundings["targets"]), resumed)
        return tuple(line for line in said if line is not None)

    def _through_cache(self) -> Iterator[str]:
        for place in self.surroundings["targets"]:
            if place.get("direct") == Direct.CACHED:
                yield f"{place['path']}: O_DIRECT was asked for and is {Direct.CACHED}"


def shared_file_systems(targets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Which of several paths lie on one file system: by its device, or by what is mounted."""
    on: dict[str, list[Mapping[str, Any]]] = {}
    for place in targets:
        source = str((place.get("mount") or {}).get("source", ""))
        on.setdefault(source if source.startswith("/") or ":" in source else str(place["device"]), []).append(place)
    for places in on.values():
        if len(places) > 1:
            paths = ", ".join(str(place["path"]) for place in places)
            yield (
                f"{paths} lie on one file system ({places[0]['label']}): they share whatever is beneath it, and are no volumes,"
                " members or tiers of their own"
            )
