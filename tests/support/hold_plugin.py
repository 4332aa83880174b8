"""A plugin that holds a job in the middle of a phase until the test lets it go (`installation.Hold`).

`hold/expand` beside the scratch directory holds a number: once so many tasks of that phase have begun, the next ones
wait at their beginning; `hold/expand.5.reached` then names the process of one of them, when the number is 5. They go
on when it grows or the file is gone.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from core.records import Phase, TaskResult
from worker import run_task
from worker.formats.base import Handler
from worker.task import TaskWork

HANDLERS: tuple[Handler, ...] = ()
_DIRECTORY = Path(os.path.abspath(os.environ.get("EDBENCH_SCRATCH", ".edbench"))).parent / "hold"


def _free(phase: Phase) -> int | None:
    """How many may begin; None: all."""
    try:
        return int((_DIRECTORY / phase.value).read_text())
    except FileNotFoundError:
        return None


def _wait(phase: Phase) -> None:
    mine = 0
    while (free := _free(phase)) is not None:
        while mine < free:
            try:
                os.close(os.open(_DIRECTORY / f"{phase.value}.{mine}.begun", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                mine += 1
            else:
                return
        (_DIRECTORY / f"{phase.value}.{free}.reached").write_text(str(os.getpid()))
        time.sleep(0.01)


def _hold(phase: Phase) -> None:
    body = run_task.BODIES[phase]

    def held(work: TaskWork) -> TaskResult:
        _wait(phase)
        return body(work)

    run_task.BODIES[phase] = held


for _phase in Phase:
    _hold(_phase)
