"""What `edbench predict --r1` needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from experiments.capacity.r1_report import SEED, r1_report
from experiments.capacity.r1_search import Effort
from experiments.capacity.r1_text import r1_text

FULL = Effort()


@dataclass(frozen=True, slots=True)
class Consistency:
    """Report R1 against the model."""

    report: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        return self.report

    def lines(self) -> list[str]:
        return r1_text(self.report).splitlines()


def consistency(effort: Effort = FULL, seed: int = SEED) -> Consistency:
    """Fit, checks, rivals and predictions; the same for the same arguments. Takes about a minute of one core."""
    return Consistency(r1_report(effort, seed))
