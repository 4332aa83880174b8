"""Levelling: files to add to a corpus so that its totals are those of the profile.

A corpus is written in rounds. Most of it is drawn by chance; the results are counted (`CorpusTotals`), and the last
rounds are chosen so that items, types, bytes, pages and expansion end where the profile demands. The content of a file
of a format (embedded pictures, members) is estimated from the corpus so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dataset_gen.mix import Profile
from dataset_gen.planning.tally import CorpusTotals, Sums

_TURNS = 30
_LEAST, _MOST = 0.25, 4.0  # bounds on the stretching of sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """The totals of a corpus at its scale; 0 where the profile leaves one to chance."""

    raw: float
    items: float
    pages: float
    extracted: float
    types: dict[str, float]


def goal_of(profile: Profile, scale: float) -> Goal:
    """Return the totals that the profile demands at that scale."""
    raw = profile.raw_bytes * scale
    items = profile.targets.items_per_gb * raw / 1e9
    return Goal(
        raw=raw,
        items=items,
        pages=items * profile.targets.pages_per_item,
        extracted=raw * max(0.0, profile.targets.expansion - 1) if profile.targets.expansion else 0.0,
        types={name: share * items for name, share in profile.types.items()},
    )


def archive_bytes(goal: Goal, tally: CorpusTotals, shares: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the raw bytes of archives that are missing, so that with the documents still to come the expansion is met.

    `shares` are those of the archives' formats, `weights` those of the loose formats as `counts` takes them. Members
    are items of the same types as loose documents, so more archives mean fewer of these: repeat a few times."""
    shares = {fmt: share for fmt, share in shares.items() if fmt in tally.formats}
    total = sum(shares.values())
    left = goal.raw - tally.raw
    if not goal.extracted or not total or left <= 0:
        return 0.0
    ratios = {
        fmt: sums.extracted / max(1, sums.raw) for fmt, sums in tally.formats.items()
    }  # extracted bytes a raw byte
    inside = sum(share * ratios[fmt] for fmt, share in shares.items()) / total
    out = 0.0
    for _ in range(_TURNS):
        then = _with_more(tally, {fmt: out * share / total for fmt, share in shares.items()})
        missing = counts(goal, then, weights)
        coming = sum(n * then.formats[fmt].extracted / then.formats[fmt].files for fmt, n in missing.items())
        out += 0.5 * (goal.extracted - then.extracted - coming) / max(0.2, inside)
        out = min(max(0.0, out), 0.8 * left)
    return out


def _with_more(tally: CorpusTotals, more: Mapping[str, float]) -> CorpusTotals:
    """Return the tally with so many more raw bytes of some formats."""
    formats = dict(tally.formats)
    for fmt, size in more.items():
        sums = formats[fmt]
        factor = 1 + size / max(1, sums.raw)
        formats[fmt] = replace(
            sums,
            files=round(sums.files * factor),
            extracted=round(sums.extracted * factor),
            types=Counter({name: round(count * factor) for name, count in sums.types.items()}),
        )
    return CorpusTotals(formats=formats)


def archive_counts(goal: Goal, tally: CorpusTotals, budgets: Mapping[str, float]) -> dict[str, int]:
    """Return the number of archives of each format whose type has a goal, given the bytes that each format gets: the
    content of archives grows with their bytes, whatever their number. Without bytes, the format with the fewest items
    inside gets all."""
    there = tally.types
    out: dict[str, int] = {}
    of_type: dict[str, dict[str, float]] = {}
    for fmt, size in budgets.items():
        if fmt in tally.formats and tally.formats[fmt].own_type in goal.types:
            of_type.setdefault(tally.formats[fmt].own_type, {})[fmt] = size
    for name, sizes in of_type.items():
        have = {fmt: tally.formats[fmt] for fmt in sizes}
        inside = sum((s.types[name] - s.files) / max(1, s.raw) * sizes[fmt] for fmt, s in have.items())
        missing = max(0, round(goal.types[name] - there[name] - inside))
        total = sum(sizes.values())
        if not total:
            out[min(have, key=lambda fmt: have[fmt].types[name] / max(1, have[fmt].files))] = missing
            continue
        for fmt, size in sizes.items():
            out[fmt] = max(1 if size else 0, round(missing * size / total))
    return out


def counts(goal: Goal, tally: CorpusTotals, weights: Mapping[str, float]) -> dict[str, float]:
    """Return the missing loose files of each format, given the weights of formats of the same media type."""
    known = {fmt: tally.formats[fmt] for fmt in weights if fmt in tally.formats and tally.formats[fmt].files}
    there = tally.types
    missing = {name: wanted - there[name] for name, wanted in goal.types.items()}
    of_type: dict[str, float] = {}
    for fmt, sums in known.items():
        of_type[sums.own_type] = of_type.get(sums.own_type, 0.0) + weights[fmt]
    levelled = {fmt: sums for fmt, sums in known.items() if sums.own_type in missing}
    brings = {
        own: [(o, _each(s, own)) for o, s in levelled.items() if s.own_type != own and s.types[own]] for own in of_type
    }
    own_each = {fmt: _each(sums, sums.own_type) for fmt, sums in levelled.items()}
    out = dict.fromkeys(levelled, 0.0)
    for _ in range(_TURNS):  # each format brings others with it: repeat until nothing changes
        for fmt, sums in levelled.items():
            own = sums.own_type
            others = sum(out[o] * each for o, each in brings[own])
            out[fmt] = max(0.0, (missing[own] - others) * weights[fmt] / of_type[own] / own_each[fmt])
    return out


def _each(sums: Sums, media_type: str) -> float:
    """Return the items of a type in one loose file, itself included."""
    return sums.types[media_type] / sums.files


def stretches(goal: Goal, tally: CorpusTotals, wanted: Mapping[str, float]) -> dict[str, float]:
    """Return the factors for the sizes of formats, given the bytes of each without stretching.

    Formats with few pages a byte get one factor and those with many another, so that raw bytes and pages meet; if they
    cannot, raw bytes do. Formats that contain others have no factor: large ones contain more than small ones, which
    would upset items and expansion."""
    have = {f: tally.formats[f] for f in wanted}
    kept = {f for f, sums in have.items() if sums.extracted}
    density = {f: sums.pages / max(1, sums.raw) for f, sums in have.items()}
    moved = {f: size for f, size in wanted.items() if f not in kept}
    left = goal.raw - tally.raw - sum(wanted[f] for f in kept)
    pages = goal.pages - tally.pages - sum(wanted[f] * density[f] for f in kept)
    total = sum(moved.values())
    if total <= 0 or left <= 0:
        return dict.fromkeys(moved, _LEAST)
    mean = sum(density[f] * moved[f] for f in moved) / total
    dense = {f: size for f, size in moved.items() if density[f] > mean}
    light = {f: size for f, size in moved.items() if f not in dense}
    many, few = sum(dense.values()), sum(light.values())
    if not goal.pages or not many or not few:
        return dict.fromkeys(moved, left / total)
    many_pages = sum(size * density[f] for f, size in dense.items())
    few_pages = sum(size * density[f] for f, size in light.items())
    stretch = (pages * few - left * few_pages) / (many_pages * few - many * few_pages)
    stretch = min(max(stretch, _LEAST), _MOST, left / many * 0.9)
    return dict.fromkeys(light, max(0.02, (left - stretch * many) / few)) | dict.fromkeys(dense, stretch)


def fitted(
    sizes: Mapping[str, list[int]],
    factors: Mapping[str, float],
    least: Mapping[str, int],
    most: Mapping[str, int],
    wanted: float,
) -> dict[str, list[int]]:
    """Return the sizes after stretching, which add up to `wanted`; no file is smaller than its format's `least`.

    The excess of the smallest possible sizes is taken from all others that have a factor."""
    import numpy as np  # late: listing profiles needs none of it

    fixed = {fmt: [max(size, least[fmt]) for size in some] for fmt, some in sizes.items() if fmt not in factors}
    rest = wanted - sum(map(sum, fixed.values()))
    moved = {fmt: np.array(some, np.float64) * factors[fmt] for fmt, some in sizes.items() if fmt in factors}
    low, high = 0.0, 8.0
    out: dict[str, Any] = {}
    for _ in range(40):
        common = (low + high) / 2
        out = {
            fmt: np.minimum(np.maximum(some * common, least[fmt]), most[fmt]).astype(np.int64)
            for fmt, some in moved.items()
        }
        if sum(int(some.sum()) for some in out.values()) > rest:
            high = common
        else:
            low = common
    return {fmt: fixed[fmt] if fmt in fixed else out[fmt].tolist() for fmt in sizes}
