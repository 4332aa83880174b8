"""Block, 8 KB: the six IOMeter cases of report R2 through fio."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from experiments.profiles.about import Published, profile_about
from experiments.profiles.fio.output import FioSeen
from experiments.report import words
from experiments.workload import Figure
from experiments.workloads.block_8k.result import NAME, BlockPoint, BlockResult, BlockRun, run_of
from experiments.workloads.block_8k.run import Block
from experiments.workloads.block_8k.telling import BlockTelling, bounded

if TYPE_CHECKING:
    from experiments.report.parts import Section

PROFILE = Block
_SETTINGS = {"block": 8192, "read_percent": 60, "direct": True}
_RUN, _LONG = _SETTINGS | {"seconds": 120}, _SETTINGS | {"long_seconds": 3600}


def _sections(result: BlockResult) -> list[Section]:
    from experiments.workloads.block_8k.sections import sections

    return sections(result)


def _published(
    case: int, value: float, what: str, remark: str, load: Mapping[str, int], figure: str = "iops"
) -> Published:
    said = f"case {case}: {what}"
    return Published(
        what=said,
        figure=figure,
        value=value,
        at={"case": case, **load},
        settings=_LONG if case == 2 else _RUN,
        remark=remark,
    )


def _within(result: BlockResult) -> float | None:
    best = bounded(result.points, result.conditions["configuration"]["settings"]["most_ms"])
    return None if best is None else best.figures["iops"].median


def _p99(way: str) -> Figure:
    def of(run: BlockRun) -> float | None:
        return run.latency[way].p99_us if way in run.latency else None

    return Figure(name=f"{way}_p99_us", title=f"{way} p99", write=words.microseconds, unit="µs", of=of)


_MEMBERS = "5 members of 16 disks; 2 hosts"
_ONE = {"volumes": 1, "outstanding": 256}
_FOUR = {"volumes": 4, "outstanding": 128, "members": 5}
PUBLISHED = (
    _published(1, 12_035, "1 volume, 256 outstanding", "3 members of 16 disks, one host, 1 GbE", _ONE),
    _published(1, 21_270, "its mean response time", "", _ONE, "mean_us"),
    _published(2, 12_043, "the same for 60 minutes", "flat in samples of 10 s", _ONE),
    _published(3, 22_683, "4 volumes x 128, RAID-10", _MEMBERS, _FOUR),
    _published(4, 18_559, "4 volumes x 128, RAID-50", f"{_MEMBERS}; here the storage's own layout", _FOUR),
    _published(5, 23_053, "32 volumes x 32, RAID-10", _MEMBERS, {"volumes": 32, "outstanding": 32, "members": 5}),
    Published(what="case 6: 4 volumes, mean response at most 10 ms", figure="iops", value=20_342, ours=_within,
              settings=_RUN | {"most_ms": 10.0}, remark="51 outstanding on each, at 10.02 ms; 20,354 in its summary"),
)  # fmt: skip

ABOUT = profile_about(
    name=NAME,
    report="R2",
    result=BlockResult,
    point=BlockPoint,
    figures=(
        Figure(name="iops", title="IOPS", of=lambda run: run.ios / run.elapsed_s, headline=True, write=words.count),
        Figure(name="mean_us", title="mean", of=lambda run: run.mean_us, headline=True, write=words.microseconds, unit="µs"),
        Figure(name="mb_per_s", title="MB/s", of=lambda run: run.bytes / run.elapsed_s / 1e6),
        _p99("read"),
        _p99("write"),
    ),
    seen=FioSeen,
    run_of=run_of,
    sections=_sections,
    ceilings=("iops",),
    published=PUBLISHED,
    notes={"ios": lambda run: run.ios},
    telling=BlockTelling,
    makers="generators",
)  # fmt: skip
