"""What a worker refuses before it starts."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("arguments", [("--idle",), ("--alone", "--workers", "2")], ids=" ".join)
def test_a_worker_without_services_ends_with_one_line(arguments: tuple[str, ...]) -> None:
    """In a process of its own: one that starts its workers again for ever is ended by the time-out."""
    command = [sys.executable, "-m", "worker", *arguments]
    ended = subprocess.run(command, env={}, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1), ended.stderr
    assert ended.stderr.startswith("edbench: a worker needs EDBENCH_DATABASES and EDBENCH_BROKER; ")
