"""Bounds on figures of a result, for automation: a job or an experiment that breaks one ends with exit status 3.

A bound is written as the condition that fails the run: `p99.read>20ms`, `gb_per_hour<400`. Names are those of the
result's JSON, which end in their unit; `p99.read` is the 99th percentile of op `read` in microseconds."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from core.errors import UsageError
from core.operations import Op

MOST = 100
_FORM = re.compile(r"\s*([A-Za-z0-9_.]{1,80})\s*(<=|>=|<|>)\s*([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([^\s0-9]{0,10})\s*")
_SIGNS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3_600.0}
_PERCENTILE = re.compile(r"(p50|p95|p99|max)\.([a-z]+)")
# Parts of names, with the units of their values; the first match counts. A factor converts to the name's own unit.
_UNITS: tuple[tuple[re.Pattern[str], Mapping[str, float]], ...] = (
    (_PERCENTILE, {unit: seconds * 1e6 for unit, seconds in _SECONDS.items()}),
    (re.compile(r"gb_per_hour"), {"GB/h": 1.0, "MB/h": 1e-3, "TB/h": 1e3}),
    (re.compile(r"mb_(per_)?s$"), {"MB/s": 1.0, "kB/s": 1e-3, "GB/s": 1e3}),
    (re.compile(r"_per_gb$"), {"s/GB": 1.0}),
    (re.compile(r"_per_s(econd)?$|^iops$"), {"/s": 1.0}),
    (re.compile(r"_us$"), {unit: seconds * 1e6 for unit, seconds in _SECONDS.items()}),
    (re.compile(r"_ms(_|$)"), {unit: seconds * 1e3 for unit, seconds in _SECONDS.items()}),
    (re.compile(r"_s$|^phases\."), _SECONDS),
    (re.compile(r"share|busy"), {"%": 0.01}),
    (re.compile(r"bytes"), {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A condition that fails a run."""

    text: str  # as it was given
    name: str
    sign: str
    limit: float  # in the unit of the name
    unit: str  # of the limit as given; empty: the unit of the name

    def outcome(self, values: Sequence[tuple[str, float]]) -> Outcome:
        """Check the worst of these (place, value) pairs against the bound. Without values the bound fails."""
        if not values:
            return Outcome(bound=self.text, name=self.name, value=None, shown="not measured", at="", failed=True)
        worst = max if self.sign[0] == ">" else min
        at, value = worst(values, key=lambda one: one[1])
        of_unit = value / units_of(self.name).get(self.unit, 1.0)
        number = f"{of_unit:,.0f}" if abs(of_unit) >= 1_000 else f"{of_unit:.4g}"
        shown = f"{number}{self.unit and ' '}{self.unit}"
        failed = _SIGNS[self.sign](value, self.limit)
        return Outcome(bound=self.text, name=self.name, value=value, shown=shown, at=at, failed=failed)


COLUMNS = ("fails if", "measured", "at", "outcome")  # of `Outcome.row`


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of checking a bound."""

    bound: str  # as it was given
    name: str
    value: float | None  # in the unit of the name; None: it was not measured
    shown: str  # the value in the bound's unit
    at: str  # at which point of an experiment
    failed: bool

    @property
    def row(self) -> tuple[str, str, str, str]:
        """The row of a table."""
        return self.bound, self.shown, self.at, "failed" if self.failed else "passed"

    @property
    def line(self) -> str:
        """One line: `FAILED p99.read>20ms: 31.2 ms at 4 workers`."""
        return f"{'FAILED' if self.failed else 'passed'} {self.bound}: {self.shown}{self.at and ' at '}{self.at}"


def percentiles(*of: str) -> list[str]:
    """The names of these percentiles, `p50`, `p95`, `p99` or `max`, of every op."""
    return [f"{one}.{op.label}" for one in of for op in Op]


def percentile_of(name: str) -> tuple[str, str] | None:
    """The field of a latency and the op that a name means: `p99.read` is `p99_us` of read. None for another name."""
    found = _PERCENTILE.fullmatch(name)
    return None if found is None else (f"{found[1]}_us", found[2])


def units_of(name: str) -> Mapping[str, float]:
    """The units of a figure, each with its factor to the unit in the name; empty for a plain number."""
    return next((units for pattern, units in _UNITS if pattern.search(name)), {})


def parse_bounds(texts: Iterable[str], names: Sequence[str]) -> tuple[Bound, ...]:
    """Parse bounds on figures of these `names`. The beginning of a name with its unit, such as gb_per_hour, means the
    first name that continues it. Raises UsageError."""
    given = list(texts)
    if len(given) > MOST:
        raise UsageError(f"--fail-if: {len(given)} bounds; give at most {MOST}", field="fail_if")
    return tuple(_parsed(text, names) for text in given)


def _continues(asked: str, name: str) -> bool:
    """Whether a name with a unit continues with a description, as gb_per_hour_raw does."""
    return name.startswith(f"{asked}_") and bool(units_of(asked)) and units_of(asked) == units_of(name)


def _listed(names: Sequence[str]) -> str:
    """The names, percentiles of all ops as `p99.OP`."""
    found = [(name, percentile_of(name)) for name in names]
    each = dict.fromkeys(name if of is None else f"{name.partition('.')[0]}.OP" for name, of in found)
    ops = dict.fromkeys(of[1] for _, of in found if of is not None)
    return f"{', '.join(each)}{'; OP is one of ' if ops else ''}{', '.join(ops)}"


def _parsed(text: str, names: Sequence[str]) -> Bound:
    def refused(why: str) -> UsageError:
        return UsageError(f"--fail-if {text[:120]!r}: {why}", field="fail_if")

    match = _FORM.fullmatch(text)
    if match is None:
        raise refused("write NAME>VALUE or NAME<VALUE, such as p99.read>20ms")
    asked, sign, number, unit = match.groups()
    name = asked if asked in names else next((one for one in names if _continues(asked, one)), None)
    if name is None:
        raise refused(f"there is no figure {asked}; use {_listed(names)}")
    units = units_of(name)
    if unit not in units and (unit or percentile_of(name)):
        known = ", ".join(units) or "none"
        raise refused(f"{name} has no unit {unit!r}; use {known}" if unit else f"add the unit: {known}")
    return Bound(text=text.strip(), name=name, sign=sign, limit=float(number) * units.get(unit, 1.0), unit=unit)
