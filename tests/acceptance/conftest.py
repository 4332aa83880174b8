"""Acceptance tests drive the `edbench` command as a user does: real processes, real servers, real files."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from installation import COMMAND_SECONDS, EDBENCH, Bench, until
from once import MakeOnce

from controller.databases import open_databases
from core.services import embedded_services
from core.settings import Settings


@pytest.fixture(scope="session")
def corpus(finished_corpus: Path) -> Path:
    """A reference corpus with every kind of fault in it, large enough to fill a disk and to be at it for seconds."""
    return finished_corpus


@pytest.fixture(scope="session")
def small(once: MakeOnce) -> Path:
    """The same with few bytes: a dozen tasks in each phase, in the middle of which a job can be held."""

    def make(directory: Path) -> None:
        line = [str(EDBENCH), "generate", str(directory), "--profile", "reference", "--scale", "0.0001", "--seed", "7"]
        subprocess.run(line, check=True, capture_output=True, timeout=COMMAND_SECONDS)

    return once("small corpus", make)


@pytest.fixture(scope="session")
def empty_scratch(once: MakeOnce) -> Path:
    """Of an installation whose database is made and holds no job: to make it takes longer than most jobs of tests."""

    def make(scratch: Path) -> None:
        with embedded_services(Settings(scratch=scratch), slots=1) as running:
            for database in open_databases(running):
                database.dispose()

    return once("empty scratch", make)


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
        for candidate in psutil.process_iter():
            try:
                if candidate.environ().get("EDBENCH_SCRATCH", "") == str(made.scratch):
                    candidate.send_signal(signal.SIGKILL)
            except psutil.Error:
                continue
        shutil.rmtree(home, ignore_errors=True)
