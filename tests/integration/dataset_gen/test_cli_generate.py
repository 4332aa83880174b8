"""`edbench corpus generate` as a person runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from installation import COMMAND_SECONDS, until


def _edbench(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.run(
        [sys.executable, "-m", "cli", "corpus", "generate", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )


def test_generate_writes_a_corpus_and_says_what(tmp_path: Path) -> None:
    directory = tmp_path / "a corpus"
    done = _edbench(str(directory), "--scale", "0.0001", "--seed", "3", "--processes", "2")
    assert done.returncode == 0, done.stderr
    assert "items per raw GB" in done.stdout
    assert "hash " in done.stdout
    assert {f.name for f in directory.iterdir()} == {"data", "dataset.json", "manifest.parquet", "system-files.csv"}


def test_an_interrupted_command_can_be_given_again(tmp_path: Path) -> None:
    """SIGTERM, as Ctrl-C: exit status 130, one line that says how to go on, no corpus half there, and no process left, whose
    standard error would be open still. That it goes on is in test_dataset_gen_corpus."""
    directory = tmp_path / "c"
    arguments = [
        sys.executable,
        "-m",
        "cli",
        "corpus",
        "generate",
        str(directory),
        "--scale",
        "0.01",
        "--processes",
        "2",
    ]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    command = subprocess.Popen(arguments, env=environment, stderr=subprocess.PIPE, text=True)
    written = directory / ".edbench-generate" / "data"
    until(lambda: any(names for _, _, names in os.walk(written)), "something is written")
    command.send_signal(signal.SIGTERM)
    _, said = command.communicate(timeout=COMMAND_SECONDS)
    assert command.returncode == 130
    assert "Traceback" not in said
    assert said.strip().splitlines()[-1].startswith("edbench: interrupted: ")
    assert "run the same command to continue" in said.strip().splitlines()[-1]
    assert [f.name for f in directory.iterdir()] == [".edbench-generate"]


def test_bad_requests_are_usage_errors(tmp_path: Path) -> None:
    for arguments in ([str(tmp_path / "c"), "--scale", "0.0000001"], [str(tmp_path / "c"), "--profile", "nope"]):
        done = _edbench(*arguments)
        assert done.returncode == 2
        assert len(done.stderr.strip().splitlines()) == 1
        assert "Traceback" not in done.stderr
