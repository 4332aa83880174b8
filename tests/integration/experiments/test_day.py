"""A business day on real workers."""

import itertools
from pathlib import Path

from controller.jobs.source import prepare_source
from core.clock import SystemClock
from core.job_types import JobType
from core.records import JobOptions
from core.settings import Settings
from core.storage.layer import Storage
from experiments.package.check import check, finish
from experiments.study import conduct
from experiments.workloads.day import searched
from experiments.workloads.day.result import DayLoad
from experiments.workloads.day.schedule import STEPS, Listed, Schedule
from experiments.workloads.day.workload import Day, sources_of, steps_there
from experiments.workloads.discovery.run_point import Load
from experiments.workloads.discovery.site import Site


def test_matters_are_carried_to_their_export(tmp_path: Path) -> None:
    """The second arrives while the first is at work; every step ran with its share, here and in memory, and the package recomputes
    the score. The null baseline has the same jobs. A step that a schedule leaves out does not run."""
    for custodian in ("anna", "ben"):
        directory = tmp_path / "source" / custodian
        directory.mkdir(parents=True)
        for number in range(6):
            (directory / f"{number}.txt").write_text(f"agreement {number} of {custodian}\n" * 50)
    settings = Settings(storage=tmp_path / "storage", scratch=tmp_path / "scratch", filer="nas-1g", slots=2)
    source = prepare_source(Storage(), tmp_path / "source")
    sources, (steps, _) = sources_of(source), steps_there()
    load = Load(options=JobOptions(), shard=False, copies=False, cold=False, env={}, clock=SystemClock(),
                show=lambda _one, _at: None, say=lambda _line: None)  # fmt: skip
    every = dict.fromkeys(STEPS, 0.5)
    listed = (
        Listed(at=0.0, client="client 1", source="anna", shares=every),
        Listed(at=0.5, client="client 2", source="ben", shares={JobType.EXPORT: 0.5}),
    )
    schedule = Schedule(seconds=1.0, seed=2, clients=2, sources=tuple(sources), steps=steps, listed=listed)
    site = Site(settings, tmp_path / "source", {}, load.say)
    day = Day(settings, source, load, site, schedule=schedule, sources=sources, within=1e9)
    plan = searched([DayLoad(1, 1, 2, 0)], (2,), 1e9, repeats=1, seed=1)
    result, directory = conduct(day, plan, 1.0)
    finish(result, directory)
    (run,) = result.points[0].repeats
    for matter, wanted in enumerate((STEPS, (JobType.EXPORT,))):
        kinds = ["discovery", "search", *["tag"] * len(wanted), *(step for step in wanted if step in steps)]
        mine = [job for job in run.jobs if job.matter == matter]
        assert [job.type for job in mine] == kinds
        assert [job.matter for job in run.null if job.matter == matter] == [matter] * len(kinds)
        found = mine[0]
        assert (found.items, found.raw_bytes) == (6, found.bytes)
        assert all(after.due_s >= before.ended_s - 0.1 for before, after in itertools.pairwise(mine))
        assert all(job.calls_made for job in mine if job.type in set(JobType))
        assert all(1 <= job.items <= 6 for job in mine)
    assert run.storage_share is not None
    assert [score.carried for score in result.scores] == [2]
    assert check(directory).differences == ()
    assert not (tmp_path / "storage" / "experiments").exists()
