"""Acceptance tests drive the `edbench` command as a user does: real processes, real servers, real files."""

from pathlib import Path

import pytest
from drawn import drawn_once
from installation import attached, bench

__all__ = ["attached", "bench", "drawn_once"]


@pytest.fixture(scope="session")
def corpus(finished_corpus: Path) -> Path:
    """A reference corpus with every kind of fault in it, large enough to fill a disk and to be at it for seconds."""
    return finished_corpus


@pytest.fixture(scope="session")
def small(small_corpus: Path) -> Path:
    """The same with few bytes."""
    return small_corpus


@pytest.fixture(scope="session")
def tiny(tiny_corpus: Path) -> Path:
    """And with fewer still, for whole campaigns."""
    return tiny_corpus
