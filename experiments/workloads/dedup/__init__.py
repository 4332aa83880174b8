"""Dedup: data of each type, what deduplication can make of them, and what the storage makes of them (report R5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from experiments.profiles.about import Published, profile_about
from experiments.report import words
from experiments.workload import Figure
from experiments.workloads.dedup.profile import Dedup
from experiments.workloads.dedup.result import NAME, DedupPoint, DedupResult, DedupRun, DedupSeen, run_of
from experiments.workloads.dedup.telling import CDC, DedupTelling, ratio_text

if TYPE_CHECKING:
    from experiments.report.parts import Section

PROFILE = Dedup


def _sections(result: DedupResult) -> list[Section]:
    from experiments.workloads.dedup.sections import sections  # draws: matplotlib is slow to come

    return sections(result)


def _expected(cut: str, *, aside: bool = True) -> Figure:
    def of(run: DedupRun) -> float | None:
        one = run.cut(cut)
        return None if one is None else one.ratio

    return _ratio(f"expected_{cut.lower()}", f"expected {cut}", of, aside=aside)


def _ratio(
    name: str, title: str, of: Callable[[DedupRun], float | None], *, headline: bool = False, aside: bool = False
) -> Figure:
    return Figure(
        name=name,
        title=title,
        of=of,
        headline=headline,
        write=ratio_text,
        unit="ratio",
        missing="not known",
        aside=aside,
    )


def _compressed(run: DedupRun) -> float | None:
    one = run.cut("CDC")
    return None if one is None else one.with_compression


def _published(data: str, what: str, value: float, remark: str = "") -> Published:
    return Published(what=what, figure="ratio", value=value, at={"data": data, "volume": "volume 1"}, remark=remark)


ABOUT = profile_about(
    name=NAME,
    report="R5",
    result=DedupResult,
    point=DedupPoint,
    seen=DedupSeen,
    run_of=run_of,
    figures=(
        Figure(name="mb_per_s", title="MB/s", of=lambda run: run.bytes / run.elapsed_s / 1e6, headline=True,
               write=words.figure),
        _ratio("ratio", "by the storage", lambda run: run.ratio, headline=True),
        _expected("4K"),
        _expected("8K"),
        _expected("128K"),
        _expected("CDC", aside=False),
        _ratio(f"{CDC}_compressed", "CDC, compressed", _compressed, aside=True),
        Figure(name="elapsed_s", title="elapsed", of=lambda run: run.elapsed_s, write=words.seconds, unit="s"),
        Figure(name="host_busy", title="CPU busy", of=lambda run: run.host_busy, write=words.percent, aside=True),
        Figure(name="load1", title="load", of=lambda run: run.load1, write=words.figure, aside=True),
    ),
    sections=_sections,
    ceilings=("mb_per_s",),
    published=(
        _published("zeros", "zeros, 1 GB files, 3.8 TB", 1045.0),
        _published("random", "random, 1 GB files, 3.8 TB", 1.08),
        _published("scientific", "physics data sets, 4 TB", 1.07, "ours are generated, and compressible like such files"),
        _published("backups", "backups, several full and incremental, 2.8 TB", 2.8, "ours: four weeks, a full one each"),
        _published("snapshots", "daily snapshots of virtual machines, 7 x 115 GB", 11.7, "ours are of servers that hardly work"),
    ),
    notes={"files": lambda run: run.files, "bytes": lambda run: run.bytes},
    telling=DedupTelling,
    makers="writers",
)  # fmt: skip
