"""Report R1's facts, evaluated on simulated series. `r1-facts.json` is the given list, shipped unchanged."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from core.document import Document

FILE = Path(__file__).parent / "r1-facts.json"
_MINUTE = 60.0
_WINDOW = 5  # minutes
_HIGH = 0.9  # of the peak: a plateau

Value = float | list[float] | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One simulated row; series by minute."""

    elapsed_s: float
    discovery_end_s: float
    gb_before: float
    gb_after: float
    series: Mapping[str, Sequence[float]]


class Fact(Document):
    """One fact of report R1 with its simulated value."""

    id: str
    use: Literal["fit", "predict"]
    required: bool
    stated: str
    value: float | list[float] | str | None
    held: bool


def facts() -> list[dict[str, Any]]:
    """The given facts."""
    return list(json.loads(FILE.read_text(encoding="utf-8"))["facts"])


def means(series: Sequence[float], window: int = _WINDOW) -> list[float]:
    """Means of each `window` minutes, beginning with every minute; for a shorter series its mean."""
    if len(series) < window:
        return [sum(series) / len(series)] if series else [0.0]
    total = sum(series[:window])
    out = [total / window]
    for n in range(window, len(series)):
        total += series[n] - series[n - window]
        out.append(total / window)
    return out


def peak(series: Sequence[float]) -> float:
    """The highest mean of 5 minutes."""
    return max(means(series))


def plateau_s(series: Sequence[float]) -> float:
    """Seconds from the start in which the means of 5 minutes stay at 90 % of the peak or more."""
    values = means(series)
    least = _HIGH * max(values)
    for n, value in enumerate(values):
        if value < least:
            return 0.0 if n == 0 else (n + _WINDOW - 1) * _MINUTE
    return len(series) * _MINUTE


def between(row: Row, name: str, begin: float, end: float) -> float:
    """Mean of a series between two shares of the run."""
    series = row.series[name]
    low, high = begin * row.elapsed_s / _MINUTE, end * row.elapsed_s / _MINUTE
    total = sum(value * max(0.0, min(n + 1, high) - max(n, low)) for n, value in enumerate(series))
    return total / (high - low) if high > low else 0.0


def _above(row: Row) -> float:
    least = _HIGH * peak(row.series["filer_ops"])
    return sum(value >= least for value in means(row.series["filer_ops"])) * _MINUTE / row.elapsed_s


def _plateau_minutes(row: Row) -> range:
    return range(int(plateau_s(row.series["filer_ops"]) / _MINUTE))


def _mean(row: Row, name: str, minutes: Sequence[int]) -> float:
    return sum(row.series[name][n] for n in minutes) / len(minutes) if minutes else 0.0


def _units(row: Row, minutes: Sequence[int]) -> list[float] | None:
    return [round(_mean(row, "fsa", minutes), 3), round(_mean(row, "fsb", minutes), 3)] if minutes else None


def _at_26k(row: Row) -> list[int]:
    """The minutes after the plateau at about 26,000 filer ops a second."""
    ops = row.series["filer_ops"]
    return [n for n in range(len(_plateau_minutes(row)), len(ops)) if 24_000 <= ops[n] <= 28_000]


def _units_end(row: Row) -> float:
    """Use of FSB divided by that of FSA, at the end."""
    begin, last = int(row.discovery_end_s / _MINUTE) + 1, int(row.elapsed_s / _MINUTE)
    minutes = [n for n in range(begin, last) if 0 < row.series["filer_ops"][n] <= 18_000]
    fsa = _mean(row, "fsa", minutes)
    return _mean(row, "fsb", minutes) / fsa if fsa else 0.0


def _sql_after(row: Row) -> float:
    series = row.series["database_io"]
    begin, end = int(row.discovery_end_s / _MINUTE) + 1, int(row.elapsed_s / _MINUTE)
    after = series[begin:end]
    return sum(after) / len(after) / peak(series) if after and peak(series) else 0.0


def _peak_minute(series: Sequence[float]) -> int:
    values = means(series)
    return values.index(max(values))


def _gb_per_hour(row: Row) -> float:
    return row.gb_after / row.elapsed_s


def _worst(rows: Mapping[str, Row], name: str) -> float:
    return max(peak(row.series[name]) for row in rows.values())


def _total(row: Row) -> float:
    return sum(row.series["filer_ops"])


_VALUES: dict[str, Callable[[Mapping[str, Row]], Value]] = {
    "elapsed-A": lambda r: r["A"].elapsed_s,
    "elapsed-B": lambda r: r["B"].elapsed_s,
    "elapsed-C": lambda r: r["C"].elapsed_s,
    "gain-workers": lambda r: _gb_per_hour(r["B"]) / _gb_per_hour(r["A"]),
    "gain-databases": lambda r: _gb_per_hour(r["C"]) / _gb_per_hour(r["B"]),
    "peak-A": lambda r: peak(r["A"].series["filer_ops"]),
    "peak-B": lambda r: peak(r["B"].series["filer_ops"]),
    "peak-C": lambda r: peak(r["C"].series["filer_ops"]),
    "plateau-A": lambda r: "longer" if plateau_s(r["A"].series["filer_ops"]) > plateau_s(r["B"].series["filer_ops"]) else "not longer",
    "plateau-B": lambda r: plateau_s(r["B"].series["filer_ops"]),
    "plateau-C": lambda r: plateau_s(r["C"].series["filer_ops"]),
    "plateau-ratio": lambda r: plateau_s(r["C"].series["filer_ops"]) / max(_MINUTE, plateau_s(r["B"].series["filer_ops"])),
    "above-90-C": lambda r: _above(r["C"]),
    "middle-B": lambda r: between(r["B"], "filer_ops", 0.40, 0.60),
    "late-B": lambda r: between(r["B"], "filer_ops", 0.75, 0.95),
    "end-B": lambda r: between(r["B"], "filer_ops", 0.98, 1.0) / peak(r["B"].series["filer_ops"]),
    "units-39k": lambda r: _units(r["B"], _plateau_minutes(r["B"])),
    "units-26k": lambda r: _units(r["B"], _at_26k(r["B"])),
    "units-end": lambda r: "yes" if _units_end(r["B"]) > 1.0 else "no",
    "sql-peak-B": lambda r: peak(r["B"].series["database_io"]),
    "sql-after-B": lambda r: _sql_after(r["B"]),
    "sql-peak-later-A": lambda r: "later" if _peak_minute(r["A"].series["database_io"]) > _peak_minute(r["B"].series["database_io"]) else "not later",
    "read-latency": lambda r: _worst(r, "read_ms"),
    "write-latency": lambda r: _worst(r, "write_ms"),
    "queued": lambda r: _worst(r, "queued"),
    "same-work": lambda r: _total(r["A"]) / _total(r["B"]),
    "double-work": lambda r: _total(r["C"]) / _total(r["B"]),
}  # fmt: skip


def reason(fact: Fact, rows: Mapping[str, Row]) -> str:
    """The reason, found in the series, why a fact is not held."""
    named = next((name for name in rows if fact.id.endswith(f"-{name}")), "")
    found = _REASONS.get(fact.id)
    if found is not None:
        return found(rows)
    if fact.id.startswith("gain"):
        return "; ".join(f"{name}: {_stages(row)}" for name, row in rows.items() if name in ("AB" if fact.id == "gain-workers" else "BC"))  # fmt: skip
    return _stages(rows[named or "B"])


def _stages(row: Row) -> str:
    """A row in one line: the demand of discovery and of the phases after it."""
    ops, end = row.series["filer_ops"], row.discovery_end_s / row.elapsed_s
    before, after = between(row, "filer_ops", 0.0, end), between(row, "filer_ops", end, 1.0)
    return (
        f"discovery ends after {row.discovery_end_s / _MINUTE:.0f} min at {before:,.0f} filer op/s on average, highest {peak(ops):,.0f}, with FSA "
        f"{between(row, 'fsa', 0.0, end):.0%} busy; indexing takes {(row.elapsed_s - row.discovery_end_s) / _MINUTE:.0f} min at {after:,.0f}"
    )


def _falls_early(rows: Mapping[str, Row]) -> str:
    ops = means(rows["A"].series["filer_ops"])
    end, low = plateau_s(rows["A"].series["filer_ops"]), rows["A"].series["fsa"][:15]
    return (
        f"A is bound by cores (FSA {sum(low) / len(low):.0%} in its first 15 min), so its rate follows the tasks' filer ops a CPU second; the "
        f"dispatcher sends the largest tasks first, which have the most, and A passes 90 % of {max(ops):,.0f} after {end / _MINUTE:.0f} min; "
        "B is flat as FSA is full. R1 does not say in which order its tasks were sent"
    )


def _passes_quickly(rows: Mapping[str, Row]) -> str:
    row = rows["B"]
    begin, ops, minutes = len(_plateau_minutes(row)), row.series["filer_ops"], _at_26k(row)
    falls = next((n for n in range(begin, len(ops)) if ops[n] < 24_000), len(ops)) - begin
    end = row.discovery_end_s / row.elapsed_s
    per_fsa = between(row, "fsb", end, 1.0) / max(1e-9, between(row, "fsa", end, 1.0))
    return (
        f"{len(minutes)} minute(s) between 24,000 and 28,000 (minutes {', '.join(map(str, minutes[:8])) or 'none'}), as ops fall below 24,000 within "
        f"{falls + 1} min of the plateau's end; indexing demands {per_fsa:.2f} FSB seconds for each FSA second, R1 at 26,000 demands 0.82"
    )


def _index_writes_rows(rows: Mapping[str, Row]) -> str:
    row, end = rows["B"], rows["B"].discovery_end_s / rows["B"].elapsed_s
    before = between(row, "database_io", 0.0, end) * row.discovery_end_s
    after = between(row, "database_io", end, 1.0) * (row.elapsed_s - row.discovery_end_s)
    return (
        f"{after / max(1.0, before):.1f} times the database I/O of discovery comes after it: our pipeline writes text state and index owner of each "
        "item in phase index (measured rows), R1's product wrote its index to files"
    )


_REASONS: dict[str, Callable[[Mapping[str, Row]], str]] = {
    "plateau-A": _falls_early,
    "units-26k": _passes_quickly,
    "sql-after-B": _index_writes_rows,
}


def evaluate(rows: Mapping[str, Row]) -> list[Fact]:
    """Every fact, held or not."""
    out = []
    for fact in facts():
        value = _VALUES[fact["id"]](rows)
        stated = fact.get("value", fact.get("value_s"))
        within = fact.get("within")
        out.append(
            Fact(
                id=fact["id"], use=fact["use"], required=fact.get("required", False),
                stated=f"{stated}" + (f" within {within}" if within else ""), value=value, held=_held(value, stated, within),
            )
        )  # fmt: skip
    return out


def _held(value: Value, stated: Any, within: str | None) -> bool:
    if value is None:
        return False
    if isinstance(stated, list):
        bound = _number(within)
        return isinstance(value, list) and all(abs(a - b) <= bound for a, b in zip(value, stated, strict=True))
    if isinstance(stated, str):
        return value == stated if isinstance(value, str) else _worded(float(value), stated)  # type: ignore[arg-type]
    if isinstance(value, str | list):
        return False
    bound = _number(within)
    if within is not None and "%" in within:
        bound *= abs(stated) / 100
    return abs(value - float(stated)) <= bound


def _number(text: str | None) -> float:
    found = re.search(r"[0-9.]+", text or "")
    return float(found.group()) if found else 0.0


def _worded(value: float, stated: str) -> bool:
    """A bound in words: `under 5 ms`, `at most 0.3`, `1000 to 1500`, `few: under 2 a disk`."""
    numbers = [float(found) for found in re.findall(r"[0-9]+(?:\.[0-9]+)?", stated)]
    if "under" in stated:
        return value < numbers[0]
    if "at most" in stated:
        return value <= numbers[0]
    return numbers[0] <= value <= numbers[1]


def misses(rows: Mapping[str, Row]) -> list[float]:
    """The deviations of the facts marked `fit` from their middle, in tolerances; a fit minimises the sum of their
    squares."""
    out: list[float] = []
    for given in facts():
        if given["use"] != "fit":
            continue
        value, stated, within = (
            _VALUES[given["id"]](rows),
            given.get("value", given.get("value_s")),
            given.get("within"),
        )
        if isinstance(stated, list) and isinstance(value, list):
            out += [(a - b) / _number(within) for a, b in zip(value, stated, strict=True)]
        elif isinstance(stated, list):
            out += [_FAR] * len(stated)
        elif isinstance(value, str):  # FSB is 15 % busier than FSA, or the distance below that
            out.append(min(0.0, _units_end(rows["B"]) / 1.15 - 1.0) / 0.13)
        elif within is None:
            low, high = (float(found) for found in re.findall(r"[0-9]+", str(stated)))
            out.append((float(value) - (low + high) / 2) / (high - low) * 2)  # type: ignore[arg-type]
        else:
            out.append((float(value) / float(stated) - 1.0) / _number(within) * 100)  # type: ignore[arg-type]
    return [max(-_FAR, min(_FAR, one)) for one in out]


_FAR = 10.0  # tolerances: a larger deviation counts no more
