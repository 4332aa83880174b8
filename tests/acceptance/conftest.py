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


def _generated(tmp_path_factory: pytest.TempPathFactory, scale: str) -> Path:
    directory = tmp_path_factory.mktemp("corpus") / "c"
    line = [str(EDBENCH), "generate", str(directory), "--profile", "reference", "--scale", scale, "--seed", "7"]
    subprocess.run(line, check=True, capture_output=True, timeout=COMMAND_SECONDS)
    return directory


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reference corpus with every kind of fault in it, large enough to do something in the middle of a job."""
    return _generated(tmp_path_factory, "0.001")


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with an eighth of the bytes, for jobs that nobody disturbs."""
    return _generated(tmp_path_factory, "0.0001")


@pytest.fixture
def bench(corpus: Path) -> Iterator[Bench]:
    """An installation of this test's own, from a path with spaces; nothing may be left running afterwards."""
    home = Path(tempfile.mkdtemp(prefix="edbench acceptance "))
    home.chmod(0o711)
    made = Bench(home=home, corpus=corpus)
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
