"""What is observed of a set-up, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from experiments.profiles.result import Observed, ProfileRun, common
from experiments.result.schema import At, Point, Result

NAME = "setup-effort"
EMPTY = "an empty home"


@dataclass(frozen=True, slots=True)
class SetupLoad(At):
    """What it starts from."""

    start: str

    def on(self, axis: str) -> str:
        """As it is called."""
        return str(self.values()[axis])


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupTask:
    """One row of the table."""

    name: str
    typed: tuple[str, ...]  # each is a step
    seconds: float | None  # None: not run
    cpu_s: float | None
    to_result: bool  # up to the first result


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupSeen(Observed):
    """One set-up."""

    tasks: tuple[SetupTask, ...]
    source: str
    commit: str
    versions: dict[str, str]  # of what has to be there before
    installed_bytes: int  # of .venv, by its files' sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupRun(ProfileRun):
    """One set-up. `elapsed_s`: of the tasks up to the first result."""

    tasks: tuple[SetupTask, ...]
    source: str
    commit: str
    versions: dict[str, str]
    installed_bytes: int

    def steps(self, which: Callable[[SetupTask], bool] = lambda _task: True) -> int:
        """Of those tasks."""
        return sum(len(task.typed) for task in self.tasks if which(task))

    @property
    def all_s(self) -> float:
        """Of all tasks."""
        return sum(task.seconds or 0.0 for task in self.tasks)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupPoint(Point):
    """All repeats."""

    at: SetupLoad
    repeats: tuple[SetupRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupResult(Result):
    """An experiment with set-ups."""

    points: tuple[SetupPoint, ...]


def run_of(seen: SetupSeen) -> SetupRun:
    """Every figure of it."""
    return SetupRun(
        **common(seen),
        latency={},
        tasks=seen.tasks,
        source=seen.source,
        commit=seen.commit,
        versions=seen.versions,
        installed_bytes=seen.installed_bytes,
    )
