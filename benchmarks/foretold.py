"""Runs that were predicted beforehand: predictions written down and hashed, then what came out beside them."""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.figures import Figure, Figures
from experiments.capacity.predict import LEVEL, Prediction, point_document
from experiments.overrun import overran, overshoot
from experiments.workloads.discovery.result import Run

WITHIN = 10.0  # per cent


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One target: what was said, and the runs made after it."""

    target: str
    predicted: Prediction
    runs: tuple[Run, ...]
    judged: bool = True  # whether an overrun counts: only where a machine was emulated

    @property
    def measured_s(self) -> float:
        return statistics.median(run.elapsed_s for run in self.runs)

    @property
    def error(self) -> float:
        """Per cent of what was measured."""
        return (self.predicted.elapsed_s.value / self.measured_s - 1.0) * 100

    @property
    def held(self) -> bool:
        return self.predicted.elapsed_s.holds(self.measured_s)

    @property
    def overrun(self) -> bool:
        return self.judged and any(map(overran, self.runs))


def write_down(file: Path, predicted: Mapping[str, Prediction]) -> str:
    """The predictions as JSON; the hash of the file."""
    plain = [{"target": target, **point_document(one).to_json()} for target, one in predicted.items()]
    file.write_text(json.dumps(plain, indent=1) + "\n")
    return hashlib.sha256(file.read_bytes()).hexdigest()


def show(console: Console, rows: Sequence[Row]) -> None:
    """One line a target."""
    names = (
        "target",
        "predicted s",
        f"{LEVEL:.0%} interval",
        "measured s",
        "error",
        "held",
        "host busy",
        "late",
        "by phase",
    )
    table = Table(*names, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        span = row.predicted.elapsed_s
        busy = [f"{run.host_cpu:.0%}" for run in row.runs if run.host_cpu is not None]
        late = [f"{over:.0%}" for over in map(overshoot, row.runs) if over is not None]
        table.add_row(
            row.target,
            f"{span.value:.1f}",
            span.told("{:.1f}".format),
            " ".join(f"{run.elapsed_s:.1f}" for run in row.runs),
            f"{row.error:+.1f} %",
            "yes" if row.held else "NO",
            " ".join(busy) + (" OVERRUN" if row.overrun else ""),
            " ".join(late),
            ", ".join(f"{phase} {limit}" for phase, limit in row.predicted.by_phase.items()),
        )
    console.print(table)


def phases_told(row: Row) -> str:
    """Seconds by phase of the first run, for whoever looks where an error is."""
    return ", ".join(f"{use.database} {use.phase} {use.elapsed_s:.1f}" for use in row.runs[0].phases)


def judge(file: Path, name: str, rows: Sequence[Row]) -> None:
    """The worst error and the intervals that held, of runs with which the machine kept up."""
    figures = Figures(file)
    kept = [row for row in rows if not row.overrun]
    if len(kept) < len(rows):
        print(
            f"EMULATION OVERRUN: {len(rows) - len(kept)} of {len(rows)} runs say nothing; a larger --time-scale helps"
        )
    if kept:
        errors = [abs(row.error) for row in kept]
        note = f"{len(kept)} runs predicted beforehand; mean error {statistics.fmean(errors):.1f} %"
        figures.add(f"{name}_worst_error", Figure(value=max(errors), unit="%", target=WITHIN, at_most=True, note=note))
        held = sum(row.held for row in kept)
        figures.add(f"{name}_intervals", Figure(value=held, unit=f"of {len(kept)} held", note="90 % each"))
    plain: dict[str, Any] = json.loads(file.read_text()) if kept else {}
    plain["rows"] = [
        {"target": row.target, **point_document(row.predicted).to_json(), "overrun": row.overrun}
        | {"measured_s": [run.elapsed_s for run in row.runs], "host_cpu": [run.host_cpu for run in row.runs]}
        for row in rows
    ]
    file.write_text(json.dumps(plain, indent=1) + "\n")
