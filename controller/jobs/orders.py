"""Options of a discovery.

This module needs no database: the options of commands are generated from it. `DiscoveryOrder` names, types, bounds and
explains each option. The options of `discover` and of the experiments (cli.taking), the body of POST /jobs and its
OpenAPI document, the form of the web UI (web.pages.form) and docs/settings.md are generated from its fields. To add an
option, add a field here and the code that uses it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from controller.jobs.bounds import checked_bounds
from controller.jobs.distribution import Distribution
from controller.jobs.distribution import Metavar as Metavar
from core import texts
from core.dates import checked_zone
from core.document import TEXT
from core.errors import UsageError
from core.filer.model import filer_choice, filer_help
from core.options import DAY_SECONDS, DEFAULT_LANGUAGES, ocr_choice
from core.passwords import PasswordBank
from core.records import DEFAULT_ZONE, FsyncPolicy, JobOptions, Layout, Limits, Priority
from core.settings import INDEX_ENGINES, Settings
from core.variables import VARIABLES


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryPlan:
    """A discovery without its source and locations."""

    options: JobOptions
    name: str = ""  # empty: the source's
    client: str = ""
    project: str = ""
    shard: bool = False  # divide the custodians among the databases
    source_copies: bool = False  # each job reads a copy of its own
    passwords: PasswordBank | None = None  # tried on encrypted items
    workers: int = 0  # planned; recorded in the result
    slots: int = 0  # of each, likewise


def check_plan(*, shard: bool, source_copies: bool) -> None:
    """Check the plan of a group. Raises UsageError for an impossible plan."""
    if shard and source_copies:
        raise UsageError(
            "--shard and --source-copies exclude each other: the jobs of a shard never read the same file",
            field="shard",
        )


_LIMITS, _OPTIONS = Limits(), JobOptions()
_FILER, _ENGINE = VARIABLES["EDBENCH_FILER"], VARIABLES["EDBENCH_INDEX_ENGINE"]


Filer = Annotated[
    str | None,
    Field(max_length=4_000, pattern=TEXT, description=filer_help(f"{_FILER.name} or none")),
    Metavar("NAME"),
    _FILER,
]
TimeZone = Annotated[str, Field(max_length=100, pattern=TEXT, description=texts.TIME_ZONE), Metavar("NAME")]
SourceCopies = Annotated[bool, Field(description="Let each job read its own copy of the source.")]
Name = Annotated[str, Field(max_length=200, pattern=TEXT, description=f"{texts.NAME}  [default: the source's name]")]
Share = Annotated[Priority, Field(description="Set the job's share of the slots among other jobs.")]
Fsync = Annotated[FsyncPolicy, Field(title="fsync", description="Choose when written files are flushed to storage.")]
Traced = Annotated[bool, Field(description="Record every storage call, for `edbench trace replay`.")]
FailIf = Annotated[
    list[str] | None,
    Field(
        title="Fail if",
        description="Fail with exit status 3 if a figure of the result breaks this bound, such as 'p99.read>20ms' or"
        " 'gb_per_hour<400'; repeatable.",
    ),
    Metavar("BOUND"),
]


class DiscoveryOrder(Distribution):
    """The options that every user may give, with their defaults."""

    databases: Annotated[
        int,
        Field(ge=1, le=64, description=texts.DATABASES),
    ] = 1
    shard: Annotated[bool, Field(description=texts.SHARD)] = False
    source_copies: SourceCopies = False
    single_pass: Annotated[bool, Field(description="Extract text while unpacking, in one pass.")] = False
    name: Name = ""
    client: Annotated[str, Field(max_length=200, pattern=TEXT, description="Assign the job to this client.")] = ""
    project: Annotated[str, Field(max_length=200, pattern=TEXT, description="Assign the job to this project.")] = ""
    ocr: Annotated[
        bool,
        Field(title="OCR", description=texts.OCR),
    ] = False
    ocr_languages: Annotated[
        str | None,
        Field(
            title="OCR languages",
            min_length=1,
            max_length=200,
            pattern=TEXT,
            description=f"{texts.OCR_LANGUAGES}  [default: {DEFAULT_LANGUAGES}]",
        ),
        Metavar("NAMES"),
    ] = None
    time_zone: TimeZone = DEFAULT_ZONE
    priority: Share = Priority.NORMAL
    fsync: Fsync = FsyncPolicy.NONE
    layout: Annotated[Layout, Field(description="Choose the directories of extracted children.")] = Layout.SHARED
    index_engine: Annotated[
        str | None,
        Field(max_length=20, description=f"Index with {' or '.join(INDEX_ENGINES)}.  [default: {_ENGINE.name}]"),
        _ENGINE,
    ] = None
    filer: Filer = None
    fail_if: FailIf = None

    def job_options(self, settings: Settings) -> JobOptions:
        """Return the options of the job; those of the index engine and the filer come from `settings`. Raises
        UsageError."""
        alike = {field.name for field in dataclasses.fields(JobOptions)} & OperatorOrder.model_fields.keys()
        alike &= type(self).model_fields.keys()  # not of subclasses: the API's `passwords` differ from a job's note
        alike -= Distribution.model_fields.keys()
        given: dict[str, Any] = {name: getattr(self, name) for name in alike}
        given |= {"index_engine": settings.index_engine, "filer": filer_choice(settings.filer)}
        given["time_zone"] = checked_zone(self.time_zone)
        given["fail_if"] = checked_bounds(self.fail_if or ())
        return self.distributed(JobOptions(**given | {"ocr": ocr_choice(self.ocr, self.ocr_languages)}))

    def plan(self, settings: Settings, passwords: PasswordBank | None = None) -> DiscoveryPlan:
        """Return the plan of the discovery, before anything is started. Raises UsageError for options that exclude each
        other."""
        options = self.job_options(settings)
        if self.databases > 1:
            check_plan(shard=self.shard, source_copies=self.source_copies)
        elif self.shard or self.source_copies:
            raise UsageError(
                "--shard and --source-copies are for several databases; add --databases 2 or more", field="shard"
            )
        return DiscoveryPlan(
            options=options,
            passwords=passwords,
            **{name: getattr(self, name) for name in ("name", "client", "project", "shard", "source_copies")},
        )


class OperatorOrder(DiscoveryOrder):
    """The options of every user and those that only the command line has."""

    trace: Traced = False
    max_depth: Annotated[int, Field(ge=1, le=100, description="Open nested containers down to this depth.")] = (
        _LIMITS.depth
    )
    parse_mb: Annotated[
        int,
        Field(
            ge=1,
            le=1_000_000,
            description="Do not parse messages and documents above this many MB (exception too_large).",
        ),
    ] = _LIMITS.parse_bytes // 1_000_000
    item_seconds: Annotated[
        float, Field(ge=0.1, le=DAY_SECONDS, description="Stop an item after this time; large items get more.")
    ] = _LIMITS.item_seconds
    expansion_ratio: Annotated[
        float, Field(ge=1, le=1e9, description="Stop a file that expands by more than this factor.")
    ] = _LIMITS.expansion_ratio
    lease_seconds: Annotated[
        float,
        Field(
            ge=0.5,
            le=DAY_SECONDS,
            description="Give a task to another slot when its slot has not responded for this long.",
        ),
    ] = _OPTIONS.lease_seconds
    dispatch_seconds: Annotated[
        float,
        Field(ge=0.5, le=DAY_SECONDS, description="Send a message again when no worker has taken it for this long."),
    ] = _OPTIONS.dispatch_seconds

    def job_options(self, settings: Settings) -> JobOptions:
        """Return the options of the job, with its limits. Raises UsageError."""
        limits = dataclasses.replace(
            _LIMITS,
            depth=self.max_depth,
            parse_bytes=self.parse_mb * 1_000_000,
            item_seconds=self.item_seconds,
            expansion_ratio=self.expansion_ratio,
        )
        return dataclasses.replace(super().job_options(settings), limits=limits)
