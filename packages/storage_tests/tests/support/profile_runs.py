"""Profiles carried out as the command does, without its printing; and fio, which some of them need."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from core.clock import SystemClock
from core.settings import Settings
from experiments.package.check import check, finish
from experiments.result.schema import Result
from experiments.study import conduct
from storage_tests.fio import MISSING
from storage_tests.profile import Targets, made
from storage_tests.study import ProfileStudy, Running


def need_fio() -> None:
    """Skips without it on a laptop, fails in CI."""
    if shutil.which("fio") is not None:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(MISSING)
    pytest.skip(MISSING)


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
