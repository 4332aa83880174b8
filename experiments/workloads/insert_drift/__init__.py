"""Insertion: small files or objects added in groups until there are many; does it become slower? (report R3)"""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.clients.telling import ClientsTelling
from experiments.profiles.about import Published, profile_about
from experiments.report import words
from experiments.workload import Figure
from experiments.workloads.insert_drift.profile import InsertDrift
from experiments.workloads.insert_drift.result import InsertPoint, InsertResult, InsertRun, InsertSeen, run_of

if TYPE_CHECKING:
    from experiments.report.parts import Section


def _sections(result: InsertResult) -> list[Section]:
    from experiments.workloads.insert_drift.sections import sections  # draws: matplotlib is slow to come

    return sections(result)


def _signed(value: float) -> str:
    return f"{value:+.1%}".replace("%", " %").replace("-", "\u2212")


def _whole_us(run: InsertRun, percent: int) -> float | None:
    whole = run.latency.get("whole write")
    return None if whole is None else (whole.p50_us if percent == 50 else whole.p99_us)


ABOUT = profile_about(
    name="insert-drift",
    report="R3",
    result=InsertResult,
    point=InsertPoint,
    seen=InsertSeen,
    run_of=run_of,
    figures=(
        Figure(name="files_per_s", title="files/s", of=lambda run: run.files_per_s, headline=True, write=words.figure),
        Figure(name="p50_us", title="p50", of=lambda run: _whole_us(run, 50), write=words.microseconds, unit="µs"),
        Figure(name="p99_us", title="p99", of=lambda run: _whole_us(run, 99), headline=True, write=words.microseconds,
               unit="µs"),
        Figure(name="rate_trend", title="rate trend", of=lambda run: run.rate_drift and run.rate_drift.trend,
               write=_signed, missing="too few groups"),
        Figure(name="rate_change", title="rate change", of=lambda run: run.rate_drift and run.rate_drift.change,
               write=_signed, missing="too few groups"),
        Figure(name="refused", title="refused", of=lambda run: float(run.refused), write=words.count),
        Figure(name="failed", title="failed", of=lambda run: float(run.failed), write=words.count),
        Figure(name="bytes_a_file", title="space a file", of=lambda run: run.bytes_a_file, write=words.size, unit="bytes",
               missing="not known"),
        Figure(name="inodes_a_file", title="inodes a file", of=lambda run: run.inodes_a_file, write=words.figure,
               missing="not known"),
    ),
    sections=_sections,
    telling=ClientsTelling,
    ceilings=("files_per_s",),
    published=(
        Published(what="small files one after another, 2.26 million in groups of 5,000, through a small VM",
                  figure="files_per_s", value=5.0, at={"clients": 1}, settings={"group": 5_000},
                  remark="flat; sizes are not given"),
        Published(what="1 KB objects by more than 30 threads, native interface", figure="files_per_s", value=10.0,
                  at={"clients": 32}, settings={"size": 1024}),
    ),
    notes={"late_s": lambda run: run.late_s},
)  # fmt: skip

PROFILE = InsertDrift
