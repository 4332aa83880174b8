"""Records of the observations of each run: one file for each, written as the run ends, and read one at a time.

`raw/study.json` has what was requested and what was observed outside the runs; `raw/runs/000.json.gz` has the first
run with its load and number. A run of an hour has some megabytes: they are not held in memory."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from core.errors import RunFailed, UsageError, read_problem, reading_errors, system_errors
from core.plain import unambiguous
from experiments.arrays import Counted, uses
from experiments.kinds import Plan
from experiments.result.codec import decode
from experiments.result.schema import At, Run
from experiments.result.steady import MIN_SECONDS
from experiments.workload import About, Turn

SCHEMA: Final = "edbench-raw/1"
RAW, STUDY, RUNS = "raw", "study.json", "runs"
RESULTS = "results"  # below the storage root: a directory for each result


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """An experiment without its runs."""

    schema: Literal["edbench-raw/1"] = SCHEMA
    workload: str
    plan: Plan
    run_id: str
    created: float  # wall clock, seconds since the epoch
    surroundings: dict[str, Any]
    min_seconds: float = MIN_SECONDS  # how long a run has to be for a result
    fail_if: tuple[str, ...] = ()  # bounds on figures (core.bounds)


class Records:
    """Records below a directory, which need not be the package's yet."""

    def __init__(self, directory: Path, about: About) -> None:
        self._runs, self._about = directory / RUNS, about

    def keep(self, turn: Turn, observed: Any, array: Sequence[Counted]) -> Run:
        """Write the observations of a run and what the array counted meanwhile; return the run computed from that file.
        Raises RunFailed."""
        data = {
            "order": turn.order,
            "repeat": turn.repeat,
            "at": turn.at.values(),
            "observed": observed,
            "array": array,
        }
        file = self._file(turn.order)
        draft = self._runs.with_name(
            "part"
        )  # killed meanwhile, the experiment may be resumed: a file is there whole or not at all
        with system_errors(RunFailed, f"{file}: cannot write the records"):
            self._runs.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(gzip.compress(msgspec.json.encode(data), 6, mtime=0))
            draft.replace(file)
        return self.read(turn.order, turn.at, turn.repeat)[1]

    def read(self, order: int, at: At, repeat: int) -> tuple[Any, Run]:
        """Return the observations of the run at this place, and the run. Raises UsageError if it is missing or another
        run."""
        name = f"{RAW}/{RUNS}/{self._file(order).name}"
        try:
            data = unambiguous(gzip.decompress(self._file(order).read_bytes()).decode())
            observed = msgspec.convert(data["observed"], self._about.raw_type)
            array = msgspec.convert(data.get("array", ()), tuple[Counted, ...])
            if (data["order"], data["repeat"], data["at"]) != (order, repeat, at.values()):
                raise UsageError(f"{name} is another run: the plan has {at}, repeat {repeat + 1} in this position")
        except FileNotFoundError as error:
            raise UsageError(f"{name}: run {order + 1} ({at}, repeat {repeat + 1}) is missing") from error
        except (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError, RecursionError) as error:
            raise UsageError(read_problem(name, error)) from error
        run: Run = self._about.run_of(observed)
        return observed, replace(run, array=uses(array))

    def has(self, order: int) -> bool:
        """Return whether the run at this place was made, by a command that was interrupted later."""
        return self._file(order).is_file()

    def count(self) -> int:
        """Return the number of files."""
        return sum(1 for _ in self._runs.glob("*")) if self._runs.is_dir() else 0

    def _file(self, order: int) -> Path:
        return self._runs / f"{order:03d}.json.gz"


def write_study(study: Study, directory: Path) -> None:
    """Write `study.json` in `directory`. Raises RunFailed."""
    with system_errors(RunFailed, f"{directory}: cannot write the records"):
        directory.mkdir(parents=True, exist_ok=True)
        text = json.dumps(msgspec.to_builtins(study), indent=1, allow_nan=False)
        (directory / STUDY).write_text(text + "\n", encoding="utf-8")


def read_study(directory: Path) -> Study:
    """Read `study.json` from `directory`. Raises UsageError."""
    with reading_errors(f"{RAW}/{STUDY}"):
        return decode(Study, unambiguous((directory / STUDY).read_text(encoding="utf-8")), "study")
