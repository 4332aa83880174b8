"""What is said of the ceilings."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.profiles.about import MARK
from experiments.profiles.telling import ProfileTelling
from experiments.report import words
from experiments.workloads.self_check.result import CheckPoint


class CheckTelling(ProfileTelling):
    """No storage is under test: no label of one."""

    def where(self) -> str:
        """This host."""
        return "this host without storage"

    def cached(self, points: Sequence[CheckPoint]) -> bool:
        """It is memory that is measured."""
        return False

    def sentence(self, points: Sequence[CheckPoint]) -> str:
        """The most of each storage and shape."""
        said = []
        for key in dict.fromkeys((point.at.storage, point.at.shape) for point in points):
            best = max((p for p in points if (p.at.storage, p.at.shape) == key), key=lambda p: p.figures["iops"].median)
            figures = best.figures
            said.append(
                f"{key[0]}, {key[1]}: {words.count(figures['iops'].median)} IOPS, {words.count(figures['mb_per_s'].median)} MB/s"
            )
        return "; ".join([*said, f"figures of storage over {words.percent(MARK)} of these are this host's"])
