"""Analysis-replay: a recorded trace played by clients at once over one to all of the paths (report R5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.profiles.about import Published, profile_about
from experiments.report import words
from experiments.workload import Figure
from experiments.workloads.analysis_replay.profile import AnalysisReplay
from experiments.workloads.analysis_replay.result import (
    NAME,
    RATE,
    AnalysisPoint,
    AnalysisResult,
    AnalysisRun,
    AnalysisSeen,
    enough,
    lines,
    run_of,
)
from experiments.workloads.analysis_replay.telling import AnalysisTelling

if TYPE_CHECKING:
    from experiments.report.parts import Section

PROFILE = AnalysisReplay
_R5_CLIENTS = 64
_ALL = "all"


def _sections(result: AnalysisResult) -> list[Section]:
    from experiments.workloads.analysis_replay.sections import sections  # draws: matplotlib is slow to come

    return sections(result)


def _time(run: AnalysisRun, percent: int) -> float | None:
    whole = run.latency.get(_ALL)
    return None if whole is None else (whole.p50_us if percent == 50 else whole.p99_us)


def _enough_for_r5(result: AnalysisResult) -> float | None:
    """With as many clients as the report had, of the settings with the most calls a second."""
    of = [line for (clients, *_), line in lines(result.points).items() if clients == _R5_CLIENTS]
    if not of:
        return None
    best = max(of, key=lambda line: max(point.figures[RATE].median for point in line))
    return enough(best)


ABOUT = profile_about(
    name=NAME,
    report="R5",
    result=AnalysisResult,
    point=AnalysisPoint,
    seen=AnalysisSeen,
    run_of=run_of,
    figures=(
        Figure(name=RATE, title="calls/s", of=lambda run: run.calls / run.elapsed_s if run.elapsed_s else None, headline=True,
               write=words.figure),
        Figure(name="mb_per_s", title="MB/s", of=lambda run: run.bytes / run.elapsed_s / 1e6 if run.elapsed_s else None,
               write=words.figure),
        Figure(name="elapsed_s", title="elapsed", of=lambda run: run.elapsed_s, write=words.seconds, unit="s"),
        Figure(name="p50_us", title="p50", of=lambda run: _time(run, 50), write=words.microseconds, unit="µs"),
        Figure(name="p99_us", title="p99", of=lambda run: _time(run, 99), headline=True, write=words.microseconds, unit="µs"),
        Figure(name="paths", title="paths", of=lambda run: float(run.paths), write=words.count, aside=True),
    ),
    sections=_sections,
    ceilings=(RATE,),
    published=(
        Published(what="disks of a stripe, with 64 jobs, beyond which more did not help", figure="paths", value=8.0,
                  ours=_enough_for_r5, remark="3 or 4 were enough for what the jobs needed; ours are paths, not a stripe"),
    ),
    notes={"calls": lambda run: run.calls, "errors": lambda run: run.errors, "not_as_recorded": lambda run: run.differences,
           "data_sets": lambda run: run.data_sets, "trace": lambda run: run.trace_sha256[:12]},
    telling=AnalysisTelling,
    makers="clients",
)  # fmt: skip
