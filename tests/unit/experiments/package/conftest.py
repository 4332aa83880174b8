"""A package that all tests share, and copies of it to spoil."""

import shutil
from pathlib import Path

import pytest
from once import MakeOnce
from result_packages import package


@pytest.fixture(scope="session")
def genuine(once: MakeOnce) -> Path:
    """For reading only."""
    (made,) = (once("result package", package) / "results").iterdir()
    return made


@pytest.fixture
def copied(genuine: Path, tmp_path: Path) -> Path:
    """One that may be spoiled."""
    return Path(shutil.copytree(genuine, tmp_path / "package"))
