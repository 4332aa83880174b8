"""What is known of a profile without running it: its figures and report, and what all profiles have in common."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from experiments.profiles.published import MARK, Published
from experiments.profiles.result import Observed, ProfileRun
from experiments.profiles.telling import ProfileTelling
from experiments.report import words
from experiments.result.schema import Point, Result
from experiments.telling import Telling
from experiments.workload import About, Figure

if TYPE_CHECKING:
    from experiments.report.parts import Section
__all__ = ["MARK", "Published", "profile_about"]


def near_ceiling(figures: Sequence[Figure], runs: Sequence[ProfileRun]) -> str | None:
    """Why the storage hardly mattered: a figure is within 80 % of what the same load has on null storage."""
    for figure in figures:
        tops = [run.ceilings[figure.name] for run in runs if run.ceilings.get(figure.name)]
        values = figure.values(runs)
        if not tops or not values:
            continue
        value, top = statistics.median(values), statistics.median(tops)
        if value > MARK * top:
            return (
                f"{figure.write(value)} {figure.title} is {value / top:.0%} of the {figure.write(top)} that the same load has"
                f" on null storage (over {MARK:.0%})"
            )
    return None


def profile_about(
    *,
    name: str,
    report: str,
    result: type[Result],
    point: type[Point],
    figures: tuple[Figure, ...],
    seen: type[Observed],
    run_of: Callable[[Any], ProfileRun],
    sections: Callable[[Any], list[Section]] = lambda _result: [],
    ceilings: tuple[str, ...] = (),
    published: tuple[Published, ...] = (),
    notes: Mapping[str, Callable[[Any], str | int | float | None]] | None = None,
    telling: Callable[[dict[str, Any]], Telling] = ProfileTelling,
    makers: str = "clients",
) -> About:
    """`sections`: the profile's own, behind the table of points; `report`: "R2"."""
    bounded = tuple(figure for figure in figures if figure.name in ceilings)

    def every(told: Result) -> list[Section]:
        from experiments.profiles.sections import profile_sections  # draws: matplotlib is slow to come

        return profile_sections(told, sections(told), bounded, report, published)

    return About(
        name=name,
        title=name,
        result=result,
        point=point,
        figures=figures,
        sections=every,
        notes={} if notes is None else notes,
        makers=makers,
        near_null=lambda runs: near_ceiling(bounded, runs),
        rule=(
            f"GENERATOR-LIMITED is a point with a figure within {words.percent(MARK)} of what the same load has on null storage"
            " (memory)."
        ),
        raw=lambda: seen,
        run_of=run_of,
        telling=telling,
        trusted=("what was observed of hosts, mounts and caches",),
    )
