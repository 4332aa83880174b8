"""Runs profile `setup-effort`: this project is set up from its source below a path, with an empty home, to its first result."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

import core
from core.errors import StorageFault, UsageError
from core.roles import has_login, has_password
from experiments.kinds.cases import Cases
from experiments.kinds.kind import Kind
from experiments.profiles.profile import Arena, Profile, ProfileSettings, Room
from experiments.workload import Turn
from experiments.workloads.setup_effort.result import EMPTY, SetupLoad, SetupSeen, SetupTask
from experiments.workloads.setup_effort.stepping import Order, steps
from experiments.workloads.setup_effort.tasks import PACKAGES, Task, place_of, tasks
from monitoring.processes import processors

_RAW = 45e9  # bytes of the reference corpus at scale 1
_INSTALLED = 3_000_000_000  # with pip's and uv's caches beside
_FILES = 80_000
_SECONDS = 240.0
# Of the caller's own installation; what says where packages come from (pip's and uv's index, certificates, proxies) stays.
_NOT_HANDED = ("EDBENCH_", "PYTHON", "VIRTUAL_ENV", "XDG_", "PIP_CACHE_DIR", "UV_CACHE_DIR", "MAKE", "MFLAGS", "GIT_")


class SetupSettings(ProfileSettings):
    """Of profile `setup-effort`."""

    source: Annotated[
        str, Field(description="URL or directory to clone; empty: the clone that this command runs from")
    ] = ""
    scale: Annotated[float, Field(gt=0, le=1, description="scale of the corpus; make demo uses 0.002, 90 MB")] = 0.002
    seed: Annotated[int, Field(description="of the corpus")] = 7


class SetupEffort(Profile[SetupSettings]):
    """The project is what is tested, and the path is where it is put."""

    name: ClassVar[str] = "setup-effort"
    report: ClassVar[str] = "R2"
    does: ClassVar[str] = (
        "Sets this project up from a fresh clone with an empty home, with the commands that a user types; counts steps and seconds"
        " of each task up to the first result, and after it."
    )
    writes: ClassVar[str] = (
        "A clone, its .venv with pip's and uv's caches, a corpus and a job's files; removed after each run."
    )
    needs: ClassVar[str] = (
        "git, make, Python with venv; the package index, or packages where pip is configured to find them."
    )
    settings_type: ClassVar[type[ProfileSettings]] = SetupSettings
    small: ClassVar[Mapping[str, Any]] = {"scale": 0.0005}
    no_pair = "a set-up has no load that memory could answer"

    @property
    def _source(self) -> str:
        return self.settings.source or str(Path(core.__file__).parents[1])

    def check(self) -> None:
        """Raises UsageError."""
        for program in PACKAGES:
            if shutil.which(program) is None:
                raise UsageError(f"there is no {program} on this machine: apt install python3 python3-venv make git")
        if not self.settings.source and not (Path(self._source) / ".git").exists():
            raise UsageError("this does not run from a clone: give what to clone with --set source=URL")
        if has_password(self._source) or (has_login(self._source) and self._source.startswith("http")):
            raise UsageError(
                "source: the URL must not contain a login, because it is written to the result; clone it, and give the clone"
            )

    def kind(self, repeats: int, seed: int) -> Kind:
        """One point."""
        return Cases("start", [SetupLoad(EMPTY)], repeats=repeats, seed=seed)

    def room(self) -> Room:
        """About as much as it took here."""
        return Room(bytes=_INSTALLED + round(5 * self.settings.scale * _RAW), files=_FILES, seconds=_SECONDS)

    def touched(self) -> int:
        """No storage is under test."""
        return 0

    def observe(self, turn: Turn, arena: Arena) -> SetupSeen:
        """One set-up, all tasks. Raises RunFailed in the words of a command that failed, StorageFault."""
        root = arena.paths[0] / turn.name.replace("/", "-")
        every = tasks(self._source, self.settings.scale, self.settings.seed)
        run = [task for task in every if task.runs is not None]
        order = Order(
            commands=tuple((str(root / place_of(task)), task.runs or ()) for task in run),
            env=environment(root / "home"),
            log=str(root / "output.txt"),
        )
        try:
            (root / "home").mkdir(parents=True)
            started = time.time()
            told, size, commit = self._done(run, order, root, arena)
            shutil.rmtree(root)
        except OSError as error:
            raise StorageFault(f"{error.filename}: {error.strerror}", errno=error.errno or 0) from error
        waiting = iter(told)
        rows = tuple(_told(task, None, None) if task.runs is None else next(waiting) for task in every)
        elapsed = sum(row.seconds or 0.0 for row in rows if row.to_result)
        cpu = sum(row.cpu_s or 0.0 for row in rows if row.to_result)
        return SetupSeen(
            repeat=turn.repeat, order=turn.order, started_at=started, elapsed_s=elapsed,
            worker_cpu=cpu / (elapsed * processors()), tasks=rows, source=self._source, commit=commit,
            versions={name: _said([name, "--version"], arena.paths[0]) for name in PACKAGES}, installed_bytes=size,
        )  # fmt: skip

    def _done(self, run: Sequence[Task], order: Order, root: Path, arena: Arena) -> tuple[list[SetupTask], int, str]:
        """What each took; bytes of .venv and the commit, looked at while they are there."""
        told, size, commit = list[SetupTask](), 0, ""
        arena.tell(run[0].name)
        with contextlib.closing(steps(order)) as stepped:
            for task, done, following in zip(run, stepped, [*run[1:], run[-1]], strict=True):
                told.append(_told(task, done.seconds, done.cpu_s))
                if task.runs == ("make", "setup"):
                    clone = root / place_of(task)
                    size, commit = _installed(clone), _said(["git", "rev-parse", "HEAD"], clone)
                arena.tell(following.name)
        return told, size, commit


def environment(home: Path) -> dict[str, str]:
    """The caller's without what is its own installation's; HOME is empty."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_HANDED)}
    own = str(Path(core.__file__).parents[1] / ".venv" / "bin")
    path = [part for part in kept.get("PATH", os.defpath).split(os.pathsep) if part != own]
    return kept | {"HOME": str(home), "PATH": os.pathsep.join(path)}


def _told(task: Task, seconds: float | None, cpu_s: float | None) -> SetupTask:
    return SetupTask(name=task.name, typed=task.typed, seconds=seconds, cpu_s=cpu_s, to_result=task.to_result)


def _installed(clone: Path) -> int:
    return sum(
        os.lstat(os.path.join(place, name)).st_size for place, _, names in os.walk(clone / ".venv") for name in names
    )


def _said(command: list[str], where: Path) -> str:
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
    return (done.stdout.strip().splitlines() or [""])[0]
