"""What a benchmark says: a value, the target beside it, and a note with its conditions."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure. `target` is a bound on `value`: at least it, or at most it when `at_most`."""

    value: float
    unit: str
    target: float | None = None
    at_most: bool = False
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None where there is none."""
        if self.target is None:
            return None
        return self.value <= self.target if self.at_most else self.value >= self.target


@dataclass(slots=True)
class Figures:
    """All figures of one run, by name; printed and written as they come in."""

    file: Path
    console: Console = field(default_factory=lambda: Console(highlight=False))
    by_name: dict[str, Figure] = field(default_factory=dict)

    def add(self, name: str, figure: Figure) -> None:
        """Keep one, print its line, and write the file again: an interrupted run leaves what it has."""
        self.by_name[name] = figure
        bound = (
            "" if figure.target is None else f"  ({'≤' if figure.at_most else '≥'} {figure.target:g}: {_word(figure)})"
        )
        self.console.print(f"{name}: {figure.value:,.4g} {figure.unit}{bound}")
        self.file.write_text(json.dumps({n: _plain(f) for n, f in self.by_name.items()}, indent=1) + "\n")

    def show(self) -> None:
        """The whole table."""
        table = Table("figure", "value", "unit", "target", "met", "note", box=None, header_style="bold", pad_edge=False)
        for name, f in self.by_name.items():
            target = "" if f.target is None else f"{'≤' if f.at_most else '≥'} {f.target:g}"
            table.add_row(name, f"{f.value:,.4g}", f.unit, target, _word(f), f.note)
        self.console.print(table)


def _word(figure: Figure) -> str:
    return {None: "", True: "met", False: "NOT met"}[figure.met]


def _plain(figure: Figure) -> dict[str, Any]:
    return {
        "value": round(figure.value, 4),
        "unit": figure.unit,
        "target": figure.target,
        "met": figure.met,
        "note": figure.note,
    }
