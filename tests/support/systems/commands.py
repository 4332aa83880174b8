"""The `edbench` command in processes forked from one that has loaded it: what it imports takes nearly two processor
seconds each time that an interpreter begins, on two slow cores, and the suite gives a hundred commands.

A forked command is a process of its own as any other: session, environment, directory, files, signals, exit status, and an
interpreter's whole end. What it starts (keeper, database servers) starts afresh, but for its crew (`forked_crew`). Limits: nothing
of it is seen in its /proc/PID/cmdline and environ, and modules are there that it would import late or never; so
`tests/unit/cli` and the documents' examples run the real one."""

import atexit
import functools
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from forked import Forked, Program, customised, spawner

from controller.cluster import embedded

_PROGRAM = Path(__file__).with_name("command_forker.py")
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}  # of numpy's library: this one forks


@dataclass
class Command:
    """A command that runs, with what tests ask of a subprocess.Popen."""

    words: Sequence[str]
    forked: Forked
    out: Path
    err: Path

    @property
    def args(self) -> Sequence[str]:
        return self.words

    @property
    def pid(self) -> int:
        return self.forked.pid

    @property
    def returncode(self) -> int | None:
        return self.forked.poll()

    def poll(self) -> int | None:
        return self.forked.poll()

    def wait(self, timeout: float) -> int:
        """Raises TimeoutExpired."""
        try:
            return self.forked.wait(timeout)
        except AssertionError:
            raise subprocess.TimeoutExpired(self.words, timeout, self.out.read_text(), self.err.read_text()) from None

    def first_line(self) -> str:
        """What it has printed first; once it has ended, whatever that is."""
        line, whole, _ = (self.out.read_text() if self.out.exists() else "").partition("\n")
        return line if whole else "nothing" if self.poll() is not None else ""

    def communicate(self, timeout: float = 600.0) -> tuple[str, str]:
        """What it said, once it has ended. Raises TimeoutExpired."""
        self.wait(timeout)
        return self.out.read_text(), self.err.read_text()

    def send_signal(self, number: int) -> None:
        self.forked.send_signal(number)

    def terminate(self) -> None:
        self.forked.terminate()

    def kill(self) -> None:
        self.forked.kill()


def forkable(env: Mapping[str, str]) -> bool:
    """Whether a command with these variables more than ours is the same when it is forked: not where they change how an
    interpreter begins."""
    ours = all(name == "PYTHONPATH" or name.startswith("EDBENCH_") for name in env)
    return ours and not customised(env)


def begin(words: Sequence[str], env: Mapping[str, str], cwd: Path) -> Command:
    """`edbench` with these words and this whole environment."""
    place = _place() / uuid.uuid4().hex
    place.mkdir()
    out, err = place / "out", place / "err"
    return Command(words, _forker().fork(words, env, out, errors=err, cwd=cwd), out, err)


def begin_worker(words: Sequence[str], env: Mapping[str, str], cwd: Path) -> Forked:
    """`python -m worker` with these words and this whole environment."""
    place = _place() / uuid.uuid4().hex
    place.mkdir()
    return _forker().fork(["-m", "worker", *words], env, place / "log", cwd=cwd)


@contextmanager
def forked_crews() -> Iterator[None]:
    """Clusters of this process have their queue managers and workers forked, too, while the block lasts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedded, "spawn", spawner(_forker(), embedded.spawn))
        yield


@functools.cache
def _place() -> Path:
    """Of what commands say, and how they ended."""
    place = Path(tempfile.mkdtemp(prefix="edbench-commands-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


@functools.cache
def _forker() -> Program:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EDBENCH_")}
    made = Program(_PROGRAM, kept | _ONE_THREAD, _place())
    atexit.register(made.close)
    return made
