"""Storage that does not answer: it is said within seconds, it is waited for, and Ctrl-C ends the waiting."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from cli.output import await_answer

REPOSITORY = Path(__file__).parents[3]
# The opening of a FIFO that nobody writes to waits as a call to a dead server does.
_COMMAND = """
import sys
from pathlib import Path
from cli.output import await_answer
await_answer(Path(sys.argv[1]), waits="job 1 is suspended; ", look=lambda path: open(path), patience=0.05)
print("went on")
"""


def _command(fifo: Path) -> subprocess.Popen[str]:
    """A command that looks at it; it has said that there is no answer."""
    started = subprocess.Popen(
        [sys.executable, "-c", _COMMAND, str(fifo)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stderr is not None
    assert started.stderr.readline() == (
        f"edbench: job 1 is suspended; the storage at {fifo} has not answered for 0.05 s: is its server up?"
        " Waiting for it; Ctrl-C ends this\n"
    )
    return started


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


def test_a_silent_storage_is_said_and_waited_for(fifo: Path) -> None:
    command = _command(fifo)
    with fifo.open("w"):  # whoever looks is answered
        out, err = command.communicate(timeout=60)
    assert (out, err) == ("went on\n", f"edbench: the storage at {fifo} answers\n")
    assert command.returncode == 0


def test_ctrl_c_ends_the_waiting(fifo: Path) -> None:
    """The command and its pipes, though the look still waits: whoever reads from it comes to the end."""
    command = _command(fifo)
    command.send_signal(signal.SIGINT)
    out, err = command.communicate(timeout=60)
    assert out == ""
    assert err.rstrip().endswith("KeyboardInterrupt")
    os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))  # refused where nobody looks any more; now that goes, too


def test_storage_that_answers_is_not_spoken_of(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    await_answer(tmp_path, tmp_path / "none", patience=60.0)
    assert capfd.readouterr().err == ""
    assert not [child for child in psutil.Process().children() if child.status() == psutil.STATUS_ZOMBIE]
