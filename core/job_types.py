"""Job types: discovery is built in, packages register the others.

A package names a module under the entry-point group `edbench.job_types`. The name is the key of its options in a job's
row; the module has `JOB_TYPES`, an object of a subclass of `JobTypes`, and imports nothing else at its top that takes
long: every process that reads jobs imports it. `core.records.JobOptions.of_type` has the options,
`sql.findings.OwnFindings` what a task found.

The names of types and phases are listed here, because the database, metrics and reports list them whether or not their
package is installed."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar

from core.errors import PackageMissing, UsageError
from core.extensions import extensions

GROUP = "edbench.job_types"


class JobType(enum.StrEnum):
    """The types of jobs (glossary)."""

    DISCOVERY = "discovery"
    EXTRACTION = "extraction"
    PROCESSING = "processing"
    EXPORT = "export"

    @property
    def produces(self) -> bool:
        """Whether such a job takes items that others have found and writes files."""
        return self in (JobType.EXTRACTION, JobType.PROCESSING, JobType.EXPORT)


class Phase(enum.StrEnum):
    """The phases that a job may have, in order; see JobOptions.phases."""

    WALK = "walk"
    EXPAND = "expand"
    INDEX = "index"
    OCR = "ocr"  # only where a job requests it (JobOptions.phases)
    EXTRACT = "extract"  # texts out of the index
    RENDER = "render"  # pages are counted …
    STAMP = "stamp"  # … and drawn, with the numbers that the barrier gave them
    EXPORT = "export"  # natives, and pages that another job made
    FINALISE = "finalise"


PHASES: tuple[Phase, ...] = tuple(Phase)
PRODUCING_PHASES = frozenset((Phase.EXTRACT, Phase.RENDER, Phase.STAMP, Phase.EXPORT, Phase.FINALISE))


class FileKind(enum.StrEnum):
    """The kinds of files that a job writes below its output directory."""

    NATIVE = "native"
    TEXT = "text"
    IMAGE = "image"
    REPORT = "report"  # about the job as a whole: load files, metadata, hashes


class TypeOptions:
    """Base of the options of a registered type: frozen dataclasses that are stored with the job."""

    __slots__ = ()

    @property
    def type(self) -> JobType:
        """The type of the job."""
        raise NotImplementedError

    @property
    def items(self) -> int:
        """Number of items that the job takes, where it is known from the start."""
        return 0

    @property
    def sources(self) -> tuple[str, ...]:
        """Ids (hex) of jobs whose items the job takes."""
        return ()

    @property
    def reads(self) -> tuple[str, ...]:
        """Ids (hex) of all jobs whose files the job reads."""
        return self.sources

    @property
    def out(self) -> str:
        """Absolute path of the directory that the job writes to in addition to the storage root; empty: none."""
        return ""

    def anonymous(self) -> dict[str, Any]:
        """The options without names of people and things, for a trace that is passed on."""
        return {}


class MissingOptions(TypeOptions):
    """The options of a job whose package is not installed: it is listed and can do nothing else."""

    __slots__ = ("_type", "data", "key")

    def __init__(self, key: str, kind: JobType, data: Any) -> None:
        self.key, self.data, self._type = key, data, kind

    @property
    def type(self) -> JobType:
        """The type that is stored with the job."""
        return self._type


class JobTypes:
    """The types of jobs of one package. Methods import what they need when they are called; `Any` stands for types of packages
    above this one: `conn` is a Connection, `handle` a controller.databases.JobHandle, `work` a worker.phases.task.TaskWork."""

    options: type[TypeOptions]
    phases: ClassVar[Mapping[JobType, tuple[Phase, ...]]]
    finalise: tuple[str, ...] = ()  # shares of phase finalise, as a task's payload lists them; (): a discovery's

    # The queue manager and the worker

    def bodies(self) -> Mapping[Phase, Callable[[Any], Any]]:
        """The bodies of tasks by phase (`work` → TaskResult). A worker calls this before it forks slots. Without a body
        for phase finalise, the one of discovery is used."""
        return {}

    def leave(self, conn: Any, job: Any, options: Any, phase: Phase) -> str | None:
        """Do the work of the barrier at the end of a phase, before the next one begins; return why the job must be
        suspended, if it must."""
        return None

    def ended(self, conn: Any, job: Any, options: Any, state: Any) -> None:
        """Write down that the job has ended, in the transaction that ends it."""

    # Jobs that depend on each other

    def users(self, conn: Any, job: Any, *, findings: bool = False) -> Sequence[Any]:
        """Ids of jobs that are not over and take items or files of this one; `findings`: that use its duplicates."""
        return ()

    def kin(self, conn: Any, job: Any) -> Sequence[Any]:
        """Ids of the jobs whose list of actions notes that this one is deleted."""
        return ()

    def unaware(self, conn: Any, job: Any, tag: str) -> Sequence[Any]:
        """Ids of jobs that are not over and chose items of this one by the tag."""
        return ()

    # The controller and its interfaces

    def create(self, kind: JobType, sources: Any, out: str, storage: Any, settings: Any, **plan: Any) -> Any:
        """Create a job of this type over the items of finished discoveries (`sources`: JobHandles) that writes below `out`; `plan`:
        its name, workers, slots and filer; optionally the `tag` of the items (default: all) and the `prefix` of control numbers."""
        raise NotImplementedError

    def remove_output(self, handle: Any, storage: Any) -> str:
        """Remove what the job wrote outside of the storage root; return one line about what stays, empty if nothing
        does."""
        return ""

    def figures(self, conn: Any, handle: Any) -> Mapping[str, Any]:
        """Fields of a job's figures and documents that only these types have."""
        return {}

    def sections(self, console: Any, handle: Any) -> None:
        """Print the section of `edbench job show`."""

    def verify(self, handle: Any, storage: Any, *, examples: int, progress: Callable[[str], None]) -> Any:
        """Check a finished job; return a document with `differences`, or None to verify it as a discovery."""
        return None

    def print_verified(self, console: Any, done: Any) -> None:
        """Print the document of `verify` for people."""


@functools.cache
def registered() -> Mapping[str, JobTypes]:
    """The registered job types by the key of their options."""
    return {key: import_module(module).JOB_TYPES for key, (module, *_) in extensions(GROUP).items()}


def key_of(options: TypeOptions) -> str:
    """The key of these options in a job's row."""
    if isinstance(options, MissingOptions):
        return options.key
    return next(key for key, types in registered().items() if isinstance(options, types.options))


def types_with(kind: JobType) -> JobTypes:
    """The registered job types that have this type. Raises UsageError."""
    for types in registered().values():
        if kind in types.phases:
            return types
    raise UsageError(f"jobs of type {kind} need an optional package that is not installed on this host")


def types_of(options: TypeOptions | None) -> JobTypes:
    """The job types that have these options; for a discovery, one that adds nothing. Raises PackageMissing."""
    if options is None:
        return JobTypes()
    if isinstance(options, MissingOptions):
        raise PackageMissing(
            f"jobs of type {options.type} need the package edbench-{options.key}; install it on this host"
        )
    return registered()[key_of(options)]
