"""What is said of streams beside their figures: whether a backup fits its window."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.profiles.telling import ProfileTelling
from experiments.report import words
from experiments.workloads.stream.result import StreamPoint


class StreamTelling(ProfileTelling):
    """`surroundings` as those of every profile."""

    def sentence(self, points: Sequence[StreamPoint]) -> str:
        """Of each tier."""
        settings = self.surroundings["configuration"]["settings"]
        tiers = dict.fromkeys(point.at.tier for point in points)
        said = [
            window_answer(
                [point for point in points if point.at.tier == tier], settings["window_tb"], settings["window_hours"]
            )
            for tier in tiers
        ]
        if len(said) == 1:
            return said[0]
        return "; ".join(f"tier {tier}: {clause}" for tier, clause in zip(tiers, said, strict=True))


def rate_needed(terabytes: float, hours: float) -> float:
    """MB/s, sustained; 1 TB is 10¹² bytes."""
    return terabytes * 1e6 / (hours * 3600)


def window_answer(points: Sequence[StreamPoint], terabytes: float, hours: float) -> str:
    """Whether so much fits into the window: at the fewest streams that are fast enough by their median, or why not."""
    needed, by_streams = rate_needed(terabytes, hours), sorted(points, key=lambda point: point.at.streams)
    rates = {point.at.streams: point.figures["mb_per_s"].median for point in by_streams}
    what = f"{terabytes:g} TB in {hours:g} h need {words.figure(needed)} MB/s"
    enough = [streams for streams, rate in rates.items() if rate >= needed]
    if enough:
        fewest = enough[0]
        return f"{what}: they fit with {words.many(fewest, 'stream')} ({words.figure(rates[fewest])} MB/s)"
    best = max(rates, key=lambda streams: rates[streams])
    takes = terabytes * 1e6 / rates[best] / 3600
    more = _why(list(rates.items()))
    return (
        f"{what}: they do not fit; the most is {words.figure(rates[best])} MB/s with {words.many(best, 'stream')}, which takes"
        f" {words.figure(takes)} h; {more}"
    )


def _why(rates: Sequence[tuple[int, float]]) -> str:
    """Whether more streams would help, from the last step that was measured."""
    if len(rates) < 2:
        return "more streams were not tried"
    (fewer, before), (most, last) = rates[-2:]
    gain = last / before - 1 if before else 0.0
    if gain < 0.05:
        return f"more streams do not help ({most} instead of {fewer} gave {gain * 100:+.0f} %)"
    return f"more streams may help ({most} instead of {fewer} gave {gain * 100:+.0f} %)"
