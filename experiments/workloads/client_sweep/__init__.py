"""A client sweep: how many clients write, read and remove whole large objects, and what each of them gets (report R3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.clients.telling import ClientsTelling
from experiments.profiles.about import profile_about
from experiments.report import words
from experiments.workload import Figure
from experiments.workloads.client_sweep.profile import ClientSweep
from experiments.workloads.client_sweep.result import READ, REMOVE, WRITE, SweepPoint, SweepResult, SweepSeen, run_of

if TYPE_CHECKING:
    from experiments.report.parts import Section


def _sections(result: SweepResult) -> list[Section]:
    from experiments.workloads.client_sweep.sections import sections  # draws: matplotlib is slow to come

    return sections(result)


def _rate(deed: str, what: str, title: str, *, headline: bool = False) -> Figure:
    def value(run: object) -> float | None:
        found: float | None = getattr(run.phase(deed), what)  # type: ignore[attr-defined]
        return None if found is None else found / 1e6

    return Figure(
        name=f"{deed}_{what}_mb_s", title=f"{deed} {title}", of=value, headline=headline, write=words.figure, unit="MB/s",
        missing="none",
    )  # fmt: skip


ABOUT = profile_about(
    name="client-sweep",
    report="R3",
    result=SweepResult,
    point=SweepPoint,
    seen=SweepSeen,
    run_of=run_of,
    figures=(
        _rate(WRITE, "aggregate", "MB/s, all clients", headline=True),
        _rate(READ, "aggregate", "MB/s, all clients", headline=True),
        _rate(WRITE, "mean", "MB/s, mean client"),
        _rate(READ, "mean", "MB/s, mean client"),
        Figure(name="removes_per_s", title="removed/s", of=lambda run: run.phase(REMOVE).aggregate, write=words.figure,
               missing="none"),
        Figure(name="refused", title="refused", of=lambda run: float(run.refused), write=words.count),
        Figure(name="failed", title="failed", of=lambda run: float(run.failed), write=words.count),
        Figure(name="overlap", title="clients at once", of=lambda run: run.phase(WRITE).overlap, write=words.figure),
    ),
    sections=_sections,
    telling=ClientsTelling,
    ceilings=("write_mean_mb_s", "read_mean_mb_s"),
)  # fmt: skip

PROFILE = ClientSweep
