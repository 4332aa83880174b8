"""Copies of the finished job, which findings may be written to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from finished_job import Copy, Finished, copied


@pytest.fixture
def copy(finished: Finished, tmp_path: Path) -> Iterator[Copy]:
    """A copy of the finished job of one test's own."""
    with copied(finished, tmp_path) as made:
        yield made
