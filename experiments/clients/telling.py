"""What is said of a study with clients beside its figures: where, what was refused, and whether it drifted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.profiles.telling import ProfileTelling

_MOST = 3  # kinds of trouble in words


class ClientsTelling(ProfileTelling):
    """`surroundings` as every profile's."""

    def where(self) -> str:
        """The kinds of storage, or the endpoint."""
        return f"S3, {self.surroundings['s3']}" if self.surroundings["s3"] else super().where()

    def remarks(self, result: Any) -> Sequence[str]:
        """Refusals, errors and drift: nobody may overlook them."""
        runs = [run for point in result.points for run in point.repeats]
        out = list(self.limits(result.points))
        for what, word in (("refused", "connections REFUSED"), ("failed", "FAILED")):
            if count := sum(getattr(run, what) for run in runs):
                out.append(f"{count:,} {word}")
        drifting = [point for point in result.points for run in point.repeats if _drifts(run)]
        if drifting:
            out.append(f"DRIFT at {len({str(point.at) for point in drifting})} of {len(result.points)} points")
        return out

    def warnings(self, points: Sequence[Any]) -> Sequence[str]:
        """The words of what went wrong."""
        said = dict.fromkeys(word for point in points for run in point.repeats for word in run.said)
        return (*super().warnings(points), *(f"not everything was accepted: {word}" for word in list(said)[:_MOST]))


def _drifts(run: Any) -> bool:
    found = (getattr(run, "rate_drift", None), getattr(run, "latency_drift", None))
    return any(drift is not None and drift.found for drift in found)
