"""Copies of the finished job's database to spoil."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from finished_job import Copy, Finished, copied


@pytest.fixture
def copy(finished: Finished, tmp_path: Path) -> Iterator[Copy]:
    """A copy of the finished job that may be spoiled."""
    with copied(finished, tmp_path) as made:
        yield made
