"""Self-check: what the makers of load reach on this host where no storage is: fio on null storage and in memory."""

from __future__ import annotations

from experiments.profiles.about import profile_about
from experiments.profiles.fio.output import FioSeen
from experiments.report import words
from experiments.workload import Figure
from experiments.workloads.self_check.result import NAME, CheckPoint, CheckResult, run_of
from experiments.workloads.self_check.run import SelfCheck
from experiments.workloads.self_check.telling import CheckTelling

PROFILE = SelfCheck

ABOUT = profile_about(
    name=NAME,
    report="",
    result=CheckResult,
    point=CheckPoint,
    figures=(
        Figure(name="iops", title="IOPS", of=lambda run: run.ios / run.elapsed_s, headline=True, write=words.count),
        Figure(name="mb_per_s", title="MB/s", of=lambda run: run.bytes / run.elapsed_s / 1e6, headline=True),
    ),
    seen=FioSeen,
    run_of=run_of,
    telling=CheckTelling,
    makers="threads",
)
