"""Figures that reports published, to stand beside ours; and how near a ceiling a figure may come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

MARK = 0.8  # of a ceiling: figures above it are the generator's


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A figure of a report. Ours stands beside it where the point and the settings make it the same quantity."""

    what: str  # its row: "case 1, one volume, 256 outstanding"
    figure: str  # ours, by its name in `About.figures`
    value: float
    at: Mapping[str, Any] = field(default_factory=dict)  # what the load of the point must have
    settings: Mapping[str, Any] = field(default_factory=dict)  # what the profile's settings must have
    remark: str = ""  # what was otherwise
    ours: Callable[[Any], float | None] | None = (
        None  # of the result, where ours is no figure of a point with that load
    )
