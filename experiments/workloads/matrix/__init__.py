"""Matrix: threads x record x file size, written, rewritten, read and read again (report R4's IOzone runs, through fio)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.profiles.about import Published, profile_about
from experiments.report import words
from experiments.workload import Figure
from experiments.workloads.matrix.result import NAME, OPS, MatrixPoint, MatrixResult, MatrixSeen, run_of
from experiments.workloads.matrix.run import Matrix
from experiments.workloads.matrix.telling import MatrixTelling

if TYPE_CHECKING:
    from experiments.report.parts import Section

PROFILE = Matrix


def _sections(result: MatrixResult) -> list[Section]:
    from experiments.workloads.matrix.sections import sections

    return sections(result)


def _rate(op: str) -> Figure:
    def of(run: Any) -> float | None:
        rate: float | None = run.rates.get(op)
        return rate

    return Figure(name=f"{op}_mb_per_s", title=f"MB/s {op}", of=of, headline=op == "read")


ABOUT = profile_about(
    name=NAME,
    report="R4",
    result=MatrixResult,
    point=MatrixPoint,
    figures=(
        *sorted((_rate(op) for op in OPS), key=lambda figure: not figure.headline),
        Figure(name="cache_ratio", title="reread ÷ read", of=lambda run: run.cache_ratio, headline=True,
               write=lambda value: f"{value:.2f}"),
        Figure(name="elapsed_s", title="elapsed", of=lambda run: run.elapsed_s, write=words.seconds, unit="s",
               aside=True),
    ),
    seen=MatrixSeen,
    run_of=run_of,
    sections=_sections,
    ceilings=tuple(f"{op}_mb_per_s" for op in OPS),
    published=(
        Published(what="20 readers, records of 4k, files of 1 MB: 1.4 TB/hour", figure="read_mb_per_s", value=1.4e6 / 3600,
                  at={"threads": 20, "record": 4096, "file": 1 << 20},
                  remark="outside its matrix; 20 MB in all: its filer's cache"),
    ),
    notes={"cut": lambda run: ", ".join(run.cut) or "–"},
    telling=MatrixTelling,
    makers="threads",
)  # fmt: skip
