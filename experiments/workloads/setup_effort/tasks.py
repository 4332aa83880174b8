"""What a person types from a bare machine to the first result, as the README has it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

PACKAGES = ("python3", "make", "git")  # programs of the system packages that the README names
_CLONE = "edbench"
_EDBENCH = ".venv/bin/edbench"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One row of the table."""

    name: str
    typed: tuple[str, ...]  # each is a step
    runs: tuple[str, ...] | None = None  # the command of it that takes time; None: nothing is run here
    inside: bool = True  # in the clone; else beside it
    to_result: bool = True  # up to the first result


def tasks(source: str, scale: float, seed: int) -> Sequence[Task]:
    """In the order in which they are done."""
    generate = (
        _EDBENCH,
        "corpus",
        "generate",
        "corpus",
        "--profile",
        "reference",
        "--scale",
        f"{scale:g}",
        "--seed",
        str(seed),
    )
    discover = (_EDBENCH, "discover", "corpus", "--workers", "2")
    verify = (_EDBENCH, "verify", "last")
    report = (_EDBENCH, "bench", "scale-up", "--corpus", "corpus", "--workers", "2", "--repeats", "1")
    remove = (_EDBENCH, "job", "delete", "last")
    clone = ("git", "clone", "--quiet", source, _CLONE)
    return (
        Task(name="packages of the system", typed=("apt install python3 python3-venv make git",)),
        Task(name="the source", typed=(shlex.join(clone), f"cd {_CLONE}"), runs=clone, inside=False),
        Task(name="everything it needs", typed=("make setup",), runs=("make", "setup")),
        Task(name="data", typed=(shlex.join(generate),), runs=generate),
        Task(name="a job", typed=(shlex.join(discover),), runs=discover),
        Task(name="its proof", typed=(shlex.join(verify),), runs=verify),
        Task(name="an experiment with its report", typed=(shlex.join(report),), runs=report, to_result=False),
        Task(name="the job and its files deleted", typed=(shlex.join(remove),), runs=remove, to_result=False),
        Task(name="what was installed removed", typed=("make clean",), runs=("make", "clean"), to_result=False),
    )


def place_of(task: Task) -> str:
    """Where it is typed, below the directory of the run."""
    return _CLONE if task.inside else "."
