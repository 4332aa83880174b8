"""What is said of the cases: drift over the long one, and the highest load within the bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from experiments.profiles.direct import Direct
from experiments.profiles.telling import ProfileTelling
from experiments.report import words
from experiments.report.views import middle
from experiments.workloads.block_8k.drift import said as drift_said
from experiments.workloads.block_8k.result import BlockPoint


class BlockTelling(ProfileTelling):
    """`surroundings` as those of every profile."""

    def sentence(self, points: Sequence[BlockPoint]) -> str:
        """The most of all cases, the search's answer, the drift of the long case."""
        most = max(points, key=lambda point: point.figures["iops"].median)
        said = [f"{_rate(most)} at {most.at}"]
        if long := [point for point in points if point.at.case == 2]:
            drift = middle(long[0].repeats).drift
            said.append(f"case 2 {drift_said(drift) if drift else 'is too short to judge drift'}")
        if any(point.at.case == 6 for point in points):
            said.append(bounded_said(points, self.surroundings["configuration"]["settings"]["most_ms"]))
        return "; ".join(said)

    def warnings(self, points: Sequence[BlockPoint]) -> Sequence[str]:
        """Beside those of every profile that fewer I/Os were outstanding than the points say."""
        return (*super().warnings(points), *self._fewer_outstanding())

    def _fewer_outstanding(self) -> Iterator[str]:
        settings = self.surroundings["configuration"]["settings"]
        through = not settings["direct"] or any(
            place.get("direct") == Direct.CACHED for place in self.surroundings["targets"]
        )
        if settings["engine"] == "libaio" and through:
            yield (
                "this host's cache takes one I/O at a time of engine libaio: fewer I/Os are outstanding than requested;"
                " --set engine=io_uring"
            )
        elif settings["engine"] == "posixaio":
            yield (
                "the C library does I/Os of engine posixaio in a few threads, one at a time for each file: fewer I/Os may be"
                " outstanding than requested"
            )


def _rate(point: BlockPoint) -> str:
    """`12,035 IOPS, mean 21.3 ms`."""
    mean = point.figures.get("mean_us")
    return f"{words.count(point.figures['iops'].median)} IOPS" + (
        f", mean {words.microseconds(mean.median)}" if mean else ""
    )


def bounded(points: Sequence[BlockPoint], most_ms: float) -> BlockPoint | None:
    """Of case 6 the highest load below which every load that was tried keeps the bound; None: not even the lowest."""
    best = None
    for point in sorted((one for one in points if one.at.case == 6), key=lambda one: one.at.outstanding):
        if "mean_us" not in point.figures or point.figures["mean_us"].median > most_ms * 1000:
            break
        best = point
    return best


def bounded_said(points: Sequence[BlockPoint], most_ms: float) -> str:
    """The search's answer."""
    tried = [point.at.outstanding for point in points if point.at.case == 6]
    best = bounded(points, most_ms)
    if best is None:
        return f"no load stays within a mean of {most_ms:g} ms"
    end = "" if max(tried) > best.at.outstanding else " (the most that was tried)"
    return f"within a mean of {most_ms:g} ms {_rate(best)} with {best.at.on('outstanding')}{end}"
