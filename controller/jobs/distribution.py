"""Options for how a job's work is divided into tasks and distributed over the slots, to tune it to the number of
workers."""

from __future__ import annotations

import dataclasses
import re
from typing import Annotated, Any

from pydantic import Field

from core.document import TEXT, Order
from core.errors import UsageError
from core.records import JobOptions, Phase, TaskOrder

_USUAL = JobOptions()
_MB = 1_000_000
_PHASE_SLOTS = re.compile(r"([a-z]+)=([0-9]{1,5})")
_LIMITED = (Phase.WALK, Phase.EXPAND, Phase.INDEX, Phase.OCR)
# Options with the same name here and in JobOptions.
_ALIKE = ("batch_files", "task_order", "window_factor", "index_streams", "most_tasks", "reserve_slots")
MOST_SLOTS = 10_000
DEFAULT = "default"


@dataclasses.dataclass(frozen=True, slots=True)
class Metavar:
    """The placeholder of an option's value in the help."""

    metavar: str


class Distribution(Order):
    """The options of division and distribution, with their defaults."""

    batch_mb: Annotated[int, Field(ge=1, le=100_000, description="Give a task at most this many MB of files.")] = (
        _USUAL.batch_bytes // _MB
    )
    batch_files: Annotated[int, Field(ge=1, le=1_000_000, description="Give a task at most this many files.")] = (
        _USUAL.batch_files
    )
    split_mb: Annotated[
        int,
        Field(ge=1, le=1_000_000, description="Divide containers above this many MB into ranges of about this size."),
    ] = _USUAL.split_bytes // _MB
    task_order: Annotated[
        TaskOrder,
        Field(description="Send the largest tasks first, or all in random order, so that none waits for larger ones."),
    ] = TaskOrder.LARGEST
    window_factor: Annotated[
        int | None,
        Field(
            ge=1, le=8, description="Send at most this many tasks for each slot.  [default: 2 to 8, by their duration]"
        ),
    ] = None
    index_streams: Annotated[
        int | None,
        Field(ge=1, le=512, description="Index with at most N tasks of a job at a time.  [default: no limit]"),
    ] = None
    phase_slots: Annotated[
        str | None,
        Field(
            max_length=200,
            pattern=TEXT,
            description="Run at most N tasks of a phase at a time, such as walk=2,expand=8.  [default: no limit]",
        ),
        Metavar("PHASE=N,…"),
    ] = None
    most_tasks: Annotated[
        int | None,
        Field(ge=1, le=MOST_SLOTS, description="Run at most N tasks of the job at a time.  [default: no limit]"),
    ] = None
    reserve_slots: Annotated[
        int | None,
        Field(
            ge=1,
            le=MOST_SLOTS,
            description="Keep N slots free of jobs of other clients while the job runs; without --client, of other job types."
            "  [default: none]",
        ),
    ] = None

    def distributed(self, options: JobOptions) -> JobOptions:
        """Return the options of a job with these set. Raises UsageError."""
        return dataclasses.replace(
            options,
            batch_bytes=self.batch_mb * _MB,
            split_bytes=self.split_mb * _MB,
            phase_slots=parse_phase_slots(self.phase_slots or ""),
            **{name: getattr(self, name) for name in _ALIKE},
        )

    @classmethod
    def of(cls, options: JobOptions) -> Distribution:
        """Return the division and distribution of a job, from its options."""
        return cls.from_records(
            options,
            batch_mb=max(1, options.batch_bytes // _MB),
            split_mb=max(1, options.split_bytes // _MB),
            phase_slots=",".join(f"{phase}={slots}" for phase, slots in options.phase_slots.items()) or None,
        )

    @property
    def chosen(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        usual = Distribution()
        return {name: value for name, value in self.to_json().items() if value != getattr(usual, name)}

    def __str__(self) -> str:
        parts = (f"{name.replace('_', '-')}={value}" for name, value in self.chosen.items())
        return " ".join(parts) or DEFAULT


def parse_phase_slots(text: str) -> dict[Phase, int]:
    """Parse `walk=2,expand=8` into numbers by phase. Raises UsageError."""
    out: dict[Phase, int] = {}
    for part in filter(None, (one.strip() for one in text.split(","))):
        match = _PHASE_SLOTS.fullmatch(part)
        if match is None or match[1] not in list(_LIMITED) or not 1 <= int(match[2]) <= MOST_SLOTS:
            known = ", ".join(_LIMITED)
            raise UsageError(
                f"--phase-slots: {part[:60]!r} is not PHASE=N; use the phases {known}, such as walk=2,expand=8",
                field="phase_slots",
            )
        out[Phase(match[1])] = int(match[2])
    return out
