"""The finished job, and copies of its database to spoil."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from finished_job import Copy, Finished, copied

from controller.databases import JobHandle, find_job, open_databases


@pytest.fixture
def handle(finished: Finished) -> Iterator[JobHandle]:
    """The finished job; for reading only."""
    databases = open_databases(finished.settings)
    try:
        yield find_job(databases, str(finished.job))
    finally:
        for database in databases:
            database.dispose()


@pytest.fixture
def copy(finished: Finished, tmp_path: Path) -> Iterator[Copy]:
    """A copy of the finished job that may be spoiled."""
    with copied(finished, tmp_path) as made:
        yield made
