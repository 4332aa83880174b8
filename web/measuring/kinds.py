"""The kinds of measurement that the web UI can start, and their command lines.

The models are composed of those that the commands take their options from (`experiments.orders`, `DiscoveryOrder`).
"""

from __future__ import annotations

import enum
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, create_model

from controller.jobs.orders import DiscoveryOrder
from controller.replay.order import parse_pace
from core.document import TEXT, Document
from core.errors import UsageError
from core.settings import numbers, parse_bytes
from dataset_gen.orders import CorpusOrder
from dataset_gen.profile import profile_names
from experiments.kinds.grid import checked
from experiments.kinds.knee import parse_bounds
from experiments.orders import (
    ALIKE,
    JobTypesOrder,
    KneePoints,
    ProfileOrder,
    R1Points,
    ScaleOutPoints,
    ScaleUpPoints,
    StudyOrder,
    r1_rows,
)
from experiments.replay_orders import ReplayStudyOrder
from experiments.workloads.replay.scaling import parse_scaling
from replay.plan import MAX_PATHS
from web.api.models.models import NewJob

_OURS = frozenset(
    ("corpus", "source", "profile", "name", "paths", "setting", "job", "result")
)  # not options of the same name


def _some(of: type[Document], names: Iterable[str]) -> type[Document]:
    """A document with these fields of another one."""
    fields: dict[str, Any] = {name: (of.model_fields[name].annotation, of.model_fields[name]) for name in names}
    return create_model(f"Some{of.__name__}", __base__=Document, **fields)


_WHERE = _some(NewJob, ("corpus", "source"))
_Path = Annotated[str, Field(max_length=4_000, pattern=TEXT)]


class Targets(Document):
    """The directories and settings of a storage test."""

    profile: Annotated[str, Field(max_length=100, pattern=TEXT)] = Field(description="Of GET /api/v1/profiles.")
    paths: Annotated[list[_Path], Field(max_length=16)] = Field(
        default_factory=list,
        description="Absolute paths of empty directories, each a volume, below the storage root or EDBENCH_TARGETS.",
    )
    setting: Annotated[list[Annotated[str, Field(max_length=1_000, pattern=TEXT)]], Field(max_length=100)] = Field(
        default_factory=list, description="NAME=VALUE each; GET /api/v1/profiles lists the names."
    )

    def arguments(self, paths: Iterable[Path]) -> list[str]:
        """The arguments after the options."""
        return [*(f"--path={path}" for path in paths), *(f"--set={one}" for one in self.setting), "--", self.profile]


class NewCorpus(CorpusOrder):
    """As `edbench corpus generate`, into a directory in `corpora` of the storage root."""

    name: Annotated[str, Field(max_length=100, pattern="^[A-Za-z0-9][A-Za-z0-9_.-]*$")] = Field(
        description="name of its directory: letters, digits, dots, _ and -"
    )

    def arguments(self, storage: Path) -> list[str]:
        """The arguments after the options."""
        return [f"--profile={self.profile}", "--", str(storage / "corpora" / self.name)]


class Played(Document):
    """The trace to replay, and the directories to replay it in."""

    job: uuid.UUID = Field(description="The job that recorded the trace, of GET /api/v1/traces.")
    paths: Annotated[list[_Path], Field(min_length=1, max_length=MAX_PATHS)] = Field(
        description="Absolute paths of empty directories, below the storage root or EDBENCH_TARGETS."
    )
    shared: bool = Field(False, description="clones of the trace read the same files instead of their own")

    def arguments(self, trace: Path, paths: Iterable[Path]) -> list[str]:
        """The arguments after the options."""
        return [*(f"--path={path}" for path in paths), "--", str(trace)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One of them."""

    name: str
    does: str
    model: type[Document]
    words: tuple[str, ...]  # of the command
    check: Callable[[Any], object]  # raises UsageError with the field
    press: str = "Measure"  # on its button
    leaves: str = ""  # where it has no result

    @property
    def of_corpus(self) -> bool:
        """Whether it needs a corpus."""
        return "corpus" in self.model.model_fields


def _model(name: str, *parts: type[Document]) -> type[Document]:
    return create_model(name, __base__=parts, __doc__=f"As `edbench {name}`, in the words of the command's options.")


def _held(field: str, check: Callable[[], object]) -> None:
    """Report errors at this field."""
    try:
        check()
    except UsageError as error:
        raise UsageError(str(error), field=field) from error


def _sizes(order: Any) -> None:
    for name in ("filer_cache", "null_memory"):
        text = getattr(order, name, None)
        if text is not None:
            _held(name, partial(parse_bytes, text, f"--{name.replace('_', '-')}"))


def _numbers(*fields: str) -> Callable[[Any], None]:
    def check(order: Any) -> None:
        for field in fields:
            _held(field, partial(_points, getattr(order, field), f"--{field}"))
        _sizes(order)

    return check


def _r1(order: Any) -> None:
    if order.workers is not None:
        _held("workers", partial(r1_rows, order.workers))
    _sizes(order)


def _points(text: str, option: str) -> None:
    checked(numbers(text, option), option)


def _bounds(order: Any) -> None:
    _held("max_p99", partial(parse_bounds, order.max_p99))
    _sizes(order)


def _replayed(order: Any) -> None:
    _held("pace", partial(parse_pace, order.pace))
    _held("scaling", partial(parse_scaling, order.scaling))
    if order.clients is not None:
        numbers(order.clients, "--clients", digits=9)
    if order.max_p99 is not None:
        _held("max_p99", partial(parse_bounds, order.max_p99))
    _sizes(order)


def _profile(order: Any) -> None:
    if order.profile not in profile_names():  # a file's path is for the command line only
        raise UsageError(
            f"corpus profile {order.profile!r} does not exist; choose one of {', '.join(profile_names())}",
            field="profile",
        )


_ALIKE = _some(DiscoveryOrder, ALIKE)
KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            name="scale-up",
            does="process a corpus with increasing numbers of workers",
            model=_model("ScaleUp", _ALIKE, StudyOrder, ScaleUpPoints, _WHERE),
            words=("bench", "scale-up"),
            check=_numbers("workers"),
        ),
        Kind(
            name="scale-out",
            does="process a corpus with the same workers and increasing numbers of databases",
            model=_model("ScaleOut", _some(DiscoveryOrder, (*ALIKE, "shard")), StudyOrder, ScaleOutPoints, _WHERE),
            words=("bench", "scale-out"),
            check=_numbers("databases"),
        ),
        Kind(
            name="knee",
            does="add workers until a latency bound is exceeded",
            model=_model("Knee", _ALIKE, StudyOrder, KneePoints, _WHERE),
            words=("bench", "knee"),
            check=_bounds,
        ),
        Kind(
            name="job-types",
            does="compare discovery, extraction, processing and export of the same data",
            model=_model("JobTypes", JobTypesOrder, _WHERE),
            words=("bench", "job-types"),
            check=_numbers("workers"),
        ),
        Kind(
            name="r1",
            does="run the three rows of report R1",
            model=_model("R1", _ALIKE, StudyOrder, R1Points, _WHERE),
            words=("bench", "r1"),
            check=_r1,
        ),
        Kind(
            name="profile",
            does="run a storage test of reports R2 to R5",
            model=_model("ProfileRun", ProfileOrder, Targets),
            words=("bench", "storage"),
            check=_sizes,
        ),
        Kind(
            name="replay",
            does="repeat the storage calls of a trace with client processes",
            model=_model("Replay", ReplayStudyOrder, Played),
            words=("trace", "replay"),
            check=_replayed,
        ),
        Kind(
            name="generate",
            does="generate a corpus with a manifest of its items",
            model=NewCorpus,
            words=("corpus", "generate"),
            check=_profile,
            press="Generate",
            leaves="Job forms then offer the corpus.",
        ),
    )
}


def command(kind: Kind, order: Document, arguments: Sequence[str] = ()) -> list[str]:
    """The words of the command: each option joined with its value, so that no value is taken for an option, then `arguments`."""
    out = [*kind.words]
    for name, value in order:
        if name not in _OURS and value is not None and value is not False:
            text = value.value if isinstance(value, enum.Enum) else value
            out.append(f"--{name.replace('_', '-')}" + ("" if value is True else f"={text}"))
    return [*out, *arguments]
