"""Description of a storage test that does not require running it: figures, report, labels, and the figures that its
report published."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controller.labels.rules import is_cached
from core.plain import grouped
from experiments.conditions import filer_limit
from experiments.report import words
from experiments.report.parts import Column, Section, missing, note, tabled
from experiments.report.sections import disclosure, points, steadiness
from experiments.report.views import named
from experiments.result.schema import At, Result, types_of
from experiments.workload import About, Figure, Wording
from experiments.workloads import about
from storage_tests.devices import Direct
from storage_tests.profile import Profile, ProfileRun


class ProfileWording(Wording):
    """Reports on a storage test, from `surroundings` as `ProfileStudy.surroundings` returns them."""

    def __init__(self, surroundings: dict[str, Any]) -> None:
        super().__init__(surroundings)
        self._served: list[dict[str, Any]] = []

    def see(self, raw: ProfileRun) -> None:
        """Take the activity of an emulated filer's stations during the next run."""
        if raw.filer is not None:
            self._served.append({"run": raw.order} | raw.filer)

    def conditions(self, points: Sequence[Any]) -> dict[str, Any]:
        """Return the disclosure, with the activity of an emulated filer's stations in each run."""
        if not self._served:
            return self.surroundings
        served = [{key: run[key] for key in ("run", "seconds", "stations")} for run in self._served]
        return self.surroundings | {"emulated_filer": self.surroundings["emulated_filer"] | {"runs": served}}

    def limits(self, points: Sequence[Any]) -> Sequence[str]:
        """Return which part of an emulated filer was the limit of the last point, unless the generator was."""
        top = points[-1]
        orders = {run.order for run in top.repeats}
        series = [sample for run in self._served if run["run"] in orders for sample in run["series"]]
        return () if top.limited or not series else filer_limit(series, waits=self._waits(top))

    def _waits(self, point: Any) -> bool:
        """Return whether most of the time was spent on the storage: in memory the same load has over twice the rate."""
        rate = about(self.surroundings["configuration"]["profile"]).headlines[0]
        tops = rate.ceilings(point.repeats)
        return bool(tops) and rate.name in point.figures and max(tops) > 2 * point.figures[rate.name].median

    def where(self) -> str:
        """Return each kind of storage once."""
        labels = dict.fromkeys(str(place["label"]) for place in self.surroundings["targets"])
        return ", ".join(labels) or "no storage"

    @property
    def has_baselines(self) -> bool:
        """Whether this profile can have null baselines."""
        return bool(self.surroundings["null_storage"]["paired"])

    def cached(self, points: Sequence[Any]) -> bool:
        """Return whether the touched bytes are less than three times the caches: this host's memory unless it was
        bypassed, and the filer's cache."""
        cache = self.surroundings["cache"]
        client = 0 if cache["direct"] else cache["client_memory_bytes"]
        return is_cached(cache["touched_bytes"], client + self.filer_cache.bytes)

    def warnings(self, points: Sequence[Any]) -> Sequence[str]:
        """Return warnings of paths that are not used as requested, and of an interruption with a resumption."""
        sessions = self.surroundings.get("sessions") or []
        resumed = (
            f"it was interrupted and resumed {words.many(len(sessions) - 1, 'time')}: runs are of {len(sessions)} commands"
            if len(sessions) > 1
            else None
        )
        targets = self.surroundings["targets"]
        cached = (place["path"] for place in targets if place.get("direct") == Direct.CACHED)
        through = (f"{path}: O_DIRECT was requested and is {Direct.CACHED}" for path in cached)
        return tuple(line for line in (*through, *shared_file_systems(targets), resumed) if line is not None)


def shared_file_systems(targets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a remark on paths that are on one file system: by its device, or by what is mounted."""

    def file_system(place: Mapping[str, Any]) -> str:
        source = str((place.get("mount") or {}).get("source", ""))
        return source if source.startswith("/") or ":" in source else str(place.get("device", place["path"]))

    for places in grouped(targets, file_system).values():
        if len(places) > 1:
            paths = ", ".join(str(place["path"]) for place in places)
            yield (
                f"{paths} are on one file system ({places[0]['label']}): they share its storage and are not "
                "separate volumes, members or tiers"
            )


MARK = 0.8  # of a ceiling: figures above it are limited by the generator


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A figure of a report. Ours is shown next to it if the point and the settings make it the same quantity."""

    what: str  # label of the row: "case 1, one volume, 256 outstanding"
    figure: str  # ours, by its name in `About.figures`
    value: float
    at: Mapping[str, Any] = field(default_factory=dict)  # what the load of the point must have
    settings: Mapping[str, Any] = field(default_factory=dict)  # what the profile's settings must have
    remark: str = ""  # how its conditions differed
    # Of the result, where ours is no figure of a point with that load.
    ours: Callable[[Any], float | None] | None = None


def profile_sections(
    result: Result, own: Sequence[Section], bounded: Sequence[Figure], report: str, published: Sequence[Published]
) -> list[Section]:
    """Return the sections in reading order."""
    compared = [report_comparison(result, report, published)] if published else []
    ceiling = [ceilings(result, bounded)] if bounded else []
    return [points(result), *own, *compared, *ceiling, steadiness(result), disclosure(result)]


def report_comparison(result: Result, report: str, published: Sequence[Published]) -> Section:
    """Show a line for each of the report's figures; ours if it is the same quantity."""
    figures = {figure.name: figure for figure in about(result.workload).figures}
    rows = [(one, figures[one.figure], of_same_quantity(result, one)) for one in published]

    def share(row: tuple[Published, Figure, float | None]) -> str:
        return "" if row[2] is None or not row[0].value else f"{row[2] / row[0].value:.2f} x"

    def ours(row: tuple[Published, Figure, float | None]) -> str:
        return "not measured like this" if row[2] is None else row[1].write(row[2])

    shown = tabled(
        "published",
        (
            Column("row", f"report {report}", lambda row: row[0].what, text=True),
            Column("figure", "figure", lambda row: row[0].figure, text=True, show=lambda row: row[1].column),
            Column("published", "published", lambda row: row[0].value, show=lambda row: row[1].write(row[0].value)),
            Column("here", "here", lambda row: row[2], show=ours),
            Column("", "", share),
            Column("", "remark", lambda row: row[0].remark, text=True),
        ),
        rows,
    )
    remark = note(
        "The table has a figure only if load and settings are those of the report. The storage is a different one."
    )
    return Section(anchor="published", title=f"Compared with report {report}", parts=(shown, remark))


def of_same_quantity(result: Result, one: Published) -> float | None:
    """Return the median of the point with the load of the published figure; None if nothing was measured under it."""
    settings: dict[str, Any] = result.conditions["configuration"]["settings"]
    if any(settings.get(name) != value for name, value in one.settings.items()):
        return None
    if one.ours is not None:
        return one.ours(result)
    for point in result.points:
        load = point.at.values()
        if all(load.get(name) == value for name, value in one.at.items()) and one.figure in point.figures:
            return point.figures[one.figure].median
    return None


def ceilings(result: Result, bounded: Sequence[Figure]) -> Section:
    """Show for each point and figure the value of the same load on null storage; mark those near it."""
    rows = [
        (named(point, result), figure, ours.median, tops[0])
        for point in result.points
        for figure in bounded
        if (tops := figure.ceilings(point.repeats)) and (ours := point.figures.get(figure.name)) is not None
    ]
    if not rows:
        why = result.conditions["null_storage"]["why_not"] or "no run has a null baseline"
        return missing("ceilings", "Ceilings of the harness itself", why)
    shown = tabled(
        "ceilings",
        (
            Column("point", "point", lambda row: row[0], text=True),
            Column("figure", "figure", lambda row: row[1].name, text=True, show=lambda row: row[1].column),
            Column("measured", "measured", lambda row: row[2], show=lambda row: row[1].write(row[2])),
            Column("null_storage", "on null storage", lambda row: row[3], show=lambda row: row[1].write(row[3])),
            Column("", "share", lambda row: words.percent(row[2] / row[3])),
        ),
        rows,
        mark=lambda row: row[2] > MARK * row[3],
    )
    remark = note(
        f"The same load in memory, on this host; marked where the figure is over {words.percent(MARK)} of it. Such "
        "a figure is limited by the harness, not by the storage."
    )
    return Section(anchor="ceilings", title="Ceilings of the harness itself", parts=(shown, remark))


def near_ceiling(figures: Sequence[Figure], runs: Sequence[ProfileRun]) -> str | None:
    """Return why the storage hardly mattered: a figure is over 80 % of its value for the same load on null storage."""
    for figure in figures:
        tops, values = figure.ceilings(runs), figure.values(runs)
        if not tops or not values:
            continue
        value, top = statistics.median(values), statistics.median(tops)
        if value > MARK * top:
            return (
                f"{figure.write(value)} {figure.title} is {value / top:.0%} of the {figure.write(top)} that the "
                f"same load reaches on null storage (over {MARK:.0%})"
            )
    return None


def about_test(
    kind: type[Profile[Any]],
    load: type[At],
    run: type[ProfileRun],
    *,
    figures: tuple[Figure, ...],
    ceilings: Sequence[str] = (),
    sections: Callable[[Any], list[Section]] = lambda _result: [],
    published: Sequence[Published] = (),
    **known: Any,
) -> About:
    """Return the storage test as a workload. `figures`: the first headline is the rate; `ceilings`: those that are
    GENERATOR-LIMITED within 80 % of the null baseline; `sections`: its own, after the table of points; `known`: more of
    `About`."""
    bounded = tuple(figure for figure in figures if figure.name in ceilings)
    point, whole = types_of(load, run)
    known = {"notes": {}, "wording": ProfileWording, "makers": "clients", **known}
    return About(
        name=kind.name,
        title=kind.name,
        result=whole,
        point=point,
        figures=figures,
        sections=lambda result: profile_sections(result, sections(result), bounded, kind.report, published),
        near_null=lambda runs: near_ceiling(bounded, runs),
        rule=(
            f"GENERATOR-LIMITED is a point with a figure within {words.percent(MARK)} of the figure of the same "
            "load on null storage (memory)."
        ),
        trusted=("observations of hosts, mounts and caches",),
        **known,
    )
