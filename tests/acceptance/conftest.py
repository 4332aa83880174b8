"""Acceptance tests drive the `edbench` command as a user does: real processes, real servers, real files."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from drawn import drawn_once
from installation import Bench, until


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


@pytest.fixture(scope="module", autouse=True)
def _drawn_once() -> Iterator[None]:
    """Commands under test draw their own reports; for checks that are asked for in this process each is drawn once."""
    with drawn_once():
        yield


@pytest.fixture
def bench(small: Path, empty_scratch: Path) -> Iterator[Bench]:
    """An installation of this test's own, from a path with spaces; nothing may be left running afterwards."""
    home = Path(tempfile.mkdtemp(prefix="edbench acceptance "))
    home.chmod(0o711)
    made = Bench(home=home, corpus=small, furniture=empty_scratch)
    try:
        yield made
        until(lambda: not made.leftovers(), f"nothing left running: {made.leftovers()}")
    finally:
        for command in made.begun:
            command.kill()
        for candidate in psutil.process_iter():
            try:
                if candidate.environ().get("EDBENCH_SCRATCH", "") == str(made.scratch):
                    candidate.send_signal(signal.SIGKILL)
            except psutil.Error:
                continue
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def attached(bench: Bench) -> Iterator[None]:
    """Its services stay up for the whole test, and are not started anew by each command."""
    with bench.attached():
        yield
