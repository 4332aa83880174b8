"""Stream: files read from end to end by so many streams at once, as totals over time (report R4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.profiles.about import Published, profile_about
from experiments.profiles.fio.output import FioSeen
from experiments.report import words
from experiments.workload import Figure
from experiments.workloads.stream.result import NAME, StreamPoint, StreamResult, run_of
from experiments.workloads.stream.run import Stream
from experiments.workloads.stream.telling import StreamTelling

if TYPE_CHECKING:
    from experiments.report.parts import Section

PROFILE = Stream


def _sections(result: StreamResult) -> list[Section]:
    from experiments.workloads.stream.sections import sections

    return sections(result)


def _published(tier: str, seconds: float, nbytes: float, shown: float) -> Published:
    return Published(
        what=f"{tier} tier, {words.size(nbytes)} in {seconds:.0f} s",
        figure="mb_per_s",
        value=nbytes / seconds / 1e6,
        at={"tier": 1 if tier == "fast" else 2, "streams": 1},
        settings={"file_size": 2_000_000_000},  # the default: a smaller file is read out of caches
        remark=f"the meter showed {shown:.0f} MB/s",
    )


def _highest(run: Any) -> float | None:
    return run.highest_second / 1e6 if run.highest_second else None


ABOUT = profile_about(
    name=NAME,
    report="R4",
    result=StreamResult,
    point=StreamPoint,
    figures=(
        Figure(name="mb_per_s", title="MB/s", of=lambda run: run.bytes / run.elapsed_s / 1e6, headline=True),
        Figure(name="gb_per_hour", title="GB/hour", of=lambda run: run.bytes / run.elapsed_s * 3.6e-6),
        Figure(name="elapsed_s", title="elapsed", of=lambda run: run.elapsed_s, write=words.seconds, unit="s"),
        Figure(name="highest_mb_per_s", title="highest second, MB/s", of=_highest),
    ),
    seen=FioSeen,
    run_of=run_of,
    sections=_sections,
    ceilings=("mb_per_s",),
    published=(_published("fast", 44, 2e9, 253), _published("slow", 70, 2.43e9, 116)),
    notes={"bytes": lambda run: run.bytes},
    telling=StreamTelling,
    makers="streams",
)
