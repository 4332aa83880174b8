"""Bounds on the figures of a job (`--fail-if`): the names of the figures, and the outcome of each bound."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from core.bounds import Outcome, parse_bounds, percentile_of, percentiles

if TYPE_CHECKING:
    from controller.jobs.figures import Figures

_HEADLINE = "gb_per_hour_discovered"  # what `gb_per_hour` means
_EXCEPTIONS = "exceptions"  # all of them, whatever their codes
_SETTINGS = ("workers", "slots", "passes")


def _names() -> list[str]:
    from controller.jobs.figures import Figures  # needs the database's libraries
    from core.records import Phase

    fields = (
        name
        for name, info in Figures.model_fields.items()
        if info.annotation in (int, float, int | None, float | None) and name not in (_HEADLINE, *_SETTINGS)
    )
    phases = (f"phases.{phase.value}" for phase in Phase)
    return [_HEADLINE, *fields, _EXCEPTIONS, *percentiles("p50", "p99", "max"), *phases]


def checked_bounds(texts: Iterable[str]) -> tuple[str, ...]:
    """Check the bounds of an order; return them in the form of a job's options. Raises UsageError."""
    given = tuple(texts)
    if given:
        parse_bounds(given, _names())
    return given


def judged(figures: Figures, texts: Iterable[str]) -> list[Outcome]:
    """Return the outcomes of a job's bounds."""
    out = []
    for bound in parse_bounds(texts, _names()):
        value = _value(figures, bound.name)
        out.append(bound.outcome([] if value is None else [("", value)]))
    return out


def _value(figures: Figures, name: str) -> float | None:
    """Return the figure; None if the job has no such figure."""
    if name == _EXCEPTIONS:
        return float(sum(figures.exceptions.values()))
    if (percentile := percentile_of(name)) is not None:
        field, op = percentile
        calls = figures.calls.get(op)
        return None if calls is None else float(getattr(calls, field))
    if name.startswith("phases."):
        return next((took for phase, took in figures.phases.items() if f"phases.{phase.value}" == name), None)
    value = getattr(figures, name)
    return None if value is None else float(value)
