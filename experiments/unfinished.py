"""Experiments that take a night: their observations are on scratch until they end, so that they can be resumed."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import RunFailed, UsageError, read_problem

_FILE, _RAW = "begun.json", "raw"


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """An experiment that has begun; its runs are below `raw`."""

    run_id: str
    seed: int
    sessions: tuple[float, ...]  # when commands worked on it, this one last
    raw: Path


@contextlib.contextmanager
def begun(below: Path, what: Mapping[str, Any], *, run_id: str, seed: int, now: float, resume: bool) -> Iterator[Begun]:
    """The experiment with these settings, alone in its directory below scratch during the block; removed on success.

    `what`: everything that must be the same to resume; `run_id`, `seed`: of a new one. Raises UsageError where there is
    nothing to resume or another command works on it, RunFailed.
    """
    directory = _directory(below, what)
    try:
        below.mkdir(parents=True, exist_ok=True)
        lock = directory.with_suffix(".lock").open("w")
    except OSError as error:
        raise _unusable(directory, error) from error
    with lock:
        _alone(lock.fileno())
        try:
            study = _opened(directory, run_id=run_id, seed=seed, now=now, resume=resume)
        except OSError as error:
            raise _unusable(directory, error) from error
        yield study
        shutil.rmtree(directory, ignore_errors=True)


def was_begun(below: Path, what: Mapping[str, Any]) -> bool:
    """Whether an experiment with these settings was interrupted, or is running."""
    return (_directory(below, what) / _FILE).is_file()


def _directory(below: Path, what: Mapping[str, Any]) -> Path:
    return below / hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]


def _unusable(directory: Path, error: OSError) -> RunFailed:
    return RunFailed(f"{directory}: {error.strerror or error}")


def _alone(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise UsageError(
            "another command runs the same storage test with the same settings on the same paths"
        ) from error


def _opened(directory: Path, *, run_id: str, seed: int, now: float, resume: bool) -> Begun:
    file, before = directory / _FILE, tuple[float, ...]()
    if resume:
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
            run_id, seed, before = str(data["run_id"]), int(data["seed"]), tuple(map(float, data["sessions"]))
        except FileNotFoundError as error:
            raise UsageError("--resume: no run with these settings was interrupted on this host") from error
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"--resume: {read_problem(file, error)}; start again without --resume") from error
    else:
        shutil.rmtree(directory, ignore_errors=True)
    (directory / _RAW).mkdir(parents=True, exist_ok=True)
    study = Begun(run_id=run_id, seed=seed, sessions=(*before, now), raw=directory / _RAW)
    draft = file.with_suffix(".tmp")
    draft.write_text(json.dumps({"run_id": run_id, "seed": seed, "sessions": study.sessions}), encoding="utf-8")
    draft.replace(file)
    return study
