"""A plugin that holds a job in the middle of a phase until the test lets it go (`installation.Hold`).

`hold/expand` beside the scratch directory holds a number: once so many tasks of that phase have begun, the next ones
wait at their beginning; `hold/expand.5.reached` then names the process of one of them, when the number is 5. They go
on when it grows or the file is gone. `hold/expand-end` does the same to those whose work is done and not yet written."""

import os
import time
from pathlib import Path

from core.records import Phase
from readers.base import Handler
from sql.findings import TaskResult
from worker import run_task
from worker.phases.task import TaskWork

HANDLERS: tuple[Handler, ...] = ()
_DIRECTORY = Path(os.path.abspath(os.environ.get("EDBENCH_SCRATCH", ".edbench"))).parent / "hold"


def _free(where: str) -> int | None:
    """How many may pass; None: all."""
    try:
        return int((_DIRECTORY / where).read_text())
    except FileNotFoundError:
        return None


def _wait(where: str) -> None:
    mine = 0
    while (free := _free(where)) is not None:
        while mine < free:
            try:
                os.close(os.open(_DIRECTORY / f"{where}.{mine}.begun", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                mine += 1
            else:
                return
        (_DIRECTORY / f"{where}.{free}.reached").write_text(str(os.getpid()))
        time.sleep(0.01)


def _hold(phase: Phase) -> None:
    body = run_task.BODIES[phase]

    def held(work: TaskWork) -> TaskResult:
        _wait(phase.value)
        result = body(work)
        _wait(f"{phase.value}-end")
        return result

    run_task.BODIES[phase] = held


for _phase in tuple(run_task.BODIES):
    _hold(_phase)
