"""What is said of numbers of paths beside their figures: where more of them stop helping."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.profiles.telling import ProfileTelling
from experiments.report import words
from experiments.workloads.analysis_replay.result import AS_IT_IS, HELPS, RATE, AnalysisPoint, enough, lines


class AnalysisTelling(ProfileTelling):
    """`surroundings` as those of every profile."""

    def sentence(self, points: Sequence[AnalysisPoint]) -> str:
        """Of every line of points that differ in their paths only."""
        return "; ".join(answer(line) for line in lines(points).values())

    def warnings(self, points: Sequence[AnalysisPoint]) -> Sequence[str]:
        """What could not be set, what was not as recorded."""
        runs = [run for point in points for run in point.repeats]
        refused = dict.fromkeys(why for run in runs for one in run.tuned for why in one.refused)
        asked = [f"the requested settings were not in force: {why}" for why in refused]
        differing = max((run.differences for run in runs), default=0)
        if differing:
            asked.append(f"{differing:,} calls of a run ended otherwise than recorded at most")
        disks = {one.device for run in runs for one in run.tuned if one.device}
        most = max((point.at.paths for point in points), default=1)
        if most > 1 and disks and len(disks) < most:
            asked.append(
                f"{most} paths are on {words.many(len(disks), 'device')} ({', '.join(sorted(disks))}): more paths do not mean more disks"
            )
        return (*super().warnings(points), *asked)


def named_line(line: Sequence[AnalysisPoint]) -> str:
    """What its points have in common: "16 clients, scheduler none"."""
    at = line[0].at
    asked = [
        f"{name} {value}"
        for name, value in (("scheduler", at.scheduler), ("read-ahead", at.read_ahead))
        if value != AS_IT_IS
    ]
    return ", ".join([at.on("clients"), *asked])


def answer(line: Sequence[AnalysisPoint]) -> str:
    """One line's."""
    last = line[-1]
    rate = f"{words.figure(last.figures[RATE].median)} calls/s on {last.at.on('paths')}"
    paths = enough(line)
    if paths is None:
        return f"{named_line(line)}: {rate}"
    if paths == last.at.paths:
        return f"{named_line(line)}: more paths help up to {paths}, which is all that there are ({rate})"
    best = next(point for point in line if point.at.paths == paths)
    made = words.figure(best.figures[RATE].median)
    return (
        f"{named_line(line)}: {best.at.on('paths')} {'is' if paths == 1 else 'are'} enough, more do not help ({made} calls/s;"
        f" {rate}, no {words.percent(HELPS)} more)"
    )
