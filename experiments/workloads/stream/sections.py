"""The sections of profile `stream`: the window's answer, and rates by streams with the highest second beside."""

from __future__ import annotations

from experiments.profiles.fio.sections import rate_by
from experiments.report import words
from experiments.report.parts import Section, note, paragraph
from experiments.workloads.stream.result import StreamResult
from experiments.workloads.stream.telling import rate_needed, window_answer


def sections(result: StreamResult) -> list[Section]:
    """In reading order."""
    return [_window(result), rate_by(result, "streams", "tier", "mb_per_s", "MB/s")]


def _window(result: StreamResult) -> Section:
    settings = result.conditions["configuration"]["settings"]
    terabytes, hours = settings["window_tb"], settings["window_hours"]
    parts = []
    for tier in dict.fromkeys(point.at.tier for point in result.points):
        points = [point for point in result.points if point.at.tier == tier]
        where = result.conditions["targets"][tier - 1]
        parts.append(paragraph(f"Tier {tier}, {where['label']}: {window_answer(points, terabytes, hours)}."))
    said = note(
        f"Needed: {words.figure(rate_needed(terabytes, hours))} MB/s over the whole window. Rates are totals: bytes read by all"
        " streams over the time from the start of the first to the end of the last, so the highest second, which a meter"
        " in a pipe shows, is given for comparison only. What a backup does besides reading (its target, its index, small"
        " files) is not in it."
    )
    return Section(anchor="window", title="Does the backup fit its window?", parts=(*parts, said))
