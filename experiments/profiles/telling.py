"""What is said of a profile's study beside its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controller.labels.rules import is_cached
from experiments.filer_limit import limit_told
from experiments.profiles.direct import Direct
from experiments.profiles.result import Observed
from experiments.report import words
from experiments.telling import Telling
from experiments.workloads import about


class ProfileTelling(Telling):
    """`surroundings` as `ProfileStudy.surroundings` has them."""

    def __init__(self, surroundings: dict[str, Any]) -> None:
        super().__init__(surroundings)
        self._served: list[dict[str, Any]] = []

    def see(self, raw: Observed) -> None:
        """What an emulated filer's stations did meanwhile."""
        if raw.filer is not None:
            self._served.append({"run": raw.order} | raw.filer)

    def emulated(self, point: Any) -> str | None:
        """One for all points."""
        filer = self.surroundings.get("emulated_filer")
        return None if filer is None else str(filer["label"])

    def conditions(self, points: Sequence[Any]) -> dict[str, Any]:
        """The emulated filer's with what its stations did in each run."""
        if not self._served:
            return self.surroundings
        served = [{key: run[key] for key in ("run", "seconds", "stations")} for run in self._served]
        return self.surroundings | {"emulated_filer": self.surroundings["emulated_filer"] | {"runs": served}}

    def limits(self, points: Sequence[Any]) -> Sequence[str]:
        """What of an emulated filer was the limit of the last point, where the generator was not."""
        top = points[-1]
        orders = {run.order for run in top.repeats}
        series = [sample for run in self._served if run["run"] in orders for sample in run["series"]]
        return () if top.limited or not series else limit_told(series, waits=self._waits(top))

    def _waits(self, point: Any) -> bool:
        """Whether most of the time was spent on the storage: in memory the same load has over twice the rate."""
        rate = about(self.surroundings["configuration"]["profile"]).headlines[0].name
        tops = [run.ceilings[rate] for run in point.repeats if rate in run.ceilings]
        return bool(tops) and rate in point.figures and max(tops) > 2 * point.figures[rate].median

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
                yield f"{place['path']}: O_DIRECT was requested and is {Direct.CACHED}"


def shared_file_systems(targets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Which of several paths lie on one file system: by its device, or by what is mounted."""
    on: dict[str, list[Mapping[str, Any]]] = {}
    for place in targets:
        source = str((place.get("mount") or {}).get("source", ""))
        on.setdefault(
            source if source.startswith("/") or ":" in source else str(place.get("device", place["path"])), []
        ).append(place)
    for places in on.values():
        if len(places) > 1:
            paths = ", ".join(str(place["path"]) for place in places)
            yield (
                f"{paths} are on one file system ({places[0]['label']}): they share its storage, and are no separate volumes,"
                " members or tiers"
            )
