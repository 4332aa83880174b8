"""What is said of data that were reduced beside their figures."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.profiles.telling import ProfileTelling
from experiments.report import words
from experiments.workloads.dedup.result import DedupPoint

CDC = "expected_cdc"


def ratio_text(value: float | None, missing: str = "not known") -> str:
    """1:2.80, as reports write it."""
    return missing if value is None else f"1:{words.figure(value)}"


class DedupTelling(ProfileTelling):
    """`surroundings` as those of every profile."""

    def sentence(self, points: Sequence[DedupPoint]) -> str:
        """Of each type what the storage made, and in brackets what content-defined chunks can make."""
        volumes = list(dict.fromkeys(point.at.volume for point in points))
        said = []
        for volume in volumes:
            told = ", ".join(_told(point) for point in points if point.at.volume == volume)
            said.append(told if len(volumes) == 1 else f"{volume}: {told}")
        return f"reduced by the storage (by content-defined chunks): {'; '.join(said)}"

    def warnings(self, points: Sequence[DedupPoint]) -> Sequence[str]:
        """That space is everybody's, and where the storage took no space that it tells of."""
        silent = [str(point.at.data) for point in points if "ratio" not in point.figures]
        own = [] if not silent else [
            f"{words.listed(silent)}: the storage reports no used space, or its value does not settle; query it with --set used=COMMAND"
        ]  # fmt: skip
        return (*super().warnings(points), *own)


def _told(point: DedupPoint) -> str:
    made, ours = (None if (one := point.figures.get(name)) is None else one.median for name in ("ratio", CDC))
    return f"{point.at.data} {ratio_text(made)} ({ratio_text(ours)})"
