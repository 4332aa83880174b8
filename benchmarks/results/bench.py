"""Commands of `edbench` on a storage under test: its own scratch, what it printed kept, an end after so many seconds."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.bench_home import EDBENCH
from benchmarks.results.record import lighten
from benchmarks.results.sizes import Sizes
from benchmarks.results.storages import Place, Storage
from core.mounts import MountEntry
from storage_tests.devices import Direct, direct_on

_PATIENCE_S = 60.0  # that a command has to remove what it wrote
_TAKE_AWAY = ("umount", "--force")  # ends the connection of a FUSE client, also where it then says that it is busy


class NotOfThis(Exception):
    """A step that this kind of storage has no use for; why."""


class StepFailed(Exception):
    """A step that gave no figure; why, in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where steps are made."""

    storage: Storage
    place: Place
    mount: MountEntry | None  # that it lies on
    sizes: Sizes
    work: Path  # on local storage; goes afterwards
    state: Path  # of this storage; stays
    trace: Path
    corpus: Path  # where it was generated, on local storage
    until: float = math.inf  # monotonic: when the step under way is ended

    def environment(self, *, there: bool) -> dict[str, str]:
        """`there`: the storage root lies on the storage under test; else what is written beside lies elsewhere."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("EDBENCH_")}
        root = self.place.directory / "root" if there else self.work / "root"
        return (
            kept
            | dict(self.place.environment)
            | {"EDBENCH_STORAGE": str(root), "EDBENCH_SCRATCH": str(self.work / "scratch")}
        )

    def edbench(self, *arguments: str, there: bool = False) -> str:
        """The last line printed; raises StepFailed."""
        return self.run([str(EDBENCH), *arguments], self.environment(there=there)).rstrip().rpartition("\n")[2]

    def run(self, command: Sequence[str], environment: Mapping[str, str] | None = None, cwd: Path | None = None) -> str:
        """To its end, or to that of its step; what it printed. Raises StepFailed."""
        left = min(self.sizes.step_s, self.until - time.monotonic())
        return finished(command, max(1.0, left), environment, cwd)

    def keep(self, name: str, page: str) -> Path:
        """The package that the last line names, as this step's."""
        package = Path(page).parent
        if not (package / "MANIFEST.sha256").is_file():
            raise StepFailed(f"no package was made: {page[-200:]}")
        there = self.state / "packages" / name
        shutil.rmtree(there, ignore_errors=True)
        shutil.copytree(package, there, copy_function=shutil.copyfile)
        lighten(there)
        return there

    def empty(self, name: str) -> Path:
        """A directory on the storage with nothing in it."""
        path = self.place.directory / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    @property
    def source(self) -> Path:
        """The corpus on the storage under test; brought there when it is first asked for."""
        there = self.place.directory / "corpus"
        if not there.exists():
            shutil.copytree(self.corpus, there)
        return there

    @property
    def direct(self) -> bool:
        """Whether it takes O_DIRECT; one that is given is asked. Raises StorageFault."""
        if self.storage.kind == "given":
            return direct_on(self.place.directory) is not Direct.REFUSED
        return self.storage.direct

    @property
    def cache(self) -> tuple[str, ...]:
        """The servers' cache is this machine's memory: nobody needs to guess. Of a storage that is given somebody says."""
        if self.storage.cache:
            return ("--filer-cache", self.storage.cache)
        return ("--filer-cache", f"{psutil.virtual_memory().total}B") if self.storage.kind in ("filer", "s3") else ()


def finished(
    command: Sequence[str], most_s: float, environment: Mapping[str, str] | None = None, cwd: Path | None = None
) -> str:
    """What it printed on its standard output; raises StepFailed with its last words."""
    process = subprocess.Popen(
        command, env=environment, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
        start_new_session=True,
    )  # fmt: skip
    try:
        out, err = process.communicate(timeout=most_s)
    except subprocess.TimeoutExpired as late:
        _end(process)
        raise StepFailed(f"ended after {most_s:,.0f} s, the most that its step may take") from late
    except BaseException:
        _end(process)
        raise
    if process.returncode:
        words = [line for line in (err or out).splitlines() if line.strip()]
        said = next((line for line in reversed(words) if line.startswith("edbench: ")), words[-1] if words else "")
        raise StepFailed(said.removeprefix("edbench: ")[:300] or f"{command[0]} gave {process.returncode}")
    return out


@contextlib.contextmanager
def given_up(bench: Bench) -> Iterator[None]:
    """A storage of ours that answers nobody is taken away by force: no signal ends whoever waits for it, ourselves included.
    One that is given is not ours to take away: others may be at work on it."""
    if bench.storage.kind == "given":
        yield
        return
    wait = bench.sizes.step_s + 3 * _PATIENCE_S
    timer = threading.Timer(wait, subprocess.run, ((*_TAKE_AWAY, str(bench.place.directory)),), {"check": False})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _end(process: subprocess.Popen[str]) -> None:
    """As Ctrl-C would, then by force: all of its own session."""
    process.send_signal(signal.SIGINT)
    until = time.monotonic() + _PATIENCE_S
    while process.poll() is None and time.monotonic() < until:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=1.0)
    with contextlib.suppress(ProcessLookupError):  # it may have ended, and what it started goes on
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):  # one that waits for dead storage cannot be killed
        process.communicate(timeout=_PATIENCE_S)
