"""A package that all tests share, and copies of it to spoil."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from drawn import drawn_once as making_once
from drawn import one_drawn
from once import MakeOnce
from result_packages import package

__all__ = ["one_drawn"]


@pytest.fixture(scope="session")
def genuine(once: MakeOnce) -> Path:
    """For reading only."""
    (made,) = (once("result package", package) / "results").iterdir()
    return made


@pytest.fixture
def copied(genuine: Path, tmp_path: Path) -> Path:
    """One that may be spoiled."""
    return Path(shutil.copytree(genuine, tmp_path / "package"))


@pytest.fixture(scope="module")
def drawn_once() -> Iterator[None]:
    """For tests that check the same results again and again."""
    with making_once():
        yield
