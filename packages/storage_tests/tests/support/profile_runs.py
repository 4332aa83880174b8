"""Profiles carried out as the command does, without its printing."""

from pathlib import Path

from core.clock import SystemClock
from core.settings import Settings
from experiments.package.check import check, finish
from experiments.result.schema import Result
from experiments.study import conduct
from storage_tests.profile import Targets, made
from storage_tests.study import ProfileStudy, Running


def carried_out(name: str, targets: Targets, given: list[str], place: Path, filer: str = "none") -> tuple[Result, Path]:
    """At its small setting, with its report and package, which checks; nothing is left on the paths."""
    settings = Settings(storage=place / "storage", scratch=place / "scratch", filer=filer)
    profile = made(name, targets, given, small=True)
    profile.check()
    study = ProfileStudy(profile, settings, Running(clock=SystemClock()))
    result, directory = conduct(study, profile.plan(1, seed=1))
    finish(result, directory)
    assert check(directory).differences == ()
    assert [list(path.iterdir()) for path in targets.paths] == [[]] * len(targets.paths)
    return result, directory
