"""Comparison of results that may be compared, with their intervals.

Conditions apart from the configuration that differ have to be allowed by name. Another storage is the point of a
comparison, and with it another type of file system. Where the databases were, how the storage was mounted and whether
caches were cold is not: it moves figures as much as a storage does."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.errors import UsageError
from experiments.result.schema import Estimate, Point, Ratio, Result
from experiments.result.statistics import difference, judged, ratio_of
from experiments.workload import About, Same
from experiments.workloads import about as about_of

# Options of mount(8) that every type of file system has: the others of two types cannot be compared.
_COMMON = re.compile(
    r"ro|rw|(no)?(sync|dirsync|lazytime|mand|nosymfollow)|async|(no|rel|strict)?atime|(no)?diratime|(no)?(dev|exec|suid)"
)
# Say which storage it is, which host, and on which of a server's ports that change when it starts.
_WHO = re.compile(r"(client|mount)?addr=.*|(mount)?port=\d+|(user|group)_id=\d+|seclabel|fsname=.*|source=.*")


def database_placement(conditions: Mapping[str, Any], _other: Mapping[str, Any]) -> list[str]:
    """Return whether each database was on the storage under test, and on which type of file system."""
    places = {
        ("on the storage under test" if one.get("on_storage_under_test") else "elsewhere", _type(one))
        for one in conditions.get("databases") or []
    }
    return [f"{where} ({kind})" for where, kind in sorted(places)]


def mount_options(conditions: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the storage's mount options; if the types of file system differ, only those that all types have."""
    same = {_type(place) for place in _storages(conditions)} == {_type(place) for place in _storages(other)}
    options = {option for place in _storages(conditions) for option in (place.get("mount") or {}).get("options", ())}
    return sorted(option for option in options if (same and not _WHO.fullmatch(option)) or _COMMON.fullmatch(option))


def cache_state(conditions: Mapping[str, Any], _other: Mapping[str, Any]) -> list[str]:
    """Return `cold on this host`, `partly cold` or `unknown`, as it was achieved."""
    state = (conditions.get("cache") or {}).get("state")
    return [re.split(r"[,:(]", state, maxsplit=1)[0].strip()] if state else []


def scaling(conditions: Mapping[str, Any], _other: Mapping[str, Any]) -> list[str]:
    """Return for a replay whether more clients share one data set or have more of them."""
    return [str(conditions["scaling"])] if conditions.get("scaling") else []


GROUNDS: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], list[str]]] = {
    "database-placement": database_placement,
    "mount-options": mount_options,
    "cache-state": cache_state,
    "scaling": scaling,
}


def differing_grounds(first: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, str]:
    """Return by name, in words, the grounds in which the conditions of two results differ."""
    pairs = {name: (of(other, first), of(first, other)) for name, of in GROUNDS.items()}
    return {
        name: f"{name} {', '.join(theirs) or 'not known'}, the first has {', '.join(ours) or 'not known'}"
        for name, (theirs, ours) in pairs.items()
        if theirs != ours
    }


def parse_grounds(text: str | None) -> frozenset[str]:
    """Parse `mount-options,cache-state`. Raises UsageError for an unknown name."""
    names = frozenset(part.strip() for part in (text or "").split(",") if part.strip())
    if unknown := sorted(names - GROUNDS.keys()):
        raise UsageError(f"--allow: unknown ground {unknown[0]!r}; use {', '.join(GROUNDS)}")
    return names


def _storages(conditions: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    return [*(conditions.get("targets") or []), *filter(None, [conditions.get("storage")])]


def _type(place: Mapping[str, Any]) -> str:
    return str((place.get("mount") or {}).get("type") or "not known")


@dataclass(frozen=True, slots=True)
class Cell:
    """Figures of one result at one point."""

    figures: dict[str, Estimate]
    limited: bool
    marks: tuple[str, ...]  # labels of this point alone
    against_first: dict[str, str]  # by reported figure, in words; empty for the first result
    ratios: dict[str, Ratio | None]  # of the same; None: too few repeats


@dataclass(frozen=True, slots=True)
class Row:
    """One point with a cell for each result; None: the result does not have the point."""

    at: dict[str, Any]
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True)
class Overall:
    """Overall response time of one result of kind `load`."""

    response_us: Estimate
    up_to: int  # percent of its peak
    peak: int  # calls a second
    against_first: str  # in words; empty for the first result


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of results with the first of them."""

    about: About
    results: tuple[Result, ...]
    differences: tuple[str, ...]  # why they should not be compared; empty when they may
    disclosed: tuple[str, ...]  # other differences, perhaps the purpose of the comparison: storage, host, versions
    rows: tuple[Row, ...]
    overall: tuple[Overall | None, ...] = ()  # of kind `load`, by result; None: no level was reached


def compare(
    results: Sequence[Result], doubts: Sequence[str | None] = (), *, force: bool, allow: Collection[str] = ()
) -> Comparison:
    """Compare results with the first one. Raises UsageError naming what differs, unless `force` is set; `differences`
    then has it. Results of different workloads have no figure in common and are always refused. `doubts`: for each
    result why it is not to be believed; `allow`: grounds (`experiments.result.compare`) that may differ."""
    if len(results) < 2:
        raise UsageError("give at least two results to compare")
    first, about = results[0], about_of(results[0].workload)
    for number, other in enumerate(results[1:], 2):
        if other.workload != first.workload:
            raise UsageError(
                f"result {number} is of workload {other.workload}, the first of {first.workload}; give results of one workload"
            )
    keys = _keys(about, results)
    differences = tuple(f"result {number}: {why}" for number, why in enumerate(doubts, 1) if why is not None)
    differences += tuple(
        line for n, other in enumerate(results[1:], 2) for line in _differences(about, first, other, n, allow)
    )
    differences += tuple(
        f"result {number}: it has no point ({', '.join(name for name, _ in next(iter(keys[0])))}) in common with the first"
        for number, own in enumerate(keys[1:], 2)
        if not own.keys() & keys[0].keys()
    )
    if differences and not force:
        grounds = {name for other in results[1:] for name in differing_grounds(first.conditions, other.conditions)}
        named = f"; --allow {','.join(sorted(grounds - set(allow)))} compares them" if grounds - set(allow) else ""
        raise UsageError(
            f"these results are not comparable: {'; '.join(differences)}; --force compares them nevertheless{named}"
        )
    rows, overall = _judged(about, results, keys)
    again = tuple(
        f"result {number}: it is result {results.index(other) + 1} once more, so they cannot differ"
        for number, other in enumerate(results, 1)
        if other in results[: number - 1]
    )
    return Comparison(
        about=about,
        results=tuple(results),
        differences=differences,
        disclosed=again + tuple(line for n, other in enumerate(results[1:], 2) for line in _disclosed(first, other, n)),
        rows=rows,
        overall=overall,
    )


_Key = tuple[tuple[str, Any], ...]  # identifies a point in every result


def _keys(about: About, results: Sequence[Result]) -> list[dict[_Key, Point]]:
    """Return each result's points by key: fields that may differ are left out if every result has only one value for
    them."""
    aside = {
        name
        for name in about.aside
        if all(len({point.at.values().get(name) for point in result.points} - {0}) <= 1 for result in results)
    }
    return [
        {tuple((n, v) for n, v in point.at.values().items() if n not in aside): point for point in result.points}
        for result in results
    ]


def _differences(about: About, first: Result, other: Result, number: int, allow: Collection[str]) -> list[str]:
    """Return what forbids comparing result `number` with the first: kind, configuration, the workload's conditions,
    grounds."""
    out = []
    if first.kind != other.kind:
        out.append(f"result {number}: it is a {other.kind}, the first is a {first.kind}")
    out += _unequal(first.conditions.get("configuration"), other.conditions.get("configuration"), number, "")
    for same in about.same:
        ours, theirs = (_get(result, *same.path) for result in (first, other))
        if not _close(ours, theirs, same):
            out.append(f"result {number}: {same.name} {theirs}, the first has {ours}")
    grounds = differing_grounds(first.conditions, other.conditions)
    return out + [f"result {number}: {line}" for name, line in grounds.items() if name not in allow]


def _disclosed(first: Result, other: Result, number: int) -> list[str]:
    """Return other differences that the reader must see next to the figures."""
    out = []
    for name, path in (
        ("storage", ("storage", "label")),
        ("storage path", ("storage", "path")),
        ("mount", ("storage", "mount")),
        ("emulated filer", ("emulated_filer", "label")),
        ("cache state", ("cache", "state")),
        ("versions", ("versions",)),
        ("database files on the storage under test", ("databases",)),
        ("host", ("hosts",)),
    ):
        ours, theirs = (_plain(_get(result, *path)) for result in (first, other))
        if ours != theirs:
            out.append(f"result {number}: {name}: {theirs}; the first: {ours}")
    return out


def _plain(value: Any) -> Any:
    """Return what identifies the hosts or databases of a list."""
    if isinstance(value, list):
        return [
            (v.get("name"), v.get("on_storage_under_test"), v.get("processors"), v.get("memory_bytes")) for v in value
        ]
    if isinstance(value, dict) and "point" in value:
        return {key: value[key] for key in ("type", "source", "options") if key in value}
    return value


def _unequal(ours: Any, theirs: Any, number: int, at: str) -> list[str]:
    """Return each key of a configuration in which two differ, with both values."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = sorted({*ours, *theirs})
        return [
            line
            for key in keys
            for line in _unequal(ours.get(key), theirs.get(key), number, f"{at}{'.' * bool(at)}{key}")
        ]
    return [] if ours == theirs else [f"result {number}: {at or 'configuration'} {theirs}, the first has {ours}"]


def _get(result: Result, *path: str) -> Any:
    value: Any = result.conditions
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _close(ours: Any, theirs: Any, same: Same) -> bool:
    if not isinstance(ours, int | float) or not isinstance(theirs, int | float):
        return bool(ours == theirs)
    return abs(ours - theirs) <= same.tolerance * max(abs(ours), abs(theirs))


_Place = tuple[_Key, int, str]  # a point, the number of a result, a figure
_OVERALL = "overall_response"  # takes the place of a figure; belongs to no point


def _judged(
    about: About, results: Sequence[Result], keys: Sequence[dict[_Key, Point]]
) -> tuple[tuple[Row, ...], tuple[Overall | None, ...]]:
    """Return everything that is compared, judged together."""
    ratios = _ratios(about, keys) | _overall_ratios(results)
    words = dict(zip(ratios, map(difference, judged(list(ratios.values()))), strict=True))
    overall = tuple(_overall(result, number, words) for number, result in enumerate(results))
    rows = tuple(
        Row(dict(key), tuple(_cell(own.get(key), key, n, ratios, words) for n, own in enumerate(keys)))
        for key in sorted({key for own in keys for key in own})
    )
    return rows, overall if any(result.levels for result in results) else ()


def _overall_ratios(results: Sequence[Result]) -> dict[_Place, Ratio | None]:
    """Compare only curves that end at the same level: a higher load has a higher response time."""
    first = results[0].levels
    return {
        ((), number, _OVERALL): ratio_of(other.levels.by_repeat_us, first.by_repeat_us)
        for number, other in enumerate(results)
        if number and first and other.levels and other.levels.up_to == first.up_to is not None
    }


def _overall(result: Result, number: int, words: dict[_Place, str]) -> Overall | None:
    levels = result.levels
    if levels is None or levels.overall_us is None or levels.up_to is None:
        return None
    other = "" if not number else "not compared: the curves do not end at the same level"
    text = words.get(((), number, _OVERALL), other)
    return Overall(levels.overall_us, levels.up_to, levels.peak, text)


def _ratios(about: About, keys: Sequence[dict[_Key, Point]]) -> dict[_Place, Ratio | None]:
    """Return every comparison with the first result: all of them are judged together."""
    return {
        (key, number, figure.name): (
            None if figure.once else ratio_of(figure.values(point.repeats), figure.values(keys[0][key].repeats))
        )
        for number, own in enumerate(keys)
        if number
        for key, point in own.items()
        if key in keys[0]
        for figure in about.headlines
        if figure.name in point.figures and figure.name in keys[0][key].figures
    }


def _cell(
    point: Point | None, key: _Key, number: int, ratios: dict[_Place, Ratio | None], words: dict[_Place, str]
) -> Cell | None:
    if point is None:
        return None
    names = [place[2] for place in ratios if place[:2] == (key, number)]
    return Cell(
        point.figures,
        point.limited,
        point.marks,
        {name: words[key, number, name] for name in names},
        {name: ratios[key, number, name] for name in names},
    )
