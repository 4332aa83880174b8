"""Runs fio (https://fio.readthedocs.io), tied to this process, and reads what it leaves.

All jobs are threads of one process, so that none outlives it; paths are reached by links in fio's directory, so that no
name of a path has to be written in fio's own syntax.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from core.errors import RunFailed, UsageError
from core.services.process import signal_group, tied
from experiments.profiles.fio.jobs import Job, job_file
from experiments.profiles.fio.output import Ran, ran

PROGRAM = "fio"
MISSING = "fio is not installed: apt install fio (dnf, zypper, apk: the same name)"
_JOBS, _OUTPUT, _ERRORS, _LOG = "jobs.fio", "output.json", "errors.txt", "run"
_LOOK_S = 0.1
_GRACE_S = 120.0  # beyond what the jobs should take, for laying out files and slow storage to finish


def refuse_without_fio() -> None:
    """Raises UsageError, saying how to get it."""
    if shutil.which(PROGRAM) is None:
        raise UsageError(MISSING)


def fio(
    jobs: Sequence[Job],
    paths: Sequence[Path],
    scratch: Path,
    tell: Callable[[str], None],
    *,
    expected_s: float | None = None,
) -> Ran:
    """Run the jobs on these paths (`Job.files` begins with the number of one: `0/name`) to their end.

    `expected_s`: how long they should take; where that and two minutes more have passed they are ended. Raises RunFailed
    with fio's own words, also where a job had an error.
    """
    refuse_without_fio()
    own = scratch / "fio"
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir(parents=True)
    for number, path in enumerate(paths):
        (own / str(number)).symlink_to(path)
    text = job_file(jobs, log=_LOG)
    (own / _JOBS).write_text(text, encoding="utf-8")
    began = time.time()
    _carried_out(own, tell, None if expected_s is None else expected_s + _GRACE_S)
    return ran(_document(own), own, _LOG, text, began)


def _carried_out(own: Path, tell: Callable[[str], None], most_s: float | None) -> None:
    command = [PROGRAM, "--output-format=json+", f"--output={_OUTPUT}", "--eta=never", _JOBS]
    program = shutil.which(PROGRAM) or PROGRAM
    until = None if most_s is None else time.monotonic() + most_s
    with (own / _ERRORS).open("wb") as errors:
        process = subprocess.Popen(tied([program, *command[1:]]), cwd=own, stdin=subprocess.DEVNULL, stdout=errors,
                                   stderr=errors, env=os.environ | {"LC_ALL": "C"}, start_new_session=True)  # fmt: skip
        try:
            while process.poll() is None:
                if until is not None and time.monotonic() > until:
                    raise RunFailed(f"fio did not end in {most_s:,.0f} s")
                tell("")
                time.sleep(_LOOK_S)
        finally:
            if process.poll() is None:
                signal_group(process, signal.SIGKILL)
            process.wait()
    if process.returncode:
        raise RunFailed(f"fio ended with status {process.returncode}: {_said(own)}")


def _document(own: Path) -> dict[str, Any]:
    """What it wrote; there may be a line of words before it."""
    try:
        text = (own / _OUTPUT).read_text(encoding="utf-8")
        document: dict[str, Any] = json.loads(text[text.index("{") :])
    except (OSError, ValueError) as error:
        raise RunFailed(f"fio wrote no readable result ({error}): {_said(own)}") from error
    return document


def _said(own: Path) -> str:
    """Its last line that says something."""
    lines = [line.strip() for name in (_ERRORS, _OUTPUT) if (own / name).exists()
             for line in (own / name).read_text(errors="replace").splitlines() if line.startswith("fio:")]  # fmt: skip
    return lines[-1] if lines else "no output"
